// Curves over a swept quantity. Series differ in the shape of their points and in their dashes as
// well as in colour; each can be hidden from the legend.

import { scaleLinear, scaleLog, scalePoint } from "d3-scale";
import { line, symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTriangle, symbolWye } from "d3-shape";
import { bottomAxis, leftAxis, logTicks, powersOfTwo, thinTicks } from "./axes.js";
import { drawToWidth, fill, h, s } from "./dom.js";
import { chartFrame } from "./frame.js";

const HEIGHT = 300;
const SYMBOLS = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolStar, symbolWye, symbolCircle];
const COLOURS = 8;
/** Of a long curve only some points have a mark. */
const MOST_MARKS = 40;

/** The mark of a series in legends and drawings. */
export function seriesMark(series, size = 44) {
  return symbol(SYMBOLS[series.slot % SYMBOLS.length], size)();
}

/**
 * @param container
 * @param {{series: {name, slot, style: "curve" | "ideal" | "points", points: {x, y}[]}[]}} data
 *   `slot` (0..7) gives colour and shape; y may be null: there is no such point. An ideal has no
 *   entry in the legend: with `of` it goes with that series
 * @param words {title, about, table, tableWords, readout (with {series}, {x}, {y}), hint, empty}
 * @param {{x: {label, kind: "number" | "text", text, log?}, y: {label, text, tick, log?, low?, per?},
 *   hintId?, level?}} options `low(least)` is where the vertical axis begins, 0 unless told; `per`
 *   is the unit in which its ticks are round; `hintId` names a hint that several charts share
 */
