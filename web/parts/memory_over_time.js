// Memory that PyTorch's allocator has handed out over the step, by what it is for.

import { scaleLinear } from "d3-scale";
import { area, curveStepAfter, line, stack } from "d3-shape";
import { bottomAxis, leftAxis, thinTicks } from "./axes.js";
import { drawToWidth, fill, freshId, h, s } from "./dom.js";
import { chartFrame, legendEntry } from "./frame.js";
import { steer, steerByKey, timeWindow } from "./time_window.js";
import { lowerBound } from "./timeline_canvas.js";

const HEIGHT = 260;

/** Kinds from the bottom up: what lasts lies under what comes and goes. */
const ORDER = [
  "parameters",
  "optimizer",
  "gradients",
  "gathered_parameters",
  "communication_buffers",
  "other",
  "activations",
];

/**
 * @param data {time_s: [], reserved_bytes?: [], kinds: {NAME: []}}, sorted by time
 * @param words {title, about, hint, table, tableWords, kinds: {NAME: text}, reserved, readout (with
 *   {time}, {total}, {largest}, {part}), columns: {time, total}, axis (with {unit}), format}
 * @param {{window?, step_s: number, level?: number}} options
 */
export function memoryOverTime(container, data, words, options) {
  const points = sorted(data);
  const shown = options.window ?? timeWindow(options.step_s * 1e9, 200);
  const kinds = ORDER.filter((kind) => points.kinds[kind]?.some((bytes) => bytes > 0));
  const frame = chartFrame(container, words, options);
  const { format } = words;
  const times = points.time_s;
  const totals = times.map((_, i) => kinds.reduce((sum, kind) => sum + points.kinds[kind][i], 0));
  const reservedBytes = points.reserved_bytes ?? [];
  const top = Math.max(...totals, ...reservedBytes);
  const unit = format.bytesIn(top);
  const layers = stack().keys(kinds).value((i, kind) => points.kinds[kind][i])(times.map((_, i) => i));
  for (const kind of [...kinds].reverse()) {
    frame.legend.append(legendEntry(`kind-${kind}`, words.kinds[kind]));
  }
  if (points.reserved_bytes) frame.legend.append(legendEntry("swatch-reserved", words.reserved));

  const clip = freshId("clip");
  const surface = h("div", {
    class: "memory-chart",
    tabindex: 0,
    role: "application",
    "aria-labelledby": frame.titleId,
    "aria-describedby": frame.hintId,
  });
  frame.plot.append(surface);
  let width = 0;
  let cursor = -1;
  /** Begins where the rows of the stream timeline do. */
  const space = () => ({ left: width < 560 ? 40 : 118, right: width - 1, top: 22, bottom: HEIGHT - 24 });

  function draw() {
    const box = space();
    const x = scaleLinear([shown.from * 1e-9, shown.to * 1e-9], [box.left, box.right]);
    const y = scaleLinear([0, top / unit.size], [box.bottom, box.top]).nice(4);
    const place = (i) => x(i < times.length ? times[i] : options.step_s);
    const height = (bytes) => y(bytes / unit.size);
    const index = [...times.keys(), times.length];
    const last = (i) => Math.min(i, times.length - 1);
    const svg = s("svg", { width, height: HEIGHT, "aria-hidden": "true" });
    svg.append(
      s("defs", {}, s("clipPath", { id: clip }, s("rect", { x: box.left, y: 0, width: box.right - box.left, height: HEIGHT }))),
      leftAxis(box, y.ticks(4).map((tick) => ({ at: y(tick), text: format.number(tick) })), unit.symbol),
    );
    const clipped = s("g", { "clip-path": `url(#${clip})` });
    layers.forEach((layer, k) => {
      const path = area().curve(curveStepAfter).x(place).y0((i) => height(layer[last(i)][0])).y1((i) => height(layer[last(i)][1]));
      clipped.append(s("path", { d: path(index), class: `area kind-${kinds[k]}` }));
    });
    if (points.reserved_bytes) {
      const reserved = line().curve(curveStepAfter).x(place).y((i) => height(reservedBytes[last(i)]));
      clipped.append(s("path", { d: reserved(index), class: "reserved-line" }));
    }
    if (cursor >= 0) {
      clipped.append(s("line", { class: "cursor", x1: x(times[cursor]), x2: x(times[cursor]), y1: box.top, y2: box.bottom }));
    }
    const seconds = format.timeIn(shown.to * 1e-9);
    const ticks = x.ticks(Math.max(2, Math.floor((box.right - box.left) / 100)));
    svg.append(
      clipped,
      bottomAxis(box, thinTicks(ticks.map((tick) => ({ at: x(tick), text: `${seconds.text(tick)} ${seconds.symbol}` })), 64)),
    );
    surface.replaceChildren(svg);
  }

  function say(i) {
    cursor = Math.max(0, Math.min(i, times.length - 1));
    const largest = kinds.reduce((best, kind) => (points.kinds[kind][cursor] > points.kinds[best][cursor] ? kind : best), kinds[0]);
    frame.say(fill(words.readout, {
      time: format.time(times[cursor]),
      total: format.bytes(totals[cursor]),
      largest: words.kinds[largest],
      part: format.bytes(points.kinds[largest][cursor]),
    }));
    draw();
  }

  surface.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const key = event.key.toLowerCase();
    if (key === "n") say(cursor + 1);
    else if (key === "p") say(cursor - 1);
    else if (key === "m") say(totals.indexOf(Math.max(...totals)));
    else if (!steerByKey(shown, event)) return;
    event.preventDefault();
  });
  surface.addEventListener("pointermove", (event) => {
    const box = space();
    const share = (event.clientX - surface.getBoundingClientRect().left - box.left) / (box.right - box.left);
    const time = (shown.from + share * (shown.to - shown.from)) * 1e-9;
    if (share >= 0 && share <= 1) say(Math.max(0, lowerBound(times, time) - 1));
  });
  steer(surface, shown, space);
  shown.subscribe(() => requestAnimationFrame(draw));
  drawToWidth(frame.plot, (now) => {
    width = now;
    draw();
  });
  frame.setTable(() => ({
    columns: [
      { name: words.columns.time, id: "time_s", text: format.time },
      { name: words.columns.total, id: "allocated_bytes", text: format.bytes },
      ...(points.reserved_bytes ? [{ name: words.reserved, id: "reserved_bytes", text: format.bytes }] : []),
      ...kinds.map((kind) => ({ name: words.kinds[kind], id: `${kind}_bytes`, text: format.bytes })),
    ],
    rows: times.map((time, i) => [time, totals[i], ...(points.reserved_bytes ? [reservedBytes[i]] : []), ...kinds.map((kind) => points.kinds[kind][i])]),
  }));
}

/** The CPU's calls may reach the GPU at equal times, hence stable, and never go back. */
function sorted(data) {
  let latest = 0;
  const time_s = data.time_s.map((time) => (latest = Math.max(latest, time)));
  return { ...data, time_s };
}
