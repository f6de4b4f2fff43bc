// What each CUDA stream did over the step. Communication behind which the GPU computes is hidden;
// where the compute stream waits for it, it is exposed.

import { scaleLinear } from "d3-scale";
import { drawToWidth, fill, h, onSchemeChange } from "./dom.js";
import { chartFrame, legendEntry } from "./frame.js";
import { steer, steerByKey, timeWindow } from "./time_window.js";
import { drawStretches, lowerBound, makePaints, sizeCanvas } from "./timeline_canvas.js";

const ROW = 26;
const GAP = 9;
const AXIS = 26;
const MOST_TABLE_ROWS = 5000;

/** Legend entries: class of the swatch, and which stretches of the data need it. */
const LEGEND = ["compute", "copy", "optimizer", "hidden", "exposed", "cpu"];

/**
 * @param {HTMLElement} container
 * @param data as `streams` of a run report: {step_ns, kinds, names, streams, gaps, operations, drawn}
 * @param words {title, about, hint, table, tableWords, legend: {compute, copy, optimizer, hidden,
 *   exposed, cpu}, earlier, later, zoomIn, zoomOut, reset, operation, joined, gap: {communication, peers, copy,
 *   cpu}, columns: {stream, name, what, start, end, duration, exposed}, tableNote, joinedNote,
 *   streamNames, causes, format}
 * @param {{window?, level?: number}} options `window` (see time_window.js, in ns) links charts
 */
