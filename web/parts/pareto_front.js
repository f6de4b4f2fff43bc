// Points and those of them that no other beats: the front. Two goals are the axes.

import { scaleLinear, scaleLog } from "d3-scale";
import { bottomAxis, leftAxis, logTicks, powersOfTwo, thinTicks } from "./axes.js";
import { drawToWidth, fill, h, s } from "./dom.js";
import { chartFrame, legendEntry } from "./frame.js";
import { paretoFront } from "./pareto.js";

const HEIGHT = 320;

/** From values to pixels, with the axis's ticks; `logarithmic` makes those of a logarithmic one. */
function scaleOf(values, axis, range) {
  const per = axis.per ?? 1;
  const most = Math.max(...values) / per;
  const least = Math.min(...values) / per;
  const log = axis.log && least > 0 && most / least > 8;
  const scale = log ? scaleLog([least * 0.8, most * 1.25], range) : scaleLinear([0, most * 1.06 || 1], range);
  const place = (value) => scale(value / per);
  const text = axis.tick ?? axis.text;
  place.ticks = (logarithmic) =>
    (log ? logarithmic(scale.domain()) : scale.ticks(5)).map((tick) => ({ at: scale(tick), text: text(tick * per) }));
  return place;
}

/**
 * @param data {points: [{name, ...metrics}], goals: [{metric, better}]}; the first goal is the
 *   vertical axis, the second the horizontal one, others only decide what is on the front
 * @param words {title, about, hint, table, tableWords, onFront, offFront, readout (with {name},
 *   {x}, {y}), columns: {name}, empty}
 * @param {{x: {label, text, tick, log?, per?}, y: {label, text, tick, log?, per?}, hintId?}} options
 *   `log` for quantities that span much; `per` is the unit in which ticks are round
 */
export function paretoChart(container, data, words, options) {
  const frame = chartFrame(container, words, options);
  const [vertical, horizontal] = data.goals.map((goal) => goal.metric);
  const front = paretoFront(data.points, data.goals);
  const onFront = new Set(front);
  const shown = data.points.map((point, index) => ({ point, index })).filter(({ point }) => Number.isFinite(point[vertical]) && Number.isFinite(point[horizontal]));
  frame.legend.append(legendEntry("swatch-front", words.onFront), legendEntry("swatch-off-front", words.offFront));
  const surface = h("div", { class: "line-chart", tabindex: 0, role: "application", "aria-labelledby": frame.titleId, "aria-describedby": frame.hintId ?? options.hintId });
  frame.plot.append(surface);
  let width = 0;
  let current = 0;
  let places = [];

  function draw() {
    if (shown.length === 0) return surface.replaceChildren(h("p", { class: "hint" }, words.empty));
    const box = { left: 58, right: width - 10, top: 26, bottom: HEIGHT - 46 };
    const x = scaleOf(shown.map(({ point }) => point[horizontal]), options.x, [box.left, box.right]);
    const y = scaleOf(shown.map(({ point }) => point[vertical]), options.y, [box.bottom, box.top]);
    const svg = s("svg", { width, height: HEIGHT, "aria-hidden": "true" });
    svg.append(
      leftAxis(box, y.ticks(logTicks), options.y.label),
      bottomAxis(box, thinTicks(x.ticks((domain) => powersOfTwo(...domain)), 48), options.x.label),
    );
    const mark = ({ point, index }) => {
      const on = onFront.has(index);
      return s("circle", { class: on ? "pareto on" : "pareto off", cx: x(point[horizontal]), cy: y(point[vertical]), r: on ? 6 : 4 });
    };
    const rest = shown.filter(({ index }) => !onFront.has(index));
    const best = shown.filter(({ index }) => onFront.has(index));
    svg.append(...rest.map(mark));
    if (data.goals.length === 2) {
      const steps = [...best].sort((a, b) => a.point[horizontal] - b.point[horizontal]);
      const path = steps.map(({ point }, i) => (i === 0 ? "M" : `H${x(point[horizontal])}V`) + (i === 0 ? `${x(point[horizontal])},` : "") + y(point[vertical])).join("");
      svg.append(s("path", { class: "front-line", d: path }));
    }
    svg.append(...best.map(mark));
    places = shown.map(({ point }) => [x(point[horizontal]), y(point[vertical])]);
    if (surface.contains(document.activeElement)) svg.append(s("circle", { class: "cursor", cx: places[current][0], cy: places[current][1], r: 10 }));
    surface.replaceChildren(svg);
  }

  function say(i) {
    if (shown.length === 0) return;
    current = (i + shown.length) % shown.length;
    const { point, index } = shown[current];
    const text = fill(words.readout, { name: point.name, x: options.x.text(point[horizontal]), y: options.y.text(point[vertical]) });
    frame.say(onFront.has(index) ? `${text} ${words.onFront}.` : text);
    draw();
  }

  /** The next place on the front from here. */
  function alongFront(by) {
    const positions = front.map((index) => shown.findIndex((one) => one.index === index));
    const at = positions.indexOf(current);
    say(positions[(at + by + positions.length) % positions.length] ?? 0);
  }

  surface.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    alongFront(by);
  });
  surface.addEventListener("focus", () => say(front.length > 0 ? shown.findIndex((one) => one.index === front[0]) : 0));
  surface.addEventListener("blur", draw);
  surface.addEventListener("pointermove", (event) => {
    const box = surface.getBoundingClientRect();
    let best = -1;
    let nearest = 30;
    places.forEach(([x, y], i) => {
      const distance = Math.hypot(x - event.clientX + box.left, y - event.clientY + box.top);
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    if (best >= 0 && best !== current) say(best);
  });
  drawToWidth(frame.plot, (now) => {
    width = now;
    draw();
  });
  frame.setTable(() => ({
    columns: [
      { name: words.columns.name, id: "point" },
      { name: options.y.label, id: vertical, text: options.y.text },
      { name: options.x.label, id: horizontal, text: options.x.text },
    ],
    rows: front.map((index) => [data.points[index].name, data.points[index][vertical], data.points[index][horizontal]]),
  }));
}
