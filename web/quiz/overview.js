// The first page: what the quiz is, and all its questions.

import { h } from "../parts/dom.js";
import { linked } from "./blocks.js";

/** @param quiz {data, words, progress, link(place), heading} */
export function overview(main, quiz) {
  const { data, words, progress } = quiz;
  const { answers } = progress;
  const levels = [...new Set(data.questions.map((question) => question.level))];
  const first = data.questions.findIndex((question) => !answers[question.id]);
  const answered = Object.keys(answers).length;
  const parts = [
    quiz.heading(words.say("title")),
    h("p", { class: "lead" }, words.say("covers")),
    h("p", {}, words.say("method")),
    h(
      "ul",
      { class: "facts-line" },
      h("li", {}, words.say("level", { level: levels.map((level) => words.levels[level]).join(", ") })),
      h("li", {}, ...linked(words, "guide", data.guide)),
    ),
    quiz.source.live ? null : h("p", { class: "notice" }, words.say(quiz.source.why, { version: data.version })),
    answered > 0 && first >= 0 ? h("p", {}, words.say("resumed", { n: answered })) : null,
    h(
      "p",
      { class: "actions" },
      h("a", { class: "button primary", href: quiz.link(first < 0 ? "result" : data.questions[first].id) }, first < 0 ? words.say("to_result") : answered > 0 ? words.say("go_on", { k: first + 1 }) : words.say("begin")),
    ),
    h("h2", {}, words.say("preview")),
    h("ol", { class: "preview" }, ...data.questions.map((question) => previewed(question, quiz))),
    h("p", { class: "hint" }, words.say(progress.kept ? "kept" : "not_kept")),
  ];
  main.append(...parts.filter(Boolean));
}

function previewed(question, quiz) {
  const { words, progress } = quiz;
  const answer = progress.answers[question.id];
  const state = !answer ? "open" : answer.option === question.answer ? "right" : "wrong";
  const text = { open: "open", right: "right", wrong: "review_wrong" }[state];
  return h(
    "li",
    { class: state },
    h("a", { href: quiz.link(question.id) }, words.questions[question.id].ask),
    h("span", { class: "about-line" }, words.say("about", { concept: words.concepts[question.concept] }), " · ", h("span", { class: `state ${state}` }, words.say(text))),
  );
}
