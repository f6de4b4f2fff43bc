// node reports_test.mjs PROGRAM ROOT SCRATCH: the reports that PROGRAM writes, in a browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { findBrowser, startBrowser } from "./browser.mjs";

const [program, root, scratch] = process.argv.slice(2);
if (!findBrowser()) {
  console.log("SKIPPED: there is no Chromium (tools/setup web installs it)");
  process.exit(0);
}
mkdirSync(scratch, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await startBrowser();
after(() => browser.close());

const VIEWS = {
  light: {},
  dark: { dark: true },
  narrow: { width: 320, height: 640 },
  "narrow, dark, reduced motion": { width: 320, height: 640, dark: true, reduced: true },
};

function report(command, scenario, name, ...options) {
  const file = join(scratch, `${name}.html`);
  execFileSync(program, [command, scenario, "--report", file, ...options], { stdio: ["ignore", "ignore", "inherit"] });
  return file;
}

const shipped = (name) => join(root, "scenarios", `${name}.yaml`);
const NASTY = "</script><script>document.body.id='injected'</script><!-- <b>&amp; 'quoted'";
const nastyScenario = join(scratch, "nasty.yaml");
writeFileSync(
  nastyScenario,
  readFileSync(shipped("fsdp2-llama-3-8b-1xdgx-h100"), "utf8").replace(/^name:.*$/m, `name: ${JSON.stringify(NASTY)}`),
);
const sweepOf = ["--over", "cluster.nodes=1..8*2", "--over", "workload.micro_batch_size=1,2,16", "--over", "training.sharding=full_shard,hybrid_shard", "--json", join(scratch, "sweep.jsonl")];
const files = {
  run: report("run", shipped("fsdp2-llama-2-7b-4xdgx-h100"), "run", "--quiet"),
  textbook: report("run", shipped("textbook-fsdp2-slow-network"), "textbook", "--quiet"),
  straggler: report("run", shipped("straggler-llama-2-7b-4xdgx-h100"), "straggler", "--quiet"),
  nasty: report("run", nastyScenario, "nasty", "--quiet"),
  sweep: report("sweep", shipped("fsdp2-llama-2-7b-4xdgx-h100"), "sweep", ...sweepOf),
};

/** Opens every table of the page, so that nothing is left unchecked. */
async function openEverything(page) {
  for (const summary of await page.locator("summary").all()) await summary.click();
  await page.waitForTimeout(100);
}

async function violations(page) {
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join("; ")}`);
}

for (const [name, file] of Object.entries(files)) {
  for (const [view, options] of Object.entries(VIEWS)) {
    // The others are the same page: once, in the hardest view.
    if (name !== "run" && name !== "sweep" && !options.reduced) continue;
    test(`${name}, ${view}: accessible, within the width, without a request or an error`, async () => {
      const { page, requests, problems } = await browser.open(file, options);
      await openEverything(page);
      assert.deepEqual(await violations(page), []);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`);
      assert.deepEqual(requests, []);
      assert.deepEqual(problems, []);
      await page.close();
    });
  }
}

test("the policy of a page forbids requests", async () => {
  const { page } = await browser.open(files.run);
  const blocked = await page.evaluate(
    () =>
      new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
        fetch("https://shardsim.invalid/").catch(() => {});
      }),
  );
  assert.equal(blocked, "connect-src");
  await page.close();
});

test("text of a scenario is never markup", async () => {
  const { page } = await browser.open(files.nasty);
  assert.equal(await page.title(), NASTY);
  assert.equal(await page.locator("h1").textContent(), NASTY);
  assert.equal(await page.locator("#injected").count(), 0);
  assert.equal(await page.locator("main b b").count(), 0);
  await page.close();
});

test("the figures of the page are those of the result", async () => {
  const { page } = await browser.open(files.run);
  const step = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).result.step.time_s);
  const shown = await page.locator(".figures .value").first().textContent();
  assert.equal(shown, `${Number((step * 1e3).toPrecision(4))} ms`);
  await page.close();
});

test("the timeline is moved, zoomed and read by keyboard alone", async () => {
  const { page } = await browser.open(files.textbook);
  const timeline = page.locator(".timeline");
  for (let i = 0; i < 10; i += 1) {
    await page.keyboard.press("Tab");
    if (await timeline.evaluate((element) => element === document.activeElement)) break;
  }
  assert.ok(await timeline.evaluate((element) => element === document.activeElement), "Tab does not reach the timeline");
  const image = () => page.locator(".timeline canvas").evaluate((canvas) => canvas.toDataURL());
  const settled = () => page.waitForTimeout(60);
  const whole = await image();
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  await settled();
  assert.notEqual(await image(), whole);
  await page.keyboard.press("0");
  await settled();
  assert.equal(await image(), whole);
  const readout = page.locator("figure", { has: timeline }).locator(".readout");
  await page.keyboard.press("n");
  const first = await readout.textContent();
  assert.match(first, /on compute: .* starts at/);
  await page.keyboard.press("n");
  assert.notEqual(await readout.textContent(), first);
  await page.keyboard.press("ArrowDown");
  assert.match(await readout.textContent(), /on ag_copy_in/);
  await page.close();
});

