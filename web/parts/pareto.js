// Which points no other point beats: at least as good in every goal and better in one.

/**
 * Indices of the points that are on the front, in the order of the first goal.
 * @param points [{[metric]: number}]
 * @param goals [{metric, better: "higher" | "lower"}]
 */
export function paretoFront(points, goals) {
  const score = (point) => goals.map((goal) => (goal.better === "higher" ? point[goal.metric] : -point[goal.metric]));
  const complete = points.map((point, index) => ({ index, values: score(point) })).filter(({ values }) => values.every(Number.isFinite));
  complete.sort((a, b) => {
    const i = a.values.findIndex((value, k) => value !== b.values[k]);
    return i < 0 ? a.index - b.index : b.values[i] - a.values[i];
  });
  const front = [];
  for (const one of complete) {
    const beaten = front.some((other) => other.values.every((value, k) => value >= one.values[k]) && other.values.some((value, k) => value > one.values[k]));
    if (!beaten) front.push(one);
  }
  return front.map(({ index }) => index);
}
