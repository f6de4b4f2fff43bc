// The end: score, how well the learner knew what they know, what to look at again.

import { h } from "../parts/dom.js";
import { plainTable } from "./blocks.js";
import { score } from "./progress.js";

/** How far stated and achieved may lie apart, in per cent, and still fit. */
const FITS = 10;

/** @param quiz {data, words, progress, link(place), heading, restart()} */
export function resultView(main, quiz) {
  const { data, words, progress } = quiz;
  const made = score(data.questions, progress.answers);
  main.append(quiz.heading(words.say("results")));
  main.append(h("p", { class: "score" }, words.say("score", { right: made.right, n: made.answered })));
  if (made.answered > 0) {
    calibration(main, words, made);
    review(main, quiz, made);
  }
  const restart = h("button", { type: "button" }, words.say("again"));
  restart.addEventListener("click", () => {
    if (window.confirm(words.say("again_sure"))) quiz.restart();
  });
  const print = h("button", { type: "button", onclick: () => window.print() }, words.say("print"));
  main.append(h("p", { class: "actions" }, h("a", { class: "button primary", href: quiz.link("") }, words.say("to_overview")), print, restart));
  main.append(h("p", { class: "hint" }, words.say(progress.kept ? "kept" : "not_kept")));
}

function calibration(main, words, made) {
  const excess = made.stated - made.achieved;
  const fits = excess > FITS ? "over_confident" : excess < -FITS ? "under_confident" : "well_calibrated";
  const rows = made.levels
    .map((level, i) => ({ ...level, sure: words.say(`sure_${i + 1}`) }))
    .filter((level) => level.given > 0)
    .map((level) => [level.sure, words.say("score", { right: level.right, n: level.given })]);
  const scale = (value, kind, text) => {
    const fill = h("span", { class: `scale-fill ${kind}` });
    fill.style.inlineSize = `${value}%`;
    return h("li", {}, h("span", { class: "fact-name" }, text), h("span", { class: "fact-track", "aria-hidden": "true" }, fill), h("span", { class: "fact-value" }, `${value} %`));
  };
  main.append(
    h("h2", {}, words.say("calibration")),
    h("ul", { class: "fact-bars" }, scale(made.stated, "stated", words.say("how_sure_bar")), scale(made.achieved, "achieved", words.say("right_bar"))),
    h("p", {}, words.say("stated", { stated: made.stated, achieved: made.achieved }), " ", h("b", {}, words.say(fits))),
    plainTable(words.say("calibration"), [words.say("how_sure_bar"), words.say("right_bar")], rows),
  );
}

function review(main, quiz, made) {
  const { words, data } = quiz;
  main.append(h("h2", {}, words.say("review")));
  if (made.wrong.length + made.unsure.length === 0) {
    main.append(h("p", {}, words.say("nothing_to_review")));
    return;
  }
  const item = (question, why) =>
    h(
      "li",
      { class: why === "review_wrong" ? "wrong" : "open", value: data.questions.indexOf(question) + 1 },
      h("a", { href: quiz.link(question.id) }, words.questions[question.id].ask),
      h("span", { class: "about-line" }, words.say(why), " · ", h("a", { href: question.guide, rel: "noopener noreferrer" }, question.guide.replace(/^https:\/\//, ""))),
    );
  main.append(h("ol", { class: "preview" }, ...made.wrong.map((one) => item(one, "review_wrong")), ...made.unsure.map((one) => item(one, "review_unsure"))));
}
