// The page of one run.

import { fill, h } from "../parts/dom.js";
import { makeFormat } from "../parts/format.js";
import { criticalPath } from "../parts/critical_path.js";
import { dataTable } from "../parts/data_table.js";
import { memoryBars } from "../parts/memory_bars.js";
import { memoryOverTime } from "../parts/memory_over_time.js";
import { streamTimeline } from "../parts/stream_timeline.js";
import { timeWindow } from "../parts/time_window.js";
import { topologyPicture } from "../parts/topology_picture.js";
import { runWords } from "../words/report_en.js";
import { copyBlock, keyFigures, pageData, section } from "./page_blocks.js";

const data = pageData();
const { result } = data;
const format = makeFormat("en");
const words = runWords;
const withFormat = (part) => ({ ...part, format });
const main = document.querySelector("main");

function header() {
  const { cluster, scenario } = result;
  const line = fill(cluster.nodes === 1 ? words.cluster.one : words.cluster.many, {
    gpus: format.grouped(cluster.gpus),
    gpu: cluster.gpu,
    nodes: format.grouped(cluster.nodes),
  });
  const overrides = data.configuration.overrides.filter((change) => !change.startsWith("name="));
  // A name may tell of what was changed: "four nodes".
  const title = overrides.length === 0
    ? scenario.name
    : fill(words.changed, { name: scenario.name, overrides: overrides.join(", ") });
  main.append(h("header", {}, h("h1", {}, title), h("p", { class: "subtitle" }, line), figures(), warnings()));
}

function figures() {
  const { step, throughput, memory } = result;
  const list = [];
  const interval = step.interval_90_s;
  list.push({
    name: words.facts.step,
    value: format.time(step.time_s),
    note: interval
      ? fill(words.facts.interval, { low: format.time(interval[0]), high: format.time(interval[1]), runs: step.interval_runs })
      : null,
  });
  if (throughput.tokens_per_s) {
    list.push({
      name: words.facts.throughput,
      value: format.grouped(throughput.tokens_per_s),
      note: fill(words.facts.perGpu, { value: format.grouped(throughput.tokens_per_s_per_gpu) }),
    });
    list.push({
      name: words.facts.mfu,
      value: format.percent(throughput.mfu),
      note: fill(words.facts.tflops, { value: format.grouped(throughput.model_tflops_per_gpu) }),
    });
  }
  list.push({
    name: words.facts.exposed,
    value: format.time(step.exposed_communication_s),
    note: fill(words.facts.exposedOf, {
      share: format.percent(step.exposed_communication_s / step.time_s),
      hidden: format.percent(step.overlap_fraction),
    }),
  });
  if (memory.peak_reserved_bytes > 0) {
    const used = memory.peak_reserved_bytes + memory.outside_allocator_bytes;
    list.push({
      name: words.facts.memory,
      value: format.bytes(used),
      note: fill(words.facts.memoryOf, { share: format.percent(used / memory.capacity_bytes), capacity: format.bytes(memory.capacity_bytes) }),
    });
  }
  return keyFigures(list);
}

function warnings() {
  if (result.warnings.length === 0) return null;
  return h("div", { class: "warnings" }, h("h2", {}, words.warnings), h("ul", {}, ...result.warnings.map((text) => h("li", {}, text))));
}

function overTime() {
  const place = section(main, words.time);
  if (data.streams.rank > 0) place.append(h("p", { class: "about" }, fill(words.rank, { rank: data.streams.rank })));
  const window = timeWindow(data.streams.step_ns, Math.max(200, data.streams.step_ns / 20000));
  streamTimeline(place, data.streams, withFormat(words.streams), { window });
  if (data.memory_timeline.time_s.length > 1) {
    memoryOverTime(place, data.memory_timeline, withFormat({ ...words.memory, about: memoryAbout() }), {
      window,
      step_s: data.streams.step_ns * 1e-9,
    });
  }
}

function memoryAbout() {
  const { peak } = result.memory;
  if (!peak || !peak.operation) return words.memory.about;
  return `${words.memory.about} ${fill(words.memory.peak, {
    bytes: format.bytes(peak.allocated_bytes),
    allocation: peak.allocation,
    kind: words.memory.kinds[peak.kind] ?? peak.kind,
    operation: peak.operation,
  })}`;
}

