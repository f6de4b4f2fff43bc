// The views of a question: memory bars, timelines, curves, and bars of facts.

import { h } from "../parts/dom.js";
import { lineChart } from "../parts/line_chart.js";
import { memoryBars } from "../parts/memory_bars.js";
import { memoryOverTime } from "../parts/memory_over_time.js";
import { streamTimeline } from "../parts/stream_timeline.js";
import { timeWindow } from "../parts/time_window.js";
import { factBars } from "./fact_bars.js";

/** Facts that the memory bars are made of, and the kind that gives each its colour. */
const PARTS = [
  ["parameters", "parameters"],
  ["optimizer", "optimizer"],
  ["gradients", "gradients"],
  ["gathered_at_turn", "gathered_parameters"],
  ["activations", "activations"],
];
const LEVEL = 3;

/** What a run of a strategy is called whatever its number of GPUs. */
const familyOf = (run) => (run.scenario === "ddp" ? "ddp" : "fsdp");
const SLOTS = { ddp: 1, fsdp: 0 };

export function memoryView(container, named, words, charts, title) {
  const bars = named.map(({ name, run }) => ({
    name,
    capacity_bytes: run.facts.capacity.value,
    used_bytes: run.facts.peak.value,
    parts: PARTS.map(([fact, kind]) => ({ kind, bytes: run.facts[fact].value })).filter((part) => part.bytes > 0),
  }));
  const used = `${words.facts.peak}: ${words.page.used}`;
  memoryBars(container, bars, { ...charts.bars, title, used }, { level: LEVEL });
}

function timelines(container, named, words, charts, withMemory) {
  const drawable = named.filter(({ run }) => run.streams);
  if (drawable.length === 0) return;
  const longest = Math.max(...drawable.map(({ run }) => run.streams.step_ns));
  const window = timeWindow(longest, 2000);
  for (const [i, { name, run }] of drawable.entries()) {
    timeline(container, run, words, charts, {
      title: `${words.labels.timeline}: ${name}`,
      window,
      first: i === 0,
    });
    if (run.memory_ns && withMemory.has(name)) memoryLine(container, run, name, words, charts, window);
  }
}

/** Order of what `memory_ns` holds after the time. */
const KINDS = ["parameters", "gradients", "optimizer", "activations", "gathered_parameters", "communication_buffers", "other"];

function memoryLine(container, run, name, words, charts, window) {
  const data = {
    time_s: run.memory_ns.map(([time]) => time * 1e-9),
    kinds: Object.fromEntries(KINDS.map((kind, i) => [kind, run.memory_ns.map((point) => point[i + 1])])),
  };
  const title = words.say("memory_over_time", { run: name });
  memoryOverTime(container, data, { ...charts.memory, title }, { window, step_s: run.streams.step_ns * 1e-9, level: LEVEL });
}

/** One run's streams; `first` of several explains them. */
export function timeline(container, run, words, charts, { title, window, first = true }) {
  const { step, exposed, hidden_share: hidden } = run.facts;
  const line = [
    `${words.facts.step}: ${words.quantity(step)}`,
    `${words.facts.exposed}: ${words.quantity(exposed)}`,
    `${words.facts.hidden_share}: ${words.format.percent(hidden.value)}`,
  ].join(" · ");
  const causes = Object.fromEntries(run.streams.kinds.map((kind) => [kind.name, charts.streams.kindOf(kind.name)]));
  const part = { ...charts.streams, causes, title, about: line, hint: first ? charts.streams.hint : null };
  const place = h("div");
  if (first) place.append(h("p", { class: "about" }, charts.streams.about));
  container.append(place);
  streamTimeline(place, run.streams, part, { window, level: LEVEL });
}

function curve(container, view, fact, named, words, charts) {
  const families = new Map();
  for (const { run } of named) {
    const key = familyOf(run);
    if (!families.has(key)) families.set(key, []);
    families.get(key).push({ x: run.facts[view.x].value, y: run.facts[fact].value });
  }
  const { unit } = named[0].run.facts[fact];
  curveChart(container, {
    title: words.labels.curve.replace("{y}", words.facts[fact]).replace("{x}", words.facts[view.x]),
    xLabel: words.facts[view.x],
    unit,
    series: [...families].map(([key, points]) => ({
      name: words.runs[key],
      slot: SLOTS[key],
      style: "curve",
      points: points.sort((a, b) => a.x - b.x),
    })),
  }, words, charts);
}

/** Curves of one fact; `unit` is that of quantities. */
export function curveChart(container, { title, xLabel, unit, series }, words, charts) {
  const most = Math.max(...series.flatMap(({ points }) => points.map((point) => point.y ?? 0)));
  const scale = unit === "bytes" ? words.format.bytesIn(most) : words.format.timeIn(most);
  const plain = { size: 1, symbol: "", text: (value) => words.format.grouped(value) };
  const { size, symbol, text } = unit ? scale : plain;
  return lineChart(container, { series }, { ...charts.curve, title, empty: "" }, {
    level: LEVEL,
    x: { label: xLabel, kind: "number", log: true, text: (value) => words.quantity({ value, unit: "" }) },
    y: { label: symbol, per: size, tick: text, text: (value) => words.quantity({ value, unit }) },
  });
}

function bars(container, fact, named, words, charts) {
  const rows = named.map(({ name, run }) => ({ name, quantity: run.facts[fact], class: familyOf(run) }));
  factBars(container, rows, {
    ...charts.plain,
    title: words.facts[fact],
    write: words.quantity,
    columns: { run: words.labels.run, value: words.say("value") },
  }, { level: LEVEL });
}
/** All views of a question whose runs have been made. */
export function evidenceCharts(container, question, runs, words, charts) {
  const withMemory = new Set(question.show.filter((view) => view.kind === "memory").flatMap((view) => view.runs.map((id) => words.runs[id])));
  for (const view of question.show) {
    const named = view.runs.map((id) => ({ name: words.runs[id], run: runs[id] }));
    const facts = view.facts ?? [];
    const place = h("div", { class: facts.length > 0 ? "charts" : "views" });
    container.append(place);
    if (view.kind === "memory") memoryView(place, named, words, charts, words.labels.memory_per_gpu);
    if (view.kind === "timeline") timelines(place, named, words, charts, withMemory);
    if (view.kind === "curve") for (const fact of facts) curve(place, view, fact, named, words, charts);
    if (view.kind === "bars") for (const fact of facts) bars(place, fact, named, words, charts);
  }
}
