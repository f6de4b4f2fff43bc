// What the learner has answered: kept on this device, if the browser lets a page from disk do that.

const KEY = "shardsim.quiz/1";
/** What each level of confidence claims, in per cent. */
export const STATED = [25, 50, 75, 95];

function storage() {
  try {
    const kept = window.localStorage;
    kept.setItem(`${KEY}.try`, "1");
    kept.removeItem(`${KEY}.try`);
    return kept;
  } catch {
    return null;
  }
}

/**
 * @param questions of the quiz's data: only answers to these are taken
 * @returns {{kept: boolean, answers: object, answer(id, option, sure), clear(), language, setLanguage}}
 */
export function loadProgress(questions) {
  const place = storage();
  const state = { answers: {}, language: null };
  try {
    const saved = JSON.parse(place?.getItem(KEY) ?? "null");
    for (const question of questions) {
      const answer = saved?.answers?.[question.id];
      const known = question.options.some((option) => option.id === answer?.option);
      if (known && [1, 2, 3, 4].includes(answer.sure)) state.answers[question.id] = { option: answer.option, sure: answer.sure };
    }
    if (typeof saved?.language === "string") state.language = saved.language;
  } catch {
    // What cannot be read is as good as nothing.
  }
  const save = () => {
    try {
      place?.setItem(KEY, JSON.stringify(state));
    } catch {
      // A full store: the answers live as long as the page.
    }
  };
  return {
    kept: place !== null,
    get answers() { return state.answers; },
    get language() { return state.language; },
    answer(id, option, sure) {
      state.answers[id] = { option, sure };
      save();
    },
    setLanguage(tag) {
      state.language = tag;
      save();
    },
    clear() {
      state.answers = {};
      save();
    },
  };
}

/** How well the answers did, and how well the learner knew it. */
export function score(questions, answers) {
  const levels = STATED.map(() => ({ given: 0, right: 0 }));
  const made = { answered: 0, right: 0, levels, wrong: [], unsure: [], stated: 0, achieved: 0 };
  for (const question of questions) {
    const answer = answers[question.id];
    if (!answer) continue;
    const right = answer.option === question.answer;
    const level = levels[answer.sure - 1];
    made.answered += 1;
    level.given += 1;
    made.stated += STATED[answer.sure - 1];
    if (right) {
      made.right += 1;
      level.right += 1;
      if (answer.sure <= 2) made.unsure.push(question);
    } else {
      made.wrong.push(question);
    }
  }
  if (made.answered > 0) {
    made.stated = Math.round(made.stated / made.answered);
    made.achieved = Math.round((100 * made.right) / made.answered);
  }
  return made;
}
