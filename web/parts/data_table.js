// A table whose columns can be sorted and that can be saved as CSV. Long tables come in pages.

import { fill, freshId, h } from "./dom.js";

const PAGE = 100;

/** Numbers before texts before nothing; both ways of sorting leave nothing at the end. */
function compare(a, b, direction) {
  const empty = (value) => value === null || value === undefined || value === "";
  if (empty(a) || empty(b)) return empty(a) - empty(b);
  if (typeof a === "number" && typeof b === "number") return (a - b) * direction;
  return String(a).localeCompare(String(b), undefined, { numeric: true }) * direction;
}

/** A field of a CSV file. A text that a spreadsheet would run as a formula gets an apostrophe. */
function csvField(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Columns and rows as CSV (RFC 4180). */
export function toCsv(columns, rows) {
  const lines = [columns.map((column) => csvField(column.id ?? column.name))];
  for (const row of rows) lines.push(columns.map((column, i) => csvField(row[i])));
  return lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
}

function save(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/**
 * @param {HTMLElement} container
 * @param {{columns: {name: string, id?: string, text?: (value) => string}[], rows: any[][],
 *   note?: string}} data `text` writes a number; columns of numbers stand to the right
 * @param {{caption, save, file, previous, next, page}} words `page` with {from}, {to}, {of};
 *   without `save` nothing can be saved
 * @param {{sort?: number, direction?: 1 | -1}} options column to sort by at first
 */
export function dataTable(container, data, words, options = {}) {
  const { columns } = data;
  let rows = data.rows;
  let sorted = options.sort ?? -1;
  let direction = options.direction ?? 1;
  let first = 0;

  const isNumber = columns.map((column, i) => rows.some((row) => typeof row[i] === "number"));
  const body = h("tbody");
  const arrows = columns.map(() => h("span", { class: "sort-arrow", "aria-hidden": "true" }));
  const heads = columns.map((column, i) =>
    h(
      "th",
      { scope: "col", class: isNumber[i] ? "number" : null },
      h("button", { type: "button", onclick: () => sortBy(i) }, column.name, arrows[i]),
    ),
  );
  const caption = h("caption", { id: freshId("caption") }, words.caption);
  const table = h("table", {}, caption, h("thead", {}, h("tr", {}, ...heads)), body);
  const scroll = h(
    "div",
    { class: "table-scroll", role: "region", "aria-labelledby": caption.id, tabindex: 0 },
    table,
  );
  const place = h("span", { "aria-live": "polite" });
  const previous = h("button", { type: "button", onclick: () => turn(-PAGE) }, words.previous ?? "‹");
  const next = h("button", { type: "button", onclick: () => turn(PAGE) }, words.next ?? "›");
  const pager = h("div", { class: "pager" }, previous, place, next);
  const saver = words.save
    ? h("button", { type: "button", onclick: () => save(toCsv(columns, rows), words.file) }, words.save)
    : null;
  if (data.note) container.append(h("p", { class: "hint" }, data.note));
  container.append(scroll, h("div", { class: "table-foot" }, pager, saver));

  function sortBy(column) {
    direction = sorted === column ? -direction : 1;
    sorted = column;
    first = 0;
    show();
  }

  function turn(by) {
    first = Math.max(0, Math.min(first + by, Math.floor((rows.length - 1) / PAGE) * PAGE));
    show();
  }

  function cell(value, i) {
    const text = value === null || value === undefined ? "–" : null;
    const shown = text ?? (columns[i].text && typeof value === "number" ? columns[i].text(value) : String(value));
    return i === 0
      ? h("th", { scope: "row", class: isNumber[i] ? "number" : null }, shown)
      : h("td", { class: isNumber[i] ? "number" : null }, shown);
  }

  function show() {
    if (sorted >= 0) {
      rows = [...data.rows].sort((a, b) => compare(a[sorted], b[sorted], direction));
    }
    heads.forEach((head, i) => {
      if (i === sorted) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
      arrows[i].textContent = i === sorted ? (direction > 0 ? "▲" : "▼") : "";
    });
    const shown = rows.slice(first, first + PAGE);
    body.replaceChildren(...shown.map((row) => h("tr", {}, ...row.map(cell))));
    pager.hidden = rows.length <= PAGE;
    previous.disabled = first === 0;
    next.disabled = first + PAGE >= rows.length;
    place.textContent = fill(words.page ?? "{from}–{to} / {of}", {
      from: first + 1,
      to: Math.min(first + PAGE, rows.length),
      of: rows.length,
    });
  }

  show();
  return { replace: (newRows) => { data.rows = newRows; rows = newRows; first = 0; show(); } };
}
