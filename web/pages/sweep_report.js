// The page of a sweep.

import { fill, freshId, h } from "../parts/dom.js";
import { makeFormat } from "../parts/format.js";
import { dataTable } from "../parts/data_table.js";
import { paretoFront } from "../parts/pareto.js";
import { paretoChart } from "../parts/pareto_front.js";
import { efficiencyCurves, metricCurves, scalingCurves } from "../parts/scaling_curves.js";
import { sweepWords as words } from "../words/report_en.js";
import { copyBlock, keyFigures, pageData, section } from "./page_blocks.js";
import { countsGpus, curvesOf, defaultChoice, pointName, pointsOf, unitOf, valuesOf } from "./sweep_points.js";

const data = pageData();
const format = makeFormat("en");
const points = pointsOf(data);
const good = points.filter((point) => point.failed === null);
const keys = data.keys.map((key) => key.name);
const hasTokens = good.some((point) => typeof point.tokens_per_s === "number");
const speed = hasTokens ? "tokens_per_s" : "step_time_s";
const main = document.querySelector("main");

const best = (metric, better) =>
  good.filter((point) => typeof point[metric] === "number").sort((a, b) => (a[metric] - b[metric]) * better)[0];
const shortKey = (key) => key.replace(/^.*\./, "").replaceAll("_", " ");
const written = {
  tokens_per_s: (value) => fill(words.facts.tokens, { value: format.grouped(value) }),
  tokens_per_s_per_gpu: (value) => fill(words.facts.perGpu, { value: format.grouped(value) }),
  step_time_s: format.time,
  memory_used_bytes: format.bytes,
  exposed_share: format.percent,
  efficiency: format.percent,
};

function header() {
  const failed = points.length - good.length;
  const summary = fill(failed > 0 ? words.summary : words.summaryAll, { points: format.grouped(points.length), failed: format.grouped(failed) });
  const figures = [];
  const add = (name, point, metric) => {
    if (point) figures.push({ name, value: written[metric](point[metric]), note: pointName(point) });
  };
  if (hasTokens) {
    add(words.best, best("tokens_per_s", -1), "tokens_per_s");
    add(words.bestEfficiency, best("tokens_per_s_per_gpu", -1), "tokens_per_s_per_gpu");
  }
  add(words.fastest, best("step_time_s", 1), "step_time_s");
  const subtitle = `${keys.map(shortKey).join(" × ")}: ${summary}`;
  main.append(h("header", {}, h("h1", {}, data.name), h("p", { class: "subtitle" }, subtitle), keyFigures(figures)));
}

/** Choice of keys, and the charts that follow it. */
function scaling() {
  const place = section(main, words.headings.scaling);
  const choice = { ...defaultChoice(points, keys), fixed: {} };
  const controls = h("div", { class: "choices" });
  const charts = h("div", { class: "charts" });
  const hint = h("p", { class: "hint", id: freshId("hint") }, words.chart.hintOnce);
  place.append(controls, hint, charts);
  const start = best(speed, hasTokens ? -1 : 1) ?? points[0];
  const refresh = () => {
    showControls();
    drawCharts(charts, choice, hint);
  };

  function select(label, options, value, onChange) {
    const id = freshId("choice");
    const element = h("select", { id }, ...options.map(([text, of], i) => h("option", { value: i, selected: of === value }, text)));
    element.addEventListener("change", () => {
      onChange(options[Number(element.value)][1]);
      refresh();
      document.getElementById(lastId(label))?.focus();
    });
    element.dataset.label = label;
    controls.append(h("label", { for: id }, label, element));
  }
  const lastId = (label) => [...controls.querySelectorAll("select")].find((one) => one.dataset.label === label)?.id;

  function showControls() {
    controls.replaceChildren();
    const several = keys.filter((key) => valuesOf(points, key).length > 1);
    if (several.length > 1) {
      select(words.along, several.map((key) => [key, key]), choice.along, (key) => {
        if (key === choice.curves) choice.curves = choice.along;
        choice.along = key;
      });
      const others = several.filter((key) => key !== choice.along);
      select(words.curves, [...others.map((key) => [key, key]), [words.none, null]], choice.curves, (key) => {
        choice.curves = key;
      });
    }
    const fixed = {};
    for (const key of several) {
      if (key === choice.along || key === choice.curves) continue;
      fixed[key] = key in choice.fixed ? choice.fixed[key] : start.values[key];
      select(key, valuesOf(points, key).map((value) => [String(value), value]), fixed[key], (value) => {
        choice.fixed[key] = value;
      });
    }
    choice.fixed = { ...fixed };
    controls.hidden = controls.childElementCount === 0;
  }
  refresh();
}