export function lineChart(container, data, words, options) {
  const frame = chartFrame(container, words, options);
  const hidden = new Set();
  let width = 0;
  let current = 0;
  const surface = h("div", {
    class: "line-chart",
    tabindex: 0,
    role: "application",
    "aria-labelledby": frame.titleId,
    "aria-describedby": frame.hintId ?? options.hintId,
  });
  frame.plot.append(surface);
  const drawn = () => data.series.filter((series) => !hidden.has(series.of ?? series.name));
  const points = () =>
    drawn()
      .filter((series) => series.style !== "ideal")
      .flatMap((series) => series.points.filter((point) => point.y !== null).map((point) => ({ ...point, series })));

  function scales(box) {
    const all = drawn().flatMap((series) => series.points).filter((point) => point.y !== null);
    const xs = data.series.flatMap((series) => series.points.map((point) => point.x));
    const ys = all.map((point) => point.y);
    let x;
    if (options.x.kind === "text") {
      x = scalePoint([...new Set(xs)], [box.left, box.right]).padding(0.5);
    } else {
      const sorted = [...new Set(xs)].sort((a, b) => a - b);
      const [low, high] = [sorted[0], sorted[sorted.length - 1]];
      const grows = sorted.length > 1 && high / sorted[sorted.length - 2] > 1.3;
      const log = options.x.log && grows && low > 0 && high / low > 4;
      x = (log ? scaleLog() : scaleLinear()).domain(low === high ? [low * 0.9, high * 1.1 || 1] : [low, high]).range([box.left + 10, box.right - 14]);
      x.isLog = log;
    }
    const per = options.y.per ?? 1;
    const most = Math.max(...ys, 0) / per;
    const least = Math.min(...ys) / per;
    const log = options.y.log && least > 0 && most / least > 8;
    const height = log
      ? scaleLog([least * 0.85, most * 1.15], [box.bottom, box.top])
      : scaleLinear([options.y.low?.(least) ?? 0, most * 1.04 || 1], [box.bottom, box.top]);
    const y = (value) => height(value / per);
    y.ticks = () => (log ? logTicks(height.domain()) : height.ticks(5)).map((tick) => tick * per);
    return { x, y };
  }

  function xTicks(x, box) {
    const make = (value) => ({ at: x(value), text: options.x.text(value) });
    if (options.x.kind === "text") return x.domain().map(make);
    const room = Math.max(2, Math.floor((box.right - box.left) / 60));
    const own = [...new Set(data.series.filter((series) => series.style !== "points").flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
    if (own.length <= 14) return own.map(make);
    return (x.isLog ? powersOfTwo(...x.domain()) : x.ticks(room)).map(make);
  }

  function yTicks(y) {
    return y.ticks().map((value) => ({ at: y(value), text: (options.y.tick ?? options.y.text)(value) }));
  }

  function draw() {
    const box = { left: 58, right: width - 6, top: 26, bottom: HEIGHT - 46 };
    const svg = s("svg", { width, height: HEIGHT, "aria-hidden": "true" });
    if (points().length === 0) {
      surface.replaceChildren(h("p", { class: "hint" }, words.empty));
      return;
    }
    const { x, y } = scales(box);
    svg.append(
      leftAxis(box, yTicks(y), options.y.label),
      bottomAxis(box, thinTicks(xTicks(x, box), options.x.kind === "text" ? 70 : 38), options.x.label),
    );
    const path = line().defined((point) => point.y !== null).x((point) => x(point.x)).y((point) => y(point.y));
    for (const series of drawn()) {
      const colour = `series-${series.slot % COLOURS}`;
      if (series.style !== "points") {
        svg.append(s("path", { class: `curve ${series.style} ${colour} dash-${series.slot % 4}`, d: path(series.points) ?? "" }));
      }
      if (series.style === "ideal") continue;
      const every = Math.ceil(series.points.length / MOST_MARKS);
      for (const [i, point] of series.points.entries()) {
        if (point.y === null || i % every > 0) continue;
        svg.append(s("path", { class: `mark ${series.style} ${colour}`, d: seriesMark(series), transform: `translate(${x(point.x)},${y(point.y)})` }));
      }
    }
    const list = points();
    const one = list[current];
    if (one && surface.contains(document.activeElement)) {
      svg.append(s("circle", { class: "cursor", cx: x(one.x), cy: y(one.y), r: 9 }));
    }
    surface.replaceChildren(svg);
    surface.places = list.map((point) => [x(point.x), y(point.y)]);
  }

  function say(i) {
    const list = points();
    if (list.length === 0) return;
    current = (i + list.length) % list.length;
    const point = list[current];
    frame.say(fill(words.readout, { series: point.series.name, x: options.x.text(point.x), y: options.y.text(point.y) }));
    draw();
  }

  surface.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    say(current + by);
  });
  surface.addEventListener("focus", () => say(current));
  surface.addEventListener("blur", draw);
  surface.addEventListener("pointermove", (event) => {
    const box = surface.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let nearest = 40;
    (surface.places ?? []).forEach(([x, y], i) => {
      const distance = Math.hypot(x - px, y - py);
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    if (best >= 0 && best !== current) say(best);
  });

  for (const series of data.series) {
    if (series.style === "ideal" && series.of) continue;
    const mark = s("svg", { width: 30, height: 14, class: "line-mark", "aria-hidden": "true" });
    const colour = `series-${series.slot % COLOURS}`;
    if (series.style !== "points") mark.append(s("line", { class: `curve ${series.style} ${colour} dash-${series.slot % 4}`, x1: 1, x2: 29, y1: 7, y2: 7 }));
    if (series.style !== "ideal") mark.append(s("path", { class: `mark ${series.style} ${colour}`, d: seriesMark(series), transform: "translate(15,7)" }));
    const toggle = h("button", { type: "button", "aria-pressed": "true", class: "legend-toggle" }, mark, series.name);
    toggle.addEventListener("click", () => {
      if (hidden.has(series.name)) hidden.delete(series.name);
      else hidden.add(series.name);
      toggle.setAttribute("aria-pressed", String(!hidden.has(series.name)));
      draw();
    });
    frame.legend.append(h("li", {}, toggle));
  }
  drawToWidth(frame.plot, (now) => {
    width = now;
    draw();
  });
  frame.setTable(() => ({
    columns: [
      { name: words.columns.series, id: "series" },
      { name: options.x.label, id: "x", text: options.x.text },
      { name: options.y.label, id: "y", text: options.y.text },
    ],
    rows: data.series.flatMap((series) => series.points.map((point) => [series.name, point.x, point.y])),
  }));
  return frame;
}