export function streamTimeline(container, data, words, options = {}) {
  const shown = options.window ?? timeWindow(data.step_ns, 200);
  const rows = data.streams
    .map((stream, index) => ({ stream, index }))
    .filter(({ stream }) => stream.start_ns.length > 0);
  const frame = chartFrame(container, words, options);
  const names = words.streamNames ?? {};
  const streamName = (row) => names[row.stream.name] ?? row.stream.name;
  const kindName = (kind) => words.causes?.[data.kinds[kind].name] ?? data.kinds[kind].name;
  const { format } = words;
  addLegend(frame, data, words);
  addButtons(frame, shown, words);

  const canvas = h("canvas");
  const surface = h(
    "div",
    {
      class: "timeline",
      tabindex: 0,
      role: "application",
      "aria-labelledby": frame.titleId,
      "aria-describedby": frame.hintId,
    },
    canvas,
  );
  frame.plot.append(surface);
  const gaps = gapsByRow(data, rows);
  const selected = { row: 0, index: -1 };
  let width = 0;
  let narrow = false;
  let left = 0;

  const height = () => rows.length * (ROW + GAP + (narrow ? 16 : 0)) + AXIS;
  const rowTop = (i) => i * (ROW + GAP + (narrow ? 16 : 0)) + (narrow ? 16 : 2);
  const scale = () => scaleLinear([shown.from, shown.to], [left, width - 1]);

  function draw() {
    const { context, ratio } = sizeCanvas(canvas, width, height());
    const paints = makePaints(context, surface, ratio);
    const x = scale();
    context.font = `12px ${getComputedStyle(surface).fontFamily}`;
    rows.forEach((row, i) => drawRow(context, paints, x, row, i));
    drawAxis(context, paints, x);
  }

  function drawRow(context, paints, x, row, i) {
    const top = rowTop(i);
    context.fillStyle = paints.muted;
    context.textAlign = narrow ? "left" : "right";
    context.fillText(streamName(row), narrow ? 0 : left - 8, narrow ? top - 4 : top + ROW / 2 + 4);
    context.textAlign = "left";
    context.fillStyle = paints.row;
    context.fillRect(left, top, width - left, ROW);
    const { stream } = row;
    const place = { left, right: width, top, height: ROW, edge: paints.line, ink: paints.inverse };
    const range = {
      starts: stream.start_ns,
      ends: stream.end_ns,
      first: Math.max(0, lowerBound(row.reach, shown.from)),
      last: lowerBound(stream.start_ns, shown.to),
    };
    const paintOf = (k) => {
      const of = data.kinds[stream.kind[k]].class;
      return of === "communication" ? paints.hidden : paints[of];
    };
    const labelOf = (k) => {
      const of = data.kinds[stream.kind[k]].class;
      return of === "compute" && stream.count[k] === 1 ? data.names[stream.name_index[k]] : "";
    };
    drawStretches(context, range, x, place, paintOf, labelOf);
    drawGaps(context, paints, x, place, row);
    drawSelection(context, paints, x, place, row, i);
  }

  function drawGaps(context, paints, x, place, row) {
    const own = gaps[row.index];
    if (!own) return;
    const range = {
      starts: own.starts,
      ends: own.ends,
      first: lowerBound(own.ends, shown.from),
      last: lowerBound(own.starts, shown.to),
    };
    const thin = { ...place, top: place.top + (own.whole ? 0 : 4), height: ROW - (own.whole ? 0 : 8) };
    drawStretches(context, range, x, thin, (k) => (own.why[k] === "cpu" ? paints.cpu : paints.exposed));
  }

  function drawSelection(context, paints, x, place, row, i) {
    if (selected.row !== i || selected.index < 0) return;
    const from = Math.max(left, x(row.stream.start_ns[selected.index]));
    const to = Math.min(width, x(row.stream.end_ns[selected.index]));
    if (to < left || from > width) return;
    context.strokeStyle = paints.text;
    context.lineWidth = 2;
    context.strokeRect(from - 1, place.top - 1, Math.max(2, to - from) + 2, place.height + 2);
  }

  function drawAxis(context, paints, x) {
    const bottom = height() - AXIS + 4;
    const unit = format.timeIn(shown.to * 1e-9);
    const seconds = scaleLinear([shown.from * 1e-9, shown.to * 1e-9], [left, width - 1]);
    context.strokeStyle = paints.line;
    context.fillStyle = paints.muted;
    context.lineWidth = 1;
    for (const tick of seconds.ticks(Math.max(2, Math.floor((width - left) / 90)))) {
      const at = Math.round(seconds(tick)) + 0.5;
      context.beginPath();
      context.moveTo(at, 0);
      context.lineTo(at, bottom);
      context.globalAlpha = 0.45;
      context.stroke();
      context.globalAlpha = 1;
      const text = `${unit.text(tick)} ${unit.symbol}`;
      const half = context.measureText(text).width / 2;
      context.textAlign = "center";
      context.fillText(text, Math.min(width - half, Math.max(left + half, at)), bottom + 14);
    }
    context.textAlign = "left";
  }

  /** What is at a time of a row: an operation's index, or -1. */
  function operationAt(row, time) {
    const slack = ((shown.to - shown.from) / Math.max(1, width - left)) * 1.5;
    for (let k = lowerBound(row.stream.start_ns, time + slack) - 1, tries = 0; k >= 0 && tries < 8; k -= 1, tries += 1) {
      if (row.stream.end_ns[k] >= time - slack) return k;
    }
    return -1;
  }

  function describe(i, k) {
    const row = rows[i];
    const { stream } = row;
    const start = stream.start_ns[k] * 1e-9;
    const duration = (stream.end_ns[k] - stream.start_ns[k]) * 1e-9;
    const exposed = exposedIn(gaps[row.index], stream.start_ns[k], stream.end_ns[k]) * 1e-9;
    const values = {
      stream: streamName(row),
      name: data.names[stream.name_index[k]],
      what: kindName(stream.kind[k]),
      start: format.time(start),
      duration: format.time(duration),
      count: format.grouped(stream.count[k]),
      exposed: format.time(exposed),
    };
    let text = fill(stream.count[k] > 1 ? words.joined : words.operation, values);
    if (data.kinds[stream.kind[k]].class === "communication") text += ` ${fill(words.exposedPart, values)}`;
    return text;
  }

  function sayAt(event) {
    const box = surface.getBoundingClientRect();
    const y = event.clientY - box.top;
    const i = rows.findIndex((row, n) => y >= rowTop(n) - 4 && y < rowTop(n) + ROW + 4);
    const time = scale().invert(event.clientX - box.left);
    if (i < 0 || time < 0) return;
    const k = operationAt(rows[i], time);
    if (k >= 0) return frame.say(describe(i, k));
    const gap = i >= 0 ? gapAt(gaps[rows[i].index], time) : null;
    if (gap) frame.say(`${words.gap[gap.why]}: ${format.time((gap.end - gap.start) * 1e-9)}`);
  }

  function select(i, k) {
    const row = rows[i];
    selected.row = i;
    selected.index = Math.max(0, Math.min(k, row.stream.start_ns.length - 1));
    const start = row.stream.start_ns[selected.index];
    const end = row.stream.end_ns[selected.index];
    if (end < shown.from || start > shown.to) {
      const half = (shown.to - shown.from) / 2;
      shown.set((start + end) / 2 - half, (start + end) / 2 + half);
    }
    frame.say(describe(i, selected.index));
    draw();
  }

  function onKey(event) {
    if (steerByKey(shown, event)) return event.preventDefault();
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const nearest = (i) => lowerBound(rows[i].stream.start_ns, shown.from);
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const current = selected.index < 0 ? nearest(selected.row) - 1 : selected.index;
    if (key === "n") select(selected.row, current + 1);
    else if (key === "p") select(selected.row, current - 1);
    else if (key === "ArrowDown" || key === "ArrowUp") {
      const i = Math.max(0, Math.min(selected.row + (key === "ArrowDown" ? 1 : -1), rows.length - 1));
      const time = selected.index < 0 ? shown.from : rows[selected.row].stream.start_ns[selected.index];
      select(i, lowerBound(rows[i].stream.start_ns, time));
    } else return;
    event.preventDefault();
  }

  for (const row of rows) row.reach = runningMaximum(row.stream.end_ns);
  surface.addEventListener("keydown", onKey);
  surface.addEventListener("pointermove", sayAt);
  steer(surface, shown, () => ({ left, right: width }));
  shown.subscribe(() => requestAnimationFrame(draw));
  onSchemeChange(draw);
  drawToWidth(frame.plot, (now) => {
    width = now;
    narrow = now < 560;
    left = narrow ? 0 : 118;
    draw();
  });
  if (data.drawn < data.operations) {
    frame.figure.insertBefore(
      h("p", { class: "hint" }, fill(words.joinedNote, {
        operations: format.grouped(data.operations),
        drawn: format.grouped(data.drawn),
        below: format.time(data.joined_below_ns * 1e-9),
      })),
      frame.plot,
    );
  }
  frame.setTable(() => tableOf(data, rows, gaps, words, streamName, kindName));
}

