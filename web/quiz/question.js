// One question: choose, say how sure you are, see the runs, compare.

import { freshId, h } from "../parts/dom.js";
import { commandBlock, letterOf, linked, plainTable } from "./blocks.js";
import { chartWords } from "./chart_words.js";
import { evidenceCharts } from "./evidence_charts.js";
import { explorer } from "./explorer.js";

const SURE = [1, 2, 3, 4];

/** @param quiz {data, words, progress, source, link(place), heading, focusHeading, isShown} */
export function questionView(main, quiz, question) {
  const { data, words, progress } = quiz;
  const k = data.questions.indexOf(question) + 1;
  main.append(
    h(
      "p",
      { class: "eyebrow" },
      h("span", { class: "count" }, words.say("question_of", { k, n: data.questions.length })),
      h("span", {}, words.say("about", { concept: words.concepts[question.concept] })),
      h("span", {}, words.say("level", { level: words.levels[question.level] })),
      h("span", {}, ...linked(words, "guide", question.guide)),
    ),
    quiz.heading(words.questions[question.id].ask),
  );
  const place = h("div", { class: "question-body" });
  main.append(place);
  if (progress.answers[question.id]) makeAndShow(place, quiz, question, false);
  else place.append(form(place, quiz, question));
}

function radio(name, value, ...label) {
  const id = freshId(name);
  return h("div", { class: "choice" }, h("input", { type: "radio", name, value, id }), h("label", { for: id }, ...label));
}

function form(place, quiz, question) {
  const { words, progress } = quiz;
  const texts = words.questions[question.id].options;
  const error = h("p", { class: "error", role: "alert" });
  const made = h(
    "form",
    { novalidate: true },
    h(
      "fieldset",
      { class: "options" },
      h("legend", {}, words.say("choose_answer")),
      ...question.options.map((option, i) =>
        radio("option", option.id, h("span", { class: "letter", "aria-hidden": "true" }, letterOf(i)), h("span", {}, texts[option.id].text)),
      ),
    ),
    h("fieldset", { class: "sure" }, h("legend", {}, words.say("how_sure")), ...SURE.map((level) => radio("sure", level, words.say(`sure_${level}`)))),
    error,
    h("p", { class: "actions" }, h("button", { type: "submit", class: "primary" }, words.say("commit"))),
  );
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = new FormData(made);
    const option = chosen.get("option");
    const sure = Number(chosen.get("sure"));
    if (!option || !sure) {
      error.textContent = words.say("incomplete");
      made.querySelector(`input[name="${option ? "sure" : "option"}"]`).focus();
      return;
    }
    progress.answer(question.id, option, sure);
    quiz.answered();
    makeAndShow(place, quiz, question, true);
  });
  return made;
}

/** Makes the runs before the learner's eyes, then shows what they say. */
async function makeAndShow(place, quiz, question, announce) {
  const { words, source } = quiz;
  const bar = h("progress", { max: 1, value: 0, "aria-label": words.say("running") });
  const line = h("p", { class: "progress-line" });
  place.replaceChildren(h("div", { class: "running" }, h("p", { class: "running-title" }, words.say("running")), bar, line));
  let evidence;
  try {
    evidence = await source.evidence(question, ({ k, n, name }) => {
      bar.max = n;
      bar.value = k - 1;
      line.textContent = words.say("progress", { k, n, name: words.runs[name] });
    });
  } catch (failure) {
    if (quiz.isShown(place)) place.replaceChildren(h("p", { class: "notice" }, words.say("impossible", { reason: failure.message })));
    return;
  }
  if (!quiz.isShown(place)) return;
  const verdict = outcome(quiz, question);
  place.replaceChildren(verdict.element);
  compare(place, quiz, question, evidence);
  explain(place, quiz, question, evidence);
  evidenceOf(place, quiz, question, evidence);
  if (source.live) explorer(place, quiz);
  place.append(next(quiz, question));
  if (announce) {
    verdict.element.focus({ preventScroll: true });
    verdict.element.scrollIntoView({ block: "start" });
  }
}

function outcome({ words, progress }, question) {
  const right = progress.answers[question.id].option === question.answer;
  const index = question.options.findIndex((option) => option.id === question.answer);
  const text = right
    ? words.say("right")
    : words.say("wrong", { letter: letterOf(index), text: words.questions[question.id].options[question.answer].text });
  const mark = h("span", { class: "mark", "aria-hidden": "true" }, right ? "✓" : "✗");
  return { element: h("h2", { class: `outcome ${right ? "right" : "wrong"}`, tabindex: -1 }, mark, h("span", {}, text)) };
}

