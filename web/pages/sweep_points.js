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

/** Whether a key has numbers alone. */
export function isNumeric(points, key) {
  return points.every((point) => typeof point.values[key] === "number");
}

/** Whether along `key` the number of GPUs grows: then it is the axis, and ideals make sense. */
export function countsGpus(key) {
  return key === "cluster.nodes" || key === "cluster.gpus_per_node";
}

/** Which key to draw along, and which gives the curves, before anybody has chosen. */
export function defaultChoice(points, keys) {
  const counted = keys.map((key) => ({ key, values: valuesOf(points, key).length })).filter(({ values }) => values > 1);
  const rank = ({ key, values }) => (countsGpus(key) ? 1e6 : 0) + (isNumeric(points, key) ? 1e3 : 0) + values;
  const along = [...counted].sort((a, b) => rank(b) - rank(a))[0]?.key ?? keys[0];
  const others = counted.filter(({ key }) => key !== along);
  const fitting = others.filter(({ values }) => values <= MOST_CURVES).sort((a, b) => b.values - a.values);
  return { along, curves: (fitting[0] ?? others[0])?.key ?? null };
}

/**
 * Curves along a key for those points whose other keys have the chosen values.
 * @param {{along, curves: string | null, fixed: {KEY: value}}} choice
 * @returns {{name, slot, points}[]} at most as many as can be told apart
 */
export function curvesOf(points, choice, nameOf) {
  const matching = points.filter((point) => Object.entries(choice.fixed).every(([key, value]) => point.values[key] === value));
  const groups = new Map();
  for (const point of matching) {
    const group = choice.curves ? point.values[choice.curves] : "";
    groups.set(group, [...(groups.get(group) ?? []), point]);
  }
  const byGpus = countsGpus(choice.along);
  const x = (point) => (byGpus && point.gpus ? point.gpus : byGpus ? null : point.values[choice.along]);
  return [...groups.entries()].slice(0, MOST_CURVES).map(([group, own], slot) => ({
    name: nameOf(group),
    slot,
    points: own
      .map((point) => ({ ...point, x: x(point) }))
      .filter((point) => point.x !== null && point.x !== undefined)
      .sort((a, b) => (typeof a.x === "number" ? a.x - b.x : 0)),
  }));
}

/** "nodes 8, fsdp2": a point in brief, keys without their section. */
export function pointName(point) {
  const parts = Object.entries(point.values).map(([key, value]) => `${key.split(".").pop()} ${value}`);
  return parts.join(", ");
}
