// Sliders over the parameters of a run; every change simulates the step again and redraws.

import { freshId, h } from "../parts/dom.js";
import { memoryBars } from "../parts/memory_bars.js";
import { timeWindow } from "../parts/time_window.js";
import { commandBlock, plainTable } from "./blocks.js";
import { chartWords } from "./chart_words.js";
import { curveChart, timeline } from "./evidence_charts.js";
import { nextFrame } from "./evidence_source.js";

const LEVEL = 3;
const KINDS = ["parameters", "optimizer", "gradients", "gathered_parameters", "communication_buffers", "other", "activations"];
const GPUS = "gpus";

export function explorer(place, quiz) {
  const { words, source, data } = quiz;
  const { sliders, scenario } = data.explore;
  const charts = chartWords(words);
  const at = Object.fromEntries(sliders.map((slider) => [slider.id, slider.start]));
  const title = h("h2", {}, words.say("explore"));
  const said = h("p", { class: "explored", role: "status" });
  const shown = h("div", { class: "explored-charts" });
  const curve = h("div", { class: "charts" });
  const repeat = h("div");
  const controls = new Map(sliders.map((slider) => [slider.id, control(slider)]));
  const reset = h("button", { type: "button", onclick: toStart }, words.say("explore_start"));
  place.append(
    h(
      "section",
      { class: "explorer" },
      title,
      h("p", { class: "about" }, words.say("explore_about")),
      h("div", { class: "sliders", role: "group", "aria-label": words.say("choices") }, ...[...controls.values()].map((one) => one.element)),
      h("p", { class: "actions" }, reset),
      said,
      shown,
      curve,
      h("h3", {}, words.say("reproduce")),
      repeat,
    ),
  );
  const before = source.attempt(specAt(at, true));
  let turn = 0;
  let waiting = 0;
  refresh();

  function stepText(step) {
    return step.word ? words.labels[step.word] : step.name;
  }

  function control(slider) {
    const id = freshId("slider");
    const output = h("output", { for: id });
    const input = h("input", { type: "range", id, min: 0, max: slider.steps.length - 1, step: 1, value: slider.start });
    input.addEventListener("input", () => {
      at[slider.id] = Number(input.value);
      changed();
    });
    const element = h("div", { class: "slider" }, h("label", { for: id }, words.sliders[slider.id]), output, input);
    return { element, input, output, slider };
  }

  function toStart() {
    for (const slider of sliders) at[slider.id] = slider.start;
    changed();
  }

  /** The sliders that mean nothing at these positions. */
  function idle(positions) {
    return new Set(sliders.flatMap((slider) => slider.steps[positions[slider.id]].without ?? []));
  }

  function specAt(positions, detailed) {
    const off = idle(positions);
    const steps = sliders.filter((slider) => !off.has(slider.id)).map((slider) => slider.steps[positions[slider.id]]);
    const named = steps.find((step) => step.scenario)?.scenario;
    return { scenario: named ?? scenario, set: steps.flatMap((step) => step.set), streams: detailed, memory: false };
  }

  function showControls() {
    const off = idle(at);
    for (const { input, output, slider, element } of controls.values()) {
      const text = off.has(slider.id) ? words.say("explore_without") : stepText(slider.steps[at[slider.id]]);
      input.value = at[slider.id];
      input.setAttribute("aria-valuetext", text);
      input.disabled = off.has(slider.id);
      element.classList.toggle("idle", input.disabled);
      output.textContent = text;
    }
  }

  function changed() {
    performance.mark("slider");
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      refresh();
      performance.measure("redraw", "slider");
    });
  }

  function refresh() {
    turn += 1;
    showControls();
    const run = source.attempt(specAt(at, true));
    const open = [...shown.querySelectorAll("details")].map((details) => details.open);
    shown.replaceChildren();
    figures(run);
    memory(run);
    if (run.streams) {
      const longest = run.streams.step_ns;
      timeline(shown, run, words, charts, { title: words.labels.timeline, window: timeWindow(longest, 2000) });
    }
    [...shown.querySelectorAll("details")].forEach((details, i) => (details.open = open[i] ?? false));
    repeat.replaceChildren(commandBlock(run.command, words, `${words.say("choices")}: ${words.say("reproduce")}`));
    scaling(turn);
  }

  function figures(run) {
    if (run.failed) {
      const capacity = before.facts.capacity;
      said.textContent = run.failed.kind === "out_of_memory" ? words.say("too_large", { capacity: words.quantity(capacity) }) : words.say("impossible", { reason: run.failed.message });
      said.classList.add("over");
      return;
    }
    said.classList.remove("over");
    const { facts } = run;
    // At first the result of the question is what is announced.
    if (turn > 1) said.textContent = words.say("explore_said", { step: words.quantity(facts.step), exposed: words.quantity(facts.exposed), memory: words.quantity(facts.peak) });
    const rows = ["step", "compute", "communication", "exposed", "hidden_share", "sent", "state", "peak"].map((fact) => {
      const write = (quantity) => (fact === "hidden_share" ? words.format.percent(quantity.value) : words.quantity(quantity));
      return [words.facts[fact], write(before.facts[fact]), write(facts[fact])];
    });
    shown.append(plainTable(words.say("choices"), [words.say("quantity"), words.say("before"), words.say("now")], rows, { class: "figures-table" }));
  }

  function memory(run) {
    const bar = (name, { result }) => ({
      name,
      capacity_bytes: result.memory.capacity_bytes,
      used_bytes: result.memory.peak_allocated_bytes,
      parts: KINDS.map((kind) => ({ kind, bytes: result.memory.breakdown[`${kind}_bytes`] })).filter((part) => part.bytes > 0),
    });
    const bars = [bar(words.say("before"), before)];
    if (run.result) bars.push(bar(words.say("now"), run));
    memoryBars(shown, bars, { ...charts.bars, kinds: charts.held, title: words.say("memory_peak") }, { level: LEVEL });
  }

  /** The other numbers of GPUs are simulated once what was asked for is on the screen. */
  async function scaling(mine) {
    const slider = sliders.find((one) => one.id === GPUS);
    const points = [];
    for (const index of slider.steps.keys()) {
      await nextFrame();
      if (mine !== turn) return;
      const run = source.attempt(specAt({ ...at, [GPUS]: index }, index === at[GPUS]));
      points.push({ x: Number(slider.steps[index].name), step: run.facts?.step.value ?? null, exposed: run.facts?.exposed.value ?? null });
    }
    if (mine !== turn) return;
    curve.replaceChildren();
    if (points.every((point) => point.step === null)) return;
    const series = ["step", "exposed"].map((fact, slot) => ({
      name: words.facts[fact],
      slot,
      style: "curve",
      points: points.map((point) => ({ x: point.x, y: point[fact] })),
    }));
    curveChart(curve, { title: words.say("scaling"), xLabel: words.facts.gpus, unit: "s", series }, words, charts);
  }
}
