// Small blocks that several views of the quiz share.

import { h } from "../parts/dom.js";

export const letterOf = (index) => String.fromCharCode(97 + index);

/** A phrase with {link} as nodes: its text around a link to `url`. */
export function linked(words, key, url) {
  const [before, after] = words.say(key).split("{link}");
  return [before, h("a", { href: url, rel: "noopener noreferrer" }, url.replace(/^https:\/\//, "")), after ?? ""];
}

/** Text to copy under a name of its own, with a button where the browser can. */
export function commandBlock(text, words, name) {
  const pre = h("pre", { tabindex: 0, role: "region", "aria-label": name }, text);
  const block = h("div", { class: "copy-block" }, pre);
  if (navigator.clipboard) {
    const status = h("span", { class: "status", role: "status" });
    const copy = h("button", { type: "button" }, words.say("copy_text"));
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        status.textContent = words.say("copied");
      } catch {
        getSelection().selectAllChildren(pre);
      }
    });
    block.append(h("p", { class: "copy-line" }, copy, status));
  }
  return block;
}

/** A plain table: heads, and rows whose first cell names the row. */
export function plainTable(caption, heads, rows, attributes = {}) {
  const cell = (value, i) => (i === 0 ? h("th", { scope: "row" }, value) : h("td", {}, value));
  return h(
    "div",
    { class: "table-scroll", role: "region", "aria-label": caption, tabindex: 0 },
    h(
      "table",
      attributes,
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell)))),
    ),
  );
}