function drawCharts(place, choice, hint) {
  place.replaceChildren();
  const name = (value) => (choice.curves ? `${shortKey(choice.curves)} ${value}` : data.name);
  const { series, left_out: leftOut } = curvesOf(points, choice, name);
  hint.textContent = leftOut === 0 ? words.chart.hintOnce : `${words.chart.hintOnce} ${fill(words.chart.leftOut, { shown: series.length, all: series.length + leftOut })}`;
  const hintId = hint.id;
  const byGpus = countsGpus(choice.along);
  const measured = byGpus ? measuredSeries(series.length) : [];
  const unit = unitOf(points, choice.along);
  const x = {
    label: byGpus ? words.gpus : unit ? `${choice.along}, ${unit}` : choice.along,
    kind: byGpus || unit !== null ? "number" : "text",
    text: (value) => (typeof value === "number" ? format.number(value) : String(value)),
    log: true,
  };
  if (byGpus) x.text = format.grouped;
  const y = (metric, extra = {}) => ({ label: words.axes[metric], text: written[metric], ...extra });
  const compact = { tick: format.compact };
  const chart = (part) => ({ ...words.chart, ...part });
  if (hasTokens) {
    scalingCurves(place, { series, measured }, chart({ ...words.throughput, about: byGpus ? words.throughput.about : null }), {
      metric: "tokens_per_s", ideal: byGpus, hintId, x, y: y("tokens_per_s", { log: byGpus, ...compact }),
    });
  }
  if (hasTokens && byGpus) {
    efficiencyCurves(place, { series, measured }, chart(words.efficiency), { hintId, x, y: y("efficiency", { low: (least) => Math.max(0, Math.min(0.8, least - 0.05)), tick: (share) => `${format.number(share * 100)} %` }) });
  }
  metricCurves(place, { series }, chart(words.step), { metric: "step_time_s", hintId, x, y: y("step_time_s") });
  metricCurves(place, { series }, chart(words.exposed), { metric: "exposed_share", hintId, x, y: y("exposed_share", { tick: (share) => `${format.number(share * 100)} %` }) });
  if (good.some((point) => point.memory_used_bytes > 0)) {
    const gib = (bytes) => format.number(bytes / 2 ** 30);
    metricCurves(place, { series }, chart(words.memory), {
      metric: "memory_used_bytes",
      hintId,
      limit: (point) => point.capacity_bytes,
      x,
      y: { label: "GiB", text: format.bytes, tick: gib, per: 2 ** 30 },
    });
  }
}

function measuredSeries(taken) {
  const sources = [...new Set(data.measured.map((point) => point.source))];
  return sources.map((source, i) => ({
    name: fill(words.chart.measured, { source }),
    slot: (taken + i) % 8,
    points: data.measured
      .filter((point) => point.source === source)
      .map((point) => ({ x: point.gpus, gpus: point.gpus, tokens_per_s_per_gpu: point.tokens_per_s_per_gpu, tokens_per_s: point.tokens_per_s_per_gpu * point.gpus }))
      .sort((a, b) => a.x - b.x),
  }));
}

