// The points of a sweep, and the curves that a choice of keys makes of them.

const MOST_CURVES = 8;

/** [{values: {KEY: value}, failed, ...metrics}] from the columns of a sweep report. */
export function pointsOf(data) {
  return data.failed.map((failed, i) => {
    const point = { failed, values: {} };
    for (const key of data.keys) point.values[key.name] = key.values[i];
    for (const [name, column] of Object.entries(data.metrics)) point[name] = column[i];
    return point;
  });
}

/** Different values of a key in the order of the sweep, numbers sorted. */
export function valuesOf(points, key) {
  const values = [...new Set(points.map((point) => point.values[key]))];
  return values.every((value) => typeof value === "number") ? values.sort((a, b) => a - b) : values;
}

/** A number with or without a unit, as scenarios write them: {number, unit}, or null. */
function quantity(value) {
  if (typeof value === "number") return { number: value, unit: "" };
  const parts = typeof value === "string" ? /^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([A-Za-zµ%/]+)$/.exec(value) : null;
  return parts ? { number: Number(parts[1]), unit: parts[2] } : null;
}

/** The unit that all values of a key have ("" for plain numbers), or null if they are texts. */
export function unitOf(points, key) {
  const units = new Set(points.map((point) => quantity(point.values[key])?.unit ?? null));
  return units.size === 1 ? [...units][0] : null;
}

/** Whether along `key` the number of GPUs grows: then it is the axis, and ideals make sense. */
export function countsGpus(key) {
  return key === "cluster.nodes" || key === "cluster.gpus_per_node";
}

/** Which key to draw along, and which gives the curves, before anybody has chosen. */
export function defaultChoice(points, keys) {
  const counted = keys.map((key) => ({ key, values: valuesOf(points, key).length })).filter(({ values }) => values > 1);
  const rank = ({ key, values }) => (countsGpus(key) ? 1e6 : 0) + (unitOf(points, key) !== null ? 1e3 : 0) + values;
  const along = [...counted].sort((a, b) => rank(b) - rank(a))[0]?.key ?? keys[0];
  const others = counted.filter(({ key }) => key !== along);
  const fitting = others.filter(({ values }) => values <= MOST_CURVES).sort((a, b) => b.values - a.values);
  return { along, curves: (fitting[0] ?? others[0])?.key ?? null };
}

/**
 * Curves along a key for those points whose other keys have the chosen values.
 * @param {{along, curves: string | null, fixed: {KEY: value}}} choice
 * @returns {{series: {name, slot, points}[], left_out: number}} at most as many as can be told
 *   apart, spread over those there are
 */
export function curvesOf(points, choice, nameOf) {
  const matching = points.filter((point) => Object.entries(choice.fixed).every(([key, value]) => point.values[key] === value));
  const groups = new Map();
  for (const point of matching) {
    const group = choice.curves ? point.values[choice.curves] : "";
    groups.set(group, [...(groups.get(group) ?? []), point]);
  }
  const byGpus = countsGpus(choice.along);
  const numeric = unitOf(points, choice.along) !== null;
  const x = (point) => {
    if (byGpus) return point.gpus || null;
    return numeric ? quantity(point.values[choice.along]).number : point.values[choice.along];
  };
  const all = [...groups.entries()];
  const step = Math.max(1, (all.length - 1) / (MOST_CURVES - 1));
  const shown = all.length <= MOST_CURVES ? all : Array.from({ length: MOST_CURVES }, (_, i) => all[Math.round(i * step)]);
  const series = shown.map(([group, own], slot) => ({
    name: nameOf(group),
    slot,
    points: own
      .map((point) => ({ ...point, x: x(point) }))
      .filter((point) => point.x !== null && point.x !== undefined)
      .sort((a, b) => (typeof a.x === "number" ? a.x - b.x : 0)),
  }));
  return { series, left_out: all.length - shown.length };
}

/** "nodes 8, fsdp2": a point in brief, keys without their section. */
export function pointName(point) {
  const parts = Object.entries(point.values).map(([key, value]) => `${key.split(".").pop()} ${value}`);
  return parts.join(", ");
}
