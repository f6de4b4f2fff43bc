// Where the time of a step goes, largest part first: a bar a part.

import { h } from "./dom.js";
import { chartFrame } from "./frame.js";

const SHOWN = 10;

/** Which class of the timeline a part of the path belongs to, for its colour and pattern. */
function classOf(what) {
  if (/^(all_gather|reduce_scatter|all_reduce|broadcast|reduce|alltoall|sendrecv)\b/.test(what)) return "exposed";
  if (what === "waiting for the slowest rank") return "exposed";
  if (what === "CPU issuing work" || what === "launch latency") return "cpu";
  if (what === "sharding copies") return "copy";
  if (what.startsWith("optimizer")) return "optimizer";
  return "compute";
}

/**
 * @param data [{what, time_s, share}], largest first
 * @param words {title, about, table, tableWords, causes: {WHAT: text}, rest, columns: {what, time,
 *   share}, format}
 */
export function criticalPath(container, data, words, options = {}) {
  const frame = chartFrame(container, words, options);
  const { format } = words;
  const named = (what) => words.causes?.[what] ?? what;
  const shown = data.slice(0, SHOWN);
  const rest = data.slice(SHOWN).reduce((sum, part) => ({ time_s: sum.time_s + part.time_s, share: sum.share + part.share }), { time_s: 0, share: 0 });
  const most = Math.max(...data.map((part) => part.share), 1e-9);
  const list = h("ol", { class: "path" });
  const row = (text, part, of) => {
    const mark = h("span", { class: `path-bar swatch-${of}`, "aria-hidden": "true" });
    mark.style.width = `${Math.max(0.3, (part.share / most) * 100)}%`;
    list.append(
      h("li", {},
        h("span", { class: "path-what" }, text),
        h("span", { class: "path-track" }, mark),
        h("span", { class: "path-time" }, format.time(part.time_s)),
        h("span", { class: "path-share" }, format.percent(part.share))),
    );
  };
  for (const part of shown) row(named(part.what), part, classOf(part.what));
  if (rest.share > 0) row(words.rest, rest, "cpu");
  frame.plot.append(list);
  frame.setTable(() => ({
    columns: [
      { name: words.columns.what, id: "what" },
      { name: words.columns.time, id: "time_s", text: format.time },
      { name: words.columns.share, id: "share", text: format.percent },
    ],
    rows: data.map((part) => [named(part.what), part.time_s, part.share]),
  }));
}
