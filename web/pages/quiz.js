// The quiz as a page of its own: what is shown is told by the address, #LANGUAGE/PLACE.

import { h } from "../parts/dom.js";
import { openEvidence } from "../quiz/evidence_source.js";
import { overview } from "../quiz/overview.js";
import { loadProgress } from "../quiz/progress.js";
import { questionView } from "../quiz/question.js";
import { resultView } from "../quiz/result.js";
import { makeWords } from "../quiz/words.js";
import { pageData } from "./page_blocks.js";

const data = pageData();
const tags = Object.keys(data.languages);
const languages = Object.fromEntries(tags.map((tag) => [tag, makeWords(data.languages[tag])]));
const progress = loadProgress(data.questions);
const places = ["", "result", ...data.questions.map((question) => question.id)];
const page = document.getElementById("page");
let source = null;
let shownAt = null;

/** {language, place} of the address; what it does not name is as the browser would have it. */
function whereabouts() {
  const [tag, place = ""] = location.hash.replace(/^#/, "").split("/");
  const preferred = [progress.language, ...(navigator.languages ?? []).map((one) => one.split("-")[0])];
  const language = tags.includes(tag) ? tag : preferred.find((one) => tags.includes(one)) ?? tags[0];
  return { language, place: places.includes(place) ? place : "" };
}

const linkTo = (language, place) => `#${language}${place ? `/${place}` : ""}`;

function show(byUser) {
  const { language, place } = whereabouts();
  const words = languages[language];
  const sameQuestion = shownAt?.place === place;
  shownAt = { language, place };
  progress.setLanguage(language);
  document.documentElement.lang = language;
  document.documentElement.dir = words.direction;
  const focused = document.activeElement?.closest?.(".languages") ? document.activeElement.lang : null;
  const scroll = window.scrollY;
  const main = h("main", { id: "main" });
  const title = h("h1", { tabindex: -1 });
  const quiz = {
    data,
    words,
    progress,
    source,
    link: (to) => linkTo(language, to),
    heading: (text) => {
      title.append(text);
      return title;
    },
    isShown: (element) => element.isConnected,
    answered: () => document.querySelector(".steps").replaceWith(steps(words, language, place)),
    restart: () => {
      progress.clear();
      if (location.hash === linkTo(language, "")) show(true);
      else location.hash = linkTo(language, "");
    },
  };
  const question = data.questions.find((one) => one.id === place);
  if (question) questionView(main, quiz, question);
  else if (place === "result") resultView(main, quiz);
  else overview(main, quiz);
  const skip = h("a", { class: "skip", href: "#main" }, words.say("skip"));
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    title.focus();
  });
  page.replaceChildren(skip, head(words, language, place), main, foot(words));
  document.title = question ? `${title.textContent} · ${words.say("title")}` : place ? `${title.textContent} · ${words.say("title")}` : words.say("title");
  if (focused) page.querySelector(`.languages a[lang="${language}"]`).focus({ preventScroll: true });
  else if (byUser) title.focus({ preventScroll: true });
  window.scrollTo(0, sameQuestion ? scroll : 0);
}

function head(words, language, place) {
  return h(
    "header",
    { class: "site" },
    h("a", { class: "site-title", href: linkTo(language, "") }, "shardsim"),
    steps(words, language, place),
    h(
      "nav",
      { class: "languages", "aria-label": words.say("language") },
      ...tags.map((tag) =>
        h("a", { href: linkTo(tag, place), lang: tag, hreflang: tag, dir: languages[tag].direction, "aria-current": tag === language ? "true" : null }, languages[tag].name),
      ),
    ),
  );
}

function steps(words, language, place) {
  const item = (question, i) => {
    const answer = progress.answers[question.id];
    const state = !answer ? "open" : answer.option === question.answer ? "right" : "wrong";
    const said = words.say({ open: "open", right: "right", wrong: "review_wrong" }[state]);
    const mark = { open: "", right: "✓", wrong: "✗" }[state];
    const name = `${words.say("question_of", { k: i + 1, n: data.questions.length })}: ${said}`;
    return h(
      "li",
      {},
      h("a", { class: `step ${state}`, href: linkTo(language, question.id), "aria-label": name, "aria-current": question.id === place ? "step" : null }, String(i + 1), h("span", { class: "step-mark", "aria-hidden": "true" }, mark)),
    );
  };
  return h("nav", { class: "steps", "aria-label": words.say("preview") }, h("ol", {}, ...data.questions.map(item)));
}

function foot(words) {
  return h("footer", {}, h("p", {}, words.say("foot", { version: data.version })));
}

async function begin() {
  source = await openEvidence(data, document.getElementById("module").textContent.trim());
  show(false);
  window.addEventListener("hashchange", () => show(true));
  document.documentElement.dataset.ready = "true";
}

begin();
