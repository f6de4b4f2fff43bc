// One number of several runs, side by side: a bar each, with the number written beside it.

import { h } from "../parts/dom.js";
import { chartFrame } from "../parts/frame.js";

/**
 * @param rows [{name, quantity: {value, unit}, class?}]
 * @param words {title, table, tableWords, write: quantity -> text, columns: {run, value}}
 */
export function factBars(container, rows, words, options = {}) {
  const frame = chartFrame(container, words, options);
  const most = Math.max(...rows.map((row) => row.quantity.value), Number.MIN_VALUE);
  const list = h("ul", { class: "fact-bars" });
  for (const row of rows) {
    const bar = h("span", { class: `fact-bar ${row.class ?? ""}`, "aria-hidden": "true" });
    bar.style.inlineSize = `${(100 * row.quantity.value) / most}%`;
    list.append(
      h("li", {}, h("span", { class: "fact-name" }, row.name), h("span", { class: "fact-track", "aria-hidden": "true" }, bar), h("span", { class: "fact-value" }, words.write(row.quantity))),
    );
  }
  frame.plot.append(list);
  frame.setTable(() => ({
    columns: [
      { name: words.columns.run, id: "run" },
      { name: words.columns.value, id: "value", text: (value) => words.write({ value, unit: rows[0].quantity.unit }) },
    ],
    rows: rows.map((row) => [row.name, row.quantity.value]),
  }));
}