function addLegend(frame, data, words) {
  const classes = new Set(data.kinds.map((kind) => kind.class));
  const has = {
    compute: classes.has("compute"),
    copy: classes.has("copy"),
    optimizer: classes.has("optimizer"),
    hidden: classes.has("communication"),
    exposed: data.gaps.why.some((why) => why !== "cpu"),
    cpu: data.gaps.why.includes("cpu"),
  };
  for (const name of LEGEND) {
    if (has[name]) frame.legend.append(legendEntry(`swatch-${name}`, words.legend[name]));
  }
}

function addButtons(frame, shown, words) {
  const button = (label, text, action) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
  frame.controls.append(
    button(words.earlier, "◂", () => shown.pan(-0.5)),
    button(words.later, "▸", () => shown.pan(0.5)),
    button(words.zoomIn, "+", () => shown.zoom(1.8)),
    button(words.zoomOut, "−", () => shown.zoom(1 / 1.8)),
    button(words.reset, "⤢", () => shown.reset()),
  );
}

function runningMaximum(values) {
  let most = -Infinity;
  return values.map((value) => (most = Math.max(most, value)));
}

/** Gaps by the row that shows them: the compute stream (row 0) all of them, others their own. */
function gapsByRow(data, rows) {
  const byRow = {};
  const { start_ns: starts, end_ns: ends, stream, why } = data.gaps;
  const add = (index, i, whole) => {
    const own = (byRow[index] ??= { starts: [], ends: [], why: [], whole });
    own.starts.push(starts[i]);
    own.ends.push(ends[i]);
    own.why.push(why[i]);
  };
  for (let i = 0; i < starts.length; i += 1) {
    add(0, i, false);
    if (stream[i] > 0) add(stream[i], i, true);
  }
  return byRow;
}

function gapAt(own, time) {
  if (!own) return null;
  const i = lowerBound(own.ends, time);
  if (i >= own.starts.length || own.starts[i] > time) return null;
  return { start: own.starts[i], end: own.ends[i], why: own.why[i] };
}

/** Length of what lies in [start, end) of a row's exposed stretches. */
function exposedIn(own, start, end) {
  if (!own) return 0;
  let sum = 0;
  for (let i = lowerBound(own.ends, start); i < own.starts.length && own.starts[i] < end; i += 1) {
    if (own.why[i] !== "cpu") sum += Math.max(0, Math.min(end, own.ends[i]) - Math.max(start, own.starts[i]));
  }
  return sum;
}

function tableOf(data, rows, gaps, words, streamName, kindName) {
  const { format, columns } = words;
  const time = (value) => format.time(value);
  const list = [];
  for (const row of rows) {
    const { stream } = row;
    for (let k = 0; k < stream.start_ns.length && list.length < MOST_TABLE_ROWS * 4; k += 1) {
      const communicates = data.kinds[stream.kind[k]].class === "communication";
      list.push([
        data.names[stream.name_index[k]],
        streamName(row),
        kindName(stream.kind[k]),
        stream.start_ns[k] * 1e-9,
        (stream.end_ns[k] - stream.start_ns[k]) * 1e-9,
        communicates ? exposedIn(gaps[row.index], stream.start_ns[k], stream.end_ns[k]) * 1e-9 : null,
      ]);
    }
  }
  list.sort((a, b) => a[3] - b[3]);
  return {
    columns: [
      { name: columns.name, id: "name" },
      { name: columns.stream, id: "stream" },
      { name: columns.what, id: "what" },
      { name: columns.start, id: "start_s", text: time },
      { name: columns.duration, id: "duration_s", text: time },
      { name: columns.exposed, id: "exposed_s", text: time },
    ],
    rows: list,
  };
}