function why() {
  const place = section(main, words.why);
  criticalPath(place, result.critical_path, withFormat(words.path));
  whatIf(place);
  const { memory } = result;
  if (memory.peak_reserved_bytes === 0) return;
  const parts = Object.entries(memory.breakdown).map(([key, bytes]) => ({ kind: key.replace(/_bytes$/, ""), bytes }));
  parts.push(
    { kind: "cached", bytes: memory.peak_reserved_bytes - memory.peak_allocated_bytes },
    { kind: "outside", bytes: memory.outside_allocator_bytes },
  );
  memoryBars(
    place,
    [{ name: words.bars.gpu, capacity_bytes: memory.capacity_bytes, parts: parts.filter((part) => part.bytes > 0) }],
    withFormat(words.bars),
  );
  hostMemory(place, memory.host);
}

function hostMemory(place, host) {
  if (!host) return;
  if (host.capacity_bytes === null) {
    place.append(h("p", { class: "about" }, fill(words.hostUnknown, { used: format.bytes(host.used_bytes) })));
    return;
  }
  const parts = ["parameters", "gradients", "optimizer"].map((kind) => ({ kind, bytes: host[`${kind}_bytes`] }));
  memoryBars(
    place,
    [{ name: words.hostBars.gpu, capacity_bytes: host.capacity_bytes, parts: parts.filter((part) => part.bytes > 0) }],
    withFormat(words.hostBars),
  );
}

function whatIf(place) {
  if (!result.what_if?.length) return;
  const { columns } = words.whatIf;
  const signed = (share) => `${share > 0 ? "+" : ""}${format.percent(share)}`;
  dataTable(
    place.appendChild(h("div", { class: "data-table" })),
    {
      columns: [
        { name: columns.change, id: "change" },
        { name: columns.step, id: "step_time_s", text: format.time },
        { name: columns.relative, id: "relative_change", text: signed },
      ],
      rows: result.what_if.map((one) => [one.change, one.step_time_s, one.relative_change]),
    },
    { ...words.whatIf, save: null },
  );
}

function cluster() {
  const place = section(main, words.cluster_heading);
  topologyPicture(place, data.topology, withFormat(words.topology));
  if (result.collectives.length === 0) return;
  const { columns } = words.collectives;
  const by = (one) => (one.algorithm ? fill(words.collectives.by, one) : null);
  dataTable(
    place.appendChild(h("div", { class: "data-table" })),
    {
      columns: [
        { name: columns.kind, id: "kind" },
        { name: columns.group, id: "group" },
        { name: columns.size, id: "group_size", text: format.grouped },
        { name: columns.count, id: "count", text: format.grouped },
        { name: columns.bytes, id: "bytes", text: format.bytes },
        { name: columns.time, id: "time_s", text: format.time },
        { name: columns.exposed, id: "exposed_s", text: format.time },
        { name: columns.busbw, id: "busbw_gbytes_per_s", text: (value) => `${format.number(value)} GB/s` },
        { name: columns.by, id: "by" },
      ],
      rows: result.collectives.map((one) => [one.kind, one.group, one.group_size, one.count, one.bytes || null, one.time_s, one.exposed_s, one.busbw_gbytes_per_s || null, by(one)]),
    },
    { ...words.collectives, save: null },
  );
}

function repeat() {
  const { configuration } = data;
  const place = section(main, words.repeat, copyBlock(words.command, data.command, words));
  place.append(copyBlock(`${words.configuration}: ${configuration.file}`, configuration.text, words));
  if (configuration.overrides.length > 0) {
    place.append(h("p", { class: "about" }, fill(words.overrides, { overrides: configuration.overrides.join(", ") })));
  }
  const { simulator } = result;
  main.append(
    h("footer", {}, fill(words.foot, {
      version: simulator.version,
      events: format.grouped(simulator.events),
      simulated: format.grouped(simulator.simulated_ranks),
      ranks: format.grouped(result.cluster.gpus),
      fidelity: simulator.fidelity,
    })),
  );
}

header();
overTime();
why();
cluster();
repeat();
