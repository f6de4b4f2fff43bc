// How a step behaves as a cluster grows, or along any other swept key: throughput with the ideal
// that its smallest point promises, efficiency against that, exposed communication, memory.

import { lineChart } from "./line_chart.js";
import { fill } from "./dom.js";

/** The same series with y = value(point); what has no value has no point. */
function valued(series, value) {
  return series.map((one) => ({
    name: one.name,
    slot: one.slot,
    style: one.style ?? "curve",
    points: one.points.map((point) => ({ x: point.x, y: value(point, one) ?? null })),
  }));
}

/** The first point of a series that has a value, by x. */
function smallest(one, metric) {
  return one.points.find((point) => typeof point[metric] === "number");
}

/**
 * Tokens per second of the whole cluster. Where x counts GPUs, each curve has the ideal line that
 * its smallest point promises.
 * @param {{name, slot, points: {x, gpus, tokens_per_s, tokens_per_s_per_gpu, step_time_s, ...}[]}[]} series
 * @param {{name, slot, points: {x, tokens_per_s}[]}[]} measured points that stand beside the curves
 * @param words as of lineChart, with `ideal` ({series})
 * @param options as of lineChart; `metric`, `ideal: boolean`
 */
export function scalingCurves(container, { series, measured = [] }, words, options) {
  const { metric } = options;
  const curves = valued(series, (point) => point[metric]);
  const ideals = options.ideal
    ? series
        .filter((one) => smallest(one, metric) && one.points.length > 1)
        .map((one) => {
          const first = smallest(one, metric);
          return {
            name: fill(words.ideal, { series: one.name }),
            slot: one.slot,
            style: "ideal",
            of: one.name,
            points: one.points.map((point) => ({ x: point.x, y: (first[metric] * point.gpus) / first.gpus })),
          };
        })
    : [];
  const points = measured.map((one) => ({ ...one, style: "points", points: one.points.map((point) => ({ x: point.x, y: point[metric] })) }));
  return lineChart(container, { series: [...ideals, ...curves, ...points] }, words, options);
}

/** Throughput per GPU over that of each curve's smallest point; measured points likewise. */
export function efficiencyCurves(container, { series, measured = [] }, words, options) {
  const metric = "tokens_per_s_per_gpu";
  const relative = (point, one) => {
    const first = smallest(one, metric);
    return first && typeof point[metric] === "number" ? point[metric] / first[metric] : null;
  };
  const points = valued(measured.map((one) => ({ ...one, style: "points" })), relative);
  return lineChart(container, { series: [...valued(series, relative), ...points] }, words, options);
}

/** One metric as it is, e.g. the exposed share of the step or the memory used. */
export function metricCurves(container, { series }, words, options) {
  const limit = options.limit
    ? [{ name: words.limit, slot: 7, style: "ideal", points: series[0]?.points.map((point) => ({ x: point.x, y: options.limit(point) })) ?? [] }]
    : [];
  return lineChart(container, { series: [...limit, ...valued(series, (point) => point[options.metric])] }, words, options);
}