/** What was predicted beside what the runs support. */
function compare(place, { words, progress, data, source }, question, evidence) {
  const texts = words.questions[question.id].options;
  const answer = progress.answers[question.id];
  const card = (title, id, note) => {
    const i = question.options.findIndex((option) => option.id === id);
    return h(
      "div",
      { class: "card" },
      h("h3", {}, title),
      h("p", { class: "picked" }, h("span", { class: "letter" }, letterOf(i)), h("span", {}, texts[id].text)),
      h("p", { class: "note" }, note),
    );
  };
  const how = source.live
    ? words.say("simulated_in", {
        n: evidence.count,
        events: words.format.grouped(evidence.events),
        time: words.quantity({ value: Math.max(1e-3, Math.round(evidence.seconds * 1e3) / 1e3), unit: "s" }),
      })
    : words.say(source.why, { version: data.version });
  place.append(
    h(
      "section",
      { class: "compare", "aria-label": words.say("compare") },
      card(words.say("predicted"), answer.option, words.say(`sure_${answer.sure}`)),
      card(words.say("simulated"), evidence.solved, how),
    ),
  );
}

function explain(place, { words, progress, data }, question, evidence) {
  const texts = words.questions[question.id];
  const chosen = progress.answers[question.id].option;
  place.append(h("h2", {}, words.say("explanation")), h("p", { class: "explanation" }, words.filled(texts.explanation, evidence.values)));
  const list = h("ol", { class: "verdicts" });
  evidence.options.forEach((option, i) => {
    const text = texts.options[option.id];
    list.append(
      h(
        "li",
        { class: option.verdict },
        h(
          "p",
          { class: "verdict-head" },
          h("span", { class: "letter", "aria-hidden": "true" }, letterOf(i)),
          h("b", {}, text.text),
          h("span", { class: `badge ${option.verdict}` }, words.verdicts[option.verdict]),
          option.id === chosen ? h("span", { class: "badge chosen" }, words.say("your_answer")) : null,
        ),
        h("p", {}, words.filled(text.reason, evidence.values)),
      ),
    );
  });
  place.append(list);
  const cited = [...new Set(evidence.options.flatMap((option) => option.cites))];
  if (cited.length > 0) {
    place.append(
      h("h3", {}, words.say("sources")),
      h("ul", { class: "sources" }, ...cited.map((key) => h("li", { lang: "en" }, h("a", { href: data.sources[key].url, rel: "noopener noreferrer" }, data.sources[key].title)))),
    );
  }
}

function evidenceOf(place, quiz, question, evidence) {
  const { words } = quiz;
  place.append(h("h2", {}, words.say("evidence")));
  const charts = h("div", { class: "evidence" });
  place.append(charts);
  evidenceCharts(charts, question, evidence.runs, words, chartWords(words));
  const numbers = new Map(evidence.options.flatMap((option) => option.numbers).map((number) => [number.name, number]));
  place.append(
    h(
      "details",
      { class: "numbers" },
      h("summary", {}, words.say("numbers")),
      plainTable(
        words.say("numbers"),
        [words.say("quantity"), words.say("value")],
        [...numbers.values()].map((number) => [words.nameOfFact(number.name), words.quantity(number)]),
      ),
    ),
  );
  const commands = [...new Set(Object.values(evidence.runs).map((run) => run.command).filter(Boolean))];
  place.append(h("h3", {}, words.say("reproduce")), commandBlock(commands.join("\n"), words, words.say("reproduce")));
  if (Object.values(evidence.runs).some((run) => !run.command)) {
    place.append(h("p", { class: "hint" }, words.say("changed_runs", { command: `shardsim quiz solve --question ${question.id}` })));
  }
}

function next(quiz, question) {
  const { data, words, progress } = quiz;
  const k = data.questions.indexOf(question);
  const following = data.questions[k + 1];
  const all = data.questions.every((one) => progress.answers[one.id]);
  return h(
    "p",
    { class: "actions onward" },
    following ? h("a", { class: "button primary", href: quiz.link(following.id) }, words.say("next_question")) : null,
    all || !following ? h("a", { class: `button ${following ? "" : "primary"}`, href: quiz.link("result") }, words.say("to_result")) : null,
    h("a", { class: "button", href: quiz.link("") }, words.say("to_overview")),
  );
}
