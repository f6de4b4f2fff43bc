// Memory of one or more GPUs at the peak, by what it is for, against what the GPU has.

import { drawToWidth, fill, h, s } from "./dom.js";
import { chartFrame, legendEntry } from "./frame.js";

const BAR = 30;

/**
 * @param data [{name, capacity_bytes, parts: [{kind, bytes}], used_bytes?}], a bar each; parts from the left.
 *   `used_bytes` is what the text says where the parts are not all held at once
 * @param words {title, about, table, tableWords, kinds: {NAME: text}, free, capacity, used (with
 *   {used}, {capacity}, {share}), columns: {gpu, part, bytes, share}, format}
 */
export function memoryBars(container, data, words, options = {}) {
  const frame = chartFrame(container, words, options);
  const { format } = words;
  const present = new Set(data.flatMap((gpu) => gpu.parts.filter((part) => part.bytes > 0).map((part) => part.kind)));
  const used = (gpu) => gpu.parts.reduce((sum, part) => sum + part.bytes, 0);
  const most = Math.max(...data.map((gpu) => Math.max(used(gpu), gpu.capacity_bytes)));
  for (const kind of present) {
    const text = data.length === 1 ? `${words.kinds[kind]} ${format.bytes(data[0].parts.find((part) => part.kind === kind).bytes)}` : words.kinds[kind];
    frame.legend.append(legendEntry(`kind-${kind}`, text));
  }
  drawToWidth(frame.plot, (width) => {
    const list = h("div", { class: "memory-bars" });
    for (const gpu of data) list.append(bar(gpu, width));
    frame.plot.replaceChildren(list);
  });
  frame.setTable(() => ({
    columns: [
      { name: words.columns.gpu, id: "gpu" },
      { name: words.columns.part, id: "part" },
      { name: words.columns.bytes, id: "bytes", text: format.bytes },
      { name: words.columns.share, id: "share_of_capacity", text: format.percent },
    ],
    rows: data.flatMap((gpu) => [
      ...gpu.parts.map((part) => [gpu.name, words.kinds[part.kind], part.bytes, part.bytes / gpu.capacity_bytes]),
      ...(gpu.used_bytes === undefined ? [[gpu.name, words.free, gpu.capacity_bytes - used(gpu), 1 - used(gpu) / gpu.capacity_bytes]] : []),
    ]),
  }));

  function bar(gpu, width) {
    const x = (bytes) => (bytes / most) * (width - 2) + 1;
    const total = gpu.used_bytes ?? used(gpu);
    const over = total > gpu.capacity_bytes;
    const svg = s("svg", { width, height: BAR + 8, "aria-hidden": "true" });
    svg.append(s("rect", { class: "capacity", x: 1, y: 4, width: x(gpu.capacity_bytes) - 1, height: BAR }));
    let from = 0;
    for (const part of gpu.parts) {
      svg.append(s("rect", { class: `area kind-${part.kind}`, x: x(from), y: 4, width: x(from + part.bytes) - x(from), height: BAR }));
      from += part.bytes;
    }
    svg.append(s("line", { class: "limit", x1: x(gpu.capacity_bytes), x2: x(gpu.capacity_bytes), y1: 0, y2: BAR + 8 }));
    const text = fill(words.used, {
      used: format.bytes(total),
      capacity: format.bytes(gpu.capacity_bytes),
      share: format.percent(total / gpu.capacity_bytes),
    });
    return h("div", { class: "memory-bar" }, h("p", { class: over ? "over" : null }, h("b", {}, gpu.name), ` ${text}`), svg);
  }
}
