// The cluster as boxes and cables; a cable is the thicker and the darker the more of its bandwidth
// was used over the step.

import { fill, freshId, h, s } from "./dom.js";
import { chartFrame, legendEntry } from "./frame.js";
import { layOut } from "./topology_layout.js";

/** Upper ends of the steps of use: share of the bandwidth over the whole step. */
const STEPS = [0, 0.05, 0.15, 0.3, 0.5, 1.01];

function stepOf(share) {
  return share <= 0 ? 0 : STEPS.findIndex((end) => share < end);
}

/**
 * @param data as `topology` of a run report: {devices, cables, nodes, nodes_shown, ...}
 * @param words {title, about, hint, table, tableWords, devices: {gpu, nic, ...}, node (with {node}),
 *   more (with {shown}, {nodes}), moreSwitches, cable (with {from}, {to}, {mean}, {busy}, {peak},
 *   {bytes}, {bandwidth}), unused, upTo (with {share}), columns, kinds, format}
 */
export function topologyPicture(container, data, words, options = {}) {
  const frame = chartFrame(container, words, options);
  const { format } = words;
  const { places, boxes, width, height } = layOut(data.devices);
  const heavier = (cable) => (cable.back && cable.back.mean > cable.there.mean ? cable.back : cable.there);

  const whole = (share) => `${format.number(Math.round(share * 100))} %`;
  STEPS.forEach((end, i) => {
    const text = i === 0 ? words.unused : fill(words.upTo, { from: whole(STEPS[i - 1]), to: whole(Math.min(1, end)) });
    const mark = s("svg", { width: 28, height: 14, class: "line-mark" }, s("line", { class: `cable use-${i}`, x1: 1, x2: 27, y1: 7, y2: 7 }));
    frame.legend.append(legendEntry(mark, text));
  });

  const label = freshId("topology");
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": label });
  svg.append(s("title", { id: label }, fill(words.picture, { nodes: data.nodes_shown, devices: data.devices.length, cables: data.cables.length })));
  for (const box of boxes) {
    svg.append(s("rect", { class: "node-box", x: box.x, y: box.y, width: box.width, height: box.height, rx: 6 }));
  }
  const order = [...data.cables].sort((a, b) => heavier(a).mean - heavier(b).mean);
  const lines = s("g");
  for (const cable of order) {
    const from = places.get(data.devices[cable.from]);
    const to = places.get(data.devices[cable.to]);
    if (!from || !to) continue;
    const line = s("path", { class: `cable use-${stepOf(heavier(cable).mean)}`, d: cablePath(from, to) });
    line.addEventListener("pointerenter", () => frame.say(describe(cable)));
    lines.append(line);
  }
  svg.append(lines);
  for (const box of boxes) {
    svg.append(s("text", { class: "node-name", x: box.x + 8, y: box.y + 16 }, fill(words.node, { node: box.node })));
  }
  for (const device of data.devices) {
    const at = places.get(device);
    if (!at) continue;
    svg.append(
      s("rect", { class: `device device-${device.kind}`, x: at.x, y: at.y, width: at.width, height: at.height, rx: 3 }),
      s("text", { class: "device-name", x: at.x + at.width / 2, y: at.y + at.height / 2 + 4, "text-anchor": "middle" }, shortName(device)),
    );
  }
  frame.plot.append(h("div", { class: "wide-scroll", tabindex: 0, role: "group", "aria-labelledby": frame.titleId }, svg));
  const notes = [];
  if (data.nodes_shown < data.nodes) notes.push(fill(words.more, { shown: format.grouped(data.nodes_shown), nodes: format.grouped(data.nodes) }));
  if (data.switches_shown < data.switches) notes.push(fill(words.moreSwitches, { shown: format.grouped(data.switches_shown), switches: format.grouped(data.switches) }));
  if (notes.length > 0) frame.figure.insertBefore(h("p", { class: "hint" }, notes.join(" ")), frame.plot.nextSibling);

  function shortName(device) {
    const word = device.kind === "network_switch" ? words.tiers[Math.min(device.tier, words.tiers.length - 1)] : words.devices[device.kind];
    return device.kind === "nvswitch" ? word : `${word} ${device.index}`;
  }

  function describe(cable) {
    const use = heavier(cable);
    return fill(words.cable, {
      from: data.devices[cable.from].name,
      to: data.devices[cable.to].name,
      mean: format.percent(use.mean),
      busy: format.percent(use.busy),
      peak: format.percent(use.peak),
      bytes: format.bytes(use.bytes),
      bandwidth: `${format.number(cable.gbytes_per_s)} GB/s`,
    });
  }

  frame.setTable(() => {
    const { columns } = words;
    const rows = [];
    const add = (from, to, cable, use) => {
      if (use) rows.push([`${data.devices[from].name} → ${data.devices[to].name}`, words.kinds[cable.kind], cable.gbytes_per_s, use.bytes, use.mean, use.busy, use.peak]);
    };
    for (const cable of data.cables) {
      add(cable.from, cable.to, cable, cable.there);
      add(cable.to, cable.from, cable, cable.back);
    }
    rows.sort((a, b) => b[4] - a[4]);
    return {
      columns: [
        { name: columns.link, id: "link" },
        { name: columns.kind, id: "kind" },
        { name: columns.bandwidth, id: "gbytes_per_s", text: (value) => `${format.number(value)} GB/s` },
        { name: columns.bytes, id: "bytes", text: format.bytes },
        { name: columns.mean, id: "mean_share", text: format.percent },
        { name: columns.busy, id: "busy_fraction", text: format.percent },
        { name: columns.peak, id: "peak_share", text: format.percent },
      ],
      rows,
    };
  });
}

/** From the nearer edges of two devices: straight between rows, an arc within one. */
function cablePath(from, to) {
  const centre = (at) => at.x + at.width / 2;
  if (Math.abs(from.y + from.height / 2 - to.y - to.height / 2) < 4) {
    const [a, b] = [centre(from), centre(to)];
    const y = from.y;
    return `M${a},${y} Q${(a + b) / 2},${y - 10 - Math.abs(b - a) / 9} ${b},${y}`;
  }
  const [upper, lower] = from.y < to.y ? [from, to] : [to, from];
  const [x1, y1, x2, y2] = [centre(upper), upper.y + upper.height, centre(lower), lower.y];
  const bend = (y2 - y1) * 0.4;
  return `M${x1},${y1} C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`;
}