/** Speed against what it costs: GPUs, and memory of each of them. */
function pareto() {
  const place = h("div", { class: "charts" });
  const gpusVary = new Set(good.map((point) => point.gpus)).size > 1;
  const named = good.map((point) => ({ ...point, name: pointName(point) }));
  const gib = (bytes) => format.number(bytes / 2 ** 30);
  const chart = (part, vertical, horizontal, options) => {
    const better = vertical === "step_time_s" ? "lower" : "higher";
    const goals = [{ metric: vertical, better }, { metric: horizontal, better: "lower" }];
    const tick = vertical === "step_time_s" ? format.time : format.compact;
    const y = { label: words.axes[vertical], text: written[vertical], tick, log: options.logs };
    paretoChart(place, { points: named, goals }, { ...words.chart, ...words.pareto, ...part }, { x: options.x, y, hintId: options.hintId });
  };
  const hint = h("p", { class: "hint", id: freshId("hint") }, words.pareto.hintOnce);
  if (gpusVary) {
    const text = (value) => `${format.grouped(value)} ${words.gpus}`;
    chart(words.pareto.againstGpus, speed, "gpus", { x: { label: words.gpus, text, tick: format.grouped, log: true }, logs: true, hintId: hint.id });
  }
  if (good.some((point) => point.memory_used_bytes > 0)) {
    const perGpu = hasTokens ? "tokens_per_s_per_gpu" : "step_time_s";
    const x = { label: `${words.axes.memory_used_bytes}, GiB`, text: format.bytes, tick: gib, per: 2 ** 30 };
    chart(words.pareto.againstMemory, perGpu, "memory_used_bytes", { x, logs: false, hintId: hint.id });
  }
  if (good.length > 1 && place.childElementCount > 0) section(main, words.headings.trade, hint, place);
}

/** Points that no other beats in speed, memory and number of GPUs at once. */
function onFront() {
  const goals = [{ metric: speed, better: hasTokens ? "higher" : "lower" }];
  for (const metric of ["memory_used_bytes", "gpus"]) {
    if (good.some((point) => point[metric] > 0)) goals.push({ metric, better: "lower" });
  }
  return new Set(paretoFront(good, goals).map((index) => good[index]));
}

function table() {
  const place = section(main, words.headings.points);
  const metrics = Object.keys(words.table.columns).filter((metric) => good.some((point) => (metric === "memory_used_bytes" ? point[metric] > 0 : typeof point[metric] === "number")));
  const text = { ...written, gpus: format.grouped, mfu: format.percent, overlap_fraction: format.percent, tokens_per_s: format.grouped, tokens_per_s_per_gpu: format.grouped };
  const columns = [
    ...keys.map((key) => ({ name: key, id: key, text: format.number })),
    ...metrics.map((metric) => ({ name: words.table.columns[metric], id: metric, text: text[metric] })),
  ];
  const front = onFront();
  columns.push({ name: words.table.front, id: "pareto_front" });
  if (good.length < points.length) columns.push({ name: words.table.failed, id: "failed" });
  const rows = points.map((point) => [
    ...keys.map((key) => point.values[key]),
    ...metrics.map((metric) => point[metric]),
    front.has(point) ? words.table.yes : null,
    ...(good.length < points.length ? [point.failed ? point.failed.kind : null] : []),
  ]);
  dataTable(place.appendChild(h("div", { class: "data-table" })), { columns, rows }, words.table);
}

function failures() {
  const failed = points.filter((point) => point.failed !== null);
  if (failed.length === 0) return;
  const place = section(main, words.headings.failed);
  const { columns } = words.failedTable;
  dataTable(
    place.appendChild(h("div", { class: "data-table" })),
    {
      columns: [...keys.map((key) => ({ name: key, id: key, text: format.number })), { name: columns.kind, id: "kind" }, { name: columns.message, id: "message" }],
      rows: failed.map((point) => [...keys.map((key) => point.values[key]), point.failed.kind, point.failed.message]),
    },
    { ...words.failedTable, save: null },
  );
}

header();
scaling();
pareto();
table();
failures();
const repeat = section(main, words.headings.repeat, copyBlock(words.command, data.command, words));
if (data.configuration.text) {
  repeat.append(copyBlock(`${words.configuration}: ${data.configuration.file}`, data.configuration.text, words));
}
