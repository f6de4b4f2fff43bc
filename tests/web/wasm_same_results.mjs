// The module and the program give the same result to the byte, for every shipped scenario.
//
//   node wasm_same_results.mjs PROGRAM MODULE FILES ROOT
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulator } from '../../web/wasm/simulator.mjs';

const [program, module, files, root] = process.argv.slice(2);

/** What depends on the host, or on files that only the program has: how far to trust a forecast. */
function comparable(result) {
  const { simulator, step, warnings, ...rest } = result;
  const { events, simulated_ranks: ranks, fidelity } = simulator;
  const kept = Object.entries(step).filter(
    ([key]) => !key.startsWith('interval') && !key.startsWith('comparable'),
  );
  const told = warnings.filter((one) => !one.startsWith('the 90 % interval'));
  return JSON.stringify({ ...rest, warnings: told, step: Object.fromEntries(kept), events, ranks, fidelity });
}

function native(scenario) {
  try {
    return execFileSync(program, ['run', scenario, '--json', '-', '--quiet'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1 << 28,
    });
  } catch (failed) {
    if (failed.status !== 1) throw failed;
    return failed.stdout; // no room in memory is a result too
  }
}

const simulator = await startSimulator(readFileSync(module), {
  complain: (text) => process.stderr.write(text),
});
simulator.addFiles(readFileSync(files, 'utf8'));
let compared = 0;
let different = 0;
for (const name of readdirSync(join(root, 'scenarios')).sort()) {
  if (!name.endsWith('.yaml')) continue;
  const scenario = `scenarios/${name}`;
  const expected = JSON.parse(native(scenario).toString() || 'null');
  const answer = simulator.run({ scenario });
  const got = answer.result ?? answer.failed?.result ?? null;
  compared += 1;
  if (expected && got && comparable(expected) === comparable(got)) continue;
  different += 1;
  console.error(`${scenario}: the module's result differs`, answer.failed?.message ?? '');
}
console.log(`${compared} scenarios compared, ${different} differ`);
process.exit(different === 0 && compared > 0 ? 0 : 1);
