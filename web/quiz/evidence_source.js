// Where evidence comes from: the simulator inside the page, or what was recorded when it was made.

import { startSimulator } from "../wasm/simulator.mjs";

/** The bytes that web/pack_module.mjs packed: a length, the files as JSON, the module. */
async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  return { files: new TextDecoder().decode(bytes.subarray(4, 4 + length)), module: bytes.subarray(4 + length) };
}

/** Lets the browser paint. */
export const nextFrame = () =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, 50); // a hidden page paints nothing
    requestAnimationFrame(() => {
      clearTimeout(timer);
      setTimeout(resolve);
    });
  });

/** What a view of a question wants to know of a run. */
function detailsOf(question, name) {
  const shows = (kind) => question.show.some((view) => view.kind === kind && view.runs.includes(name));
  return { memory: shows("memory"), streams: shows("timeline") };
}

function simulated(simulator) {
  const tried = new Map();
  return {
    live: true,
    async evidence(question, progress) {
      const names = Object.keys(question.runs);
      const runs = {};
      let events = 0;
      let spent = 0;
      for (const [i, name] of names.entries()) {
        progress({ k: i + 1, n: names.length, name, events });
        await nextFrame();
        const begun = performance.now();
        const run = simulator.quiz({ question: question.id, run: name, ...detailsOf(question, name) });
        spent += performance.now() - begun;
        if (run.failed) throw new Error(run.failed.message);
        runs[name] = run;
        events += run.events;
      }
      const verdict = simulator.quiz({ verdict: question.id });
      if (verdict.failed) throw new Error(verdict.failed.message);
      return { runs, ...verdict, events, seconds: spent / 1e3, count: names.length };
    },
    /** A run of the sliders: data of a run, or {failed, result}. */
    attempt(spec) {
      const key = JSON.stringify(spec);
      if (!tried.has(key)) tried.set(key, simulator.quiz(spec));
      return tried.get(key);
    },
  };
}

function recorded(data, why) {
  return {
    live: false,
    why,
    async evidence(question) {
      const runs = Object.fromEntries(Object.entries(question.runs).map(([name, index]) => [name, data.runs[index]]));
      const { solved, options, values } = question;
      return { runs, solved, options, values, count: Object.keys(runs).length };
    },
  };
}

/**
 * @param data the quiz's data
 * @param {string} packed the module as text; empty if the page was made without
 */
export async function openEvidence(data, packed) {
  if (!packed) return recorded(data, "recorded");
  try {
    const { files, module } = await unpack(packed);
    const simulator = await startSimulator(module, { complain: (text) => console.error(text) });
    simulator.addFiles(files);
    return simulated(simulator);
  } catch (failure) {
    console.warn(failure);
    return recorded(data, "not_started");
  }
}
