// Blocks that several pages have: figures in large type, sections, text to copy.

import { h } from "../parts/dom.js";

/** The document that the build put into the page. */
export function pageData() {
  return JSON.parse(document.getElementById("data").textContent);
}

/** [{name, value, note}] in large type. */
export function keyFigures(figures) {
  return h(
    "dl",
    { class: "figures" },
    ...figures.map(({ name, value, note }) =>
      h("div", {}, h("dt", {}, name), h("dd", { class: "value" }, value), note ? h("dd", { class: "note" }, note) : null),
    ),
  );
}

/** A section with its heading, appended to `main`. */
export function section(main, title, ...children) {
  const made = h("section", {}, h("h2", {}, title), ...children);
  main.append(made);
  return made;
}

/** Preformatted text under a heading, with a button that copies it where the browser can. */
export function copyBlock(title, text, words) {
  const heading = h("h3", {}, title);
  const head = h("div", { class: "chart-head" }, heading);
  const status = h("span", { class: "status", role: "status" });
  if (navigator.clipboard) {
    const copy = h("button", { type: "button" }, words.copy);
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      status.textContent = words.copied;
    });
    head.append(h("div", { class: "chart-controls" }, status, copy));
  }
  return h("div", { class: "copy-block" }, head, h("pre", { tabindex: 0, role: "region", "aria-label": title }, text));
}
