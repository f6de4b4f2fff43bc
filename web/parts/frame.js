// What every chart stands in: a heading, a sentence that says what to see, the legend, the drawing,
// a line that speaks of the point under the pointer or the cursor keys, and the same data as a table.

import { freshId, h } from "./dom.js";
import { dataTable } from "./data_table.js";

/**
 * @param {HTMLElement} container
 * @param {{title: string, about?: string, table: string, hint?: string}} words
 *   `table` opens the table; `hint` says which keys do what
 * @param {{level?: number}} options heading level, 3 unless told
 * @returns {{figure, plot, legend, controls, say, setTable}}
 *   `plot` is where to draw; `say(text)` fills the spoken line; `setTable(make)` sets the function
 *   that makes {columns, rows} once the table is opened
 */
export function chartFrame(container, words, options = {}) {
  const title = h(`h${options.level ?? 3}`, { id: freshId("chart") }, words.title);
  const figure = h("figure", { class: "chart", "aria-labelledby": title.id });
  const controls = h("div", { class: "chart-controls" });
  const legend = h("ul", { class: "legend" });
  const plot = h("div", { class: "plot" });
  const hint = words.hint ? h("p", { class: "hint", id: freshId("hint") }, words.hint) : null;
  const readout = h("p", { class: "readout", "aria-live": "polite" });
  const details = h("details", { class: "chart-table" }, h("summary", {}, words.table));
  figure.append(h("div", { class: "chart-head" }, title, controls));
  if (words.about) figure.append(h("p", { class: "about" }, words.about));
  figure.append(legend, plot, readout);
  if (hint) figure.append(hint);
  container.append(figure);

  let makeTable = null;
  const showTable = () => {
    details.querySelector(".data-table")?.remove();
    if (!details.open || !makeTable) return;
    const place = h("div", { class: "data-table" });
    details.append(place);
    const { columns, rows, note } = makeTable();
    dataTable(place, { columns, rows, note }, { caption: words.title, ...words.tableWords });
  };
  details.addEventListener("toggle", showTable);
  return {
    figure,
    plot,
    legend,
    controls,
    titleId: title.id,
    hintId: hint?.id,
    say: (text) => {
      if (readout.textContent !== text) readout.textContent = text;
    },
    setTable: (make) => {
      if (!makeTable) figure.append(details);
      makeTable = make;
      if (details.open) showTable();
    },
  };
}

/** An entry of a legend: a mark (element or class of a swatch) and its text. */
export function legendEntry(mark, text) {
  const shown = typeof mark === "string" ? h("span", { class: `swatch ${mark}` }) : mark;
  shown.setAttribute("aria-hidden", "true");
  return h("li", {}, shown, text);
}