test("with CPU offload the host memory of a node is shown, with its limit where that is known", async () => {
  const offload = shipped("fsdp2-llama-2-13b-offload-1xdgx-a100");
  const { page } = await browser.open(report("run", offload, "offload", "--quiet"));
  const bar = page.locator("figure", { hasText: "Host memory of a node" });
  assert.match(await bar.locator(".memory-bar").textContent(), /uses 261 GiB of 2 TiB/);
  assert.match(await page.locator(".path").textContent(), /optimizer on the CPU/);
  assert.deepEqual(await violations(page), []);
  await page.close();
  const generic = report("run", offload, "generic", "--quiet", "--set", "cluster.topology=pcie-8xl40s");
  const { page: unknown } = await browser.open(generic);
  assert.match(await unknown.locator("main").textContent(), /hold 261 GiB in the host memory/);
  await unknown.close();
});

test("zooming one chart of the step zooms the other", async () => {
  const { page } = await browser.open(files.run);
  const ticks = () => page.locator(".memory-chart .axis text").allTextContents();
  const before = await ticks();
  await page.locator("figure", { has: page.locator(".timeline") }).getByRole("button", { name: "Zoom in" }).click();
  await page.waitForTimeout(60);
  assert.notDeepEqual(await ticks(), before);
  await page.close();
});

test("a table is opened, sorted and saved by keyboard", async () => {
  const { page } = await browser.open(files.sweep);
  const table = page.locator(".data-table").first();
  const head = table.locator("thead th").filter({ hasText: "Step time" });
  await head.locator("button").focus();
  await page.keyboard.press("Enter");
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  await page.keyboard.press("Enter");
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  await table.getByRole("button", { name: "Save as CSV" }).focus();
  const download = page.waitForEvent("download");
  await page.keyboard.press("Enter");
  const saved = readFileSync(await (await download).path(), "utf8").trim().split("\r\n");
  assert.equal(saved.length, 1 + 4 * 3 * 2);
  assert.match(saved[0], /^cluster\.nodes,.*step_time_s/);
  await page.close();
});

test("the choices of a sweep redraw its charts and keep the focus", async () => {
  const { page } = await browser.open(files.sweep);
  const curves = () => page.locator(".legend-toggle").allTextContents();
  const before = await curves();
  const select = page.getByLabel("One curve per");
  await select.selectOption({ label: "training.sharding" });
  const one = await curves();
  await page.getByLabel("One curve per").selectOption({ label: "workload.micro_batch_size" });
  assert.notDeepEqual(await curves(), one);
  assert.ok(before.length > 0);
  assert.ok(await page.getByLabel("One curve per").evaluate((element) => element === document.activeElement));
  await page.close();
});

test("a curve is hidden by its button and a chart is read by arrow keys", async () => {
  const { page } = await browser.open(files.sweep);
  const figure = page.locator("figure").first();
  const marks = () => figure.locator(".line-chart .mark").count();
  const before = await marks();
  await figure.locator(".legend-toggle").first().focus();
  await page.keyboard.press("Space");
  assert.ok((await marks()) < before);
  await figure.locator(".line-chart").focus();
  const first = await figure.locator(".readout").textContent();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await figure.locator(".readout").textContent(), first);
  await page.close();
});

test("the Pareto front has exactly the points that none beats", async () => {
  const { paretoFront } = await import(pathToFileURL(join(root, "web/parts/pareto.js")).href);
  const goals = [{ metric: "speed", better: "higher" }, { metric: "cost", better: "lower" }];
  const points = [[5, 5], [4, 4], [4, 5], [5, 4], [1, 1], [null, 0], [1, 1]].map(([speed, cost]) => ({ speed, cost }));
  assert.deepEqual(paretoFront(points, goals).sort(), [3, 4, 6]);
  assert.deepEqual(paretoFront([], goals), []);
});

test("CSV quotes what needs it and runs no formula", async () => {
  const { toCsv } = await import(pathToFileURL(join(root, "web/parts/data_table.js")).href);
  const text = toCsv([{ name: "a" }, { id: "b", name: "B" }], [['x,"y"', -1.5], ["=1+1", null]]);
  assert.equal(text, 'a,b\r\n"x,""y""",-1.5\r\n\'=1+1,\r\n');
});
