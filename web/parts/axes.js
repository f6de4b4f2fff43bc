// Axes and grid lines of an SVG drawing.

import { s } from "./dom.js";

/**
 * A horizontal axis at the bottom of `area` ({left, right, top, bottom}).
 * @param ticks [{at: pixel, text}]
 */
export function bottomAxis(area, ticks, label) {
  const group = s("g", { class: "axis" });
  group.append(s("line", { x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }));
  for (const tick of ticks) {
    group.append(
      s("line", { x1: tick.at, x2: tick.at, y1: area.bottom, y2: area.bottom + 4 }),
      s("text", { x: tick.at, y: area.bottom + 17, "text-anchor": "middle" }, tick.text),
    );
  }
  if (label) {
    const x = (area.left + area.right) / 2;
    group.append(
      s("text", { x, y: area.bottom + 36, "text-anchor": "middle", class: "axis-label" }, label),
    );
  }
  return group;
}

/** A vertical axis at the left of `area` with grid lines across it; its label lies above it. */
export function leftAxis(area, ticks, label) {
  const group = s("g", { class: "axis" });
  for (const tick of ticks) {
    group.append(
      s("line", { class: "grid", x1: area.left, x2: area.right, y1: tick.at, y2: tick.at }),
      s("text", { x: area.left - 7, y: tick.at + 4, "text-anchor": "end" }, tick.text),
    );
  }
  if (label) {
    group.append(s("text", { x: 0, y: area.top - 10, class: "axis-label" }, label));
  }
  return group;
}

/** Every n-th of `ticks`, with the smallest n at which they fit, each at least `width` pixels wide. */
export function thinTicks(ticks, width) {
  const room = (tick) => Math.max(width, tick.text.length * 7 + 8) / 2;
  const fit = (kept) => kept.every((tick, i) => i === 0 || Math.abs(tick.at - kept[i - 1].at) >= room(tick) + room(kept[i - 1]));
  for (let every = 1; every < ticks.length; every += 1) {
    const kept = ticks.filter((tick, i) => i % every === 0);
    if (fit(kept)) return kept;
  }
  return ticks.slice(0, 1);
}

/** Powers of two between `low` and `high`, both kept. */
export function powersOfTwo(low, high) {
  const powers = [];
  for (let power = Math.ceil(Math.log2(low) - 1e-9); power <= Math.log2(high) + 1e-9; power += 1) {
    powers.push(2 ** power);
  }
  return powers;
}

/** 1, 2 and 5 times powers of ten, or the powers alone where there are many. */
export function logTicks([low, high]) {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    for (const step of steps) {
      const value = step * 10 ** power;
      if (value >= low && value <= high) ticks.push(value);
    }
  }
  return ticks;
}
