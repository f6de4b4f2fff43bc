// node quiz_test.mjs PROGRAM ROOT SCRATCH: the quiz that PROGRAM writes, in a browser, in all its
// languages.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { findBrowser, startBrowser } from "./browser.mjs";

const [program, root, scratch] = process.argv.slice(2);
if (!findBrowser()) {
  console.log("SKIPPED: there is no Chromium (tools/setup web installs it)");
  process.exit(0);
}
mkdirSync(scratch, { recursive: true });
const quiz = (...options) => execFileSync(program, ["quiz", ...options], { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28, encoding: "utf8" });
const file = quiz("web", "--out", scratch).trim();
const data = JSON.parse(quiz("data", "--out", "-"));
const solved = JSON.parse(quiz("solve", "--json", "-"));
const { makeWords } = await import(pathToFileURL(join(root, "web/quiz/words.js")).href).catch(() => ({}));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await startBrowser();
after(() => browser.close());
const live = !/<script type="text\/plain" id="module"><\/script>/.test(readFileSync(file, "utf8"));
if (!live) console.log("this build has no simulator for pages: the page shows recorded evidence");

const tags = Object.keys(data.languages);
const ids = data.questions.map((question) => question.id);
const NARROW = { width: 320, height: 640 };
/** Each language is taken in a view of its own; the others see a part of the states. */
const TAKEN_IN = { en: {}, hi: { ...NARROW, dark: true, reduced: true }, ms: { dark: true } };
const OTHERS = { light: {}, dark: { dark: true }, narrow: NARROW };

async function open(place, options, from = file) {
  const opened = await browser.open(from, options);
  const { page } = opened;
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true");
  await page.evaluate((hash) => {
    localStorage.clear();
    history.replaceState(null, "", hash); // unlike a new hash, not heard by the page, which would save
    location.reload();
  }, place);
  await page.waitForTimeout(200);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true");
  return opened;
}

async function settled(page) {
  await page.waitForSelector(".onward, form, .preview, .score");
  await page.waitForTimeout(120);
}

async function violations(page) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  await page.waitForTimeout(60);
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (width > 0) found.push({ id: `too wide by ${width} pixels`, nodes: [] });
  return found.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join("; ")}`);
}

/** Presses Tab until an element that matches has the focus. */
async function tabTo(page, selector) {
  for (let i = 0; i < 150; i += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  assert.fail(`Tab does not reach ${selector}`);
}

/** Answers the question that is shown, by keyboard alone; `index` and `sure` count from 0. */
async function answer(page, index, sure) {
  await tabTo(page, "input[name=option]");
  await page.keyboard.press("Space");
  for (let i = 0; i < index; i += 1) await page.keyboard.press("ArrowDown");
  await tabTo(page, "input[name=sure]");
  await page.keyboard.press("Space");
  for (let i = 0; i < sure; i += 1) await page.keyboard.press("ArrowDown");
  await tabTo(page, "button[type=submit]");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".outcome");
  await settled(page);
}

const plain = (text) => text.replaceAll("\u00a0", " ");

test("the file is below 1.5 MB", () => {
  const { size } = statSync(file);
  console.log(`fsdp-quiz.html: ${size} bytes`);
  assert.ok(size < 1_500_000);
});

test("numbers are written as the command line writes them", () => {
  for (const tag of tags) {
    const words = makeWords(data.languages[tag]);
    for (const question of data.questions) {
      for (const [name, value] of Object.entries(question.values)) {
        assert.equal(words.quantity(value), value.text[tag], `${tag} ${question.id}.${name}`);
      }
    }
  }
});

for (const tag of tags) {
  test(`${tag}: taken by keyboard alone, with the program's numbers, accessible, without a request`, async () => {
    const words = makeWords(data.languages[tag]);
    const { page, requests, problems } = await open(`#${tag}`, TAKEN_IN[tag]);
    assert.equal(await page.evaluate(() => document.documentElement.lang), tag);
    assert.equal(await page.evaluate(() => document.documentElement.dir), data.languages[tag].direction);
    assert.equal(await page.locator("h1").textContent(), data.languages[tag].interface.title);
    assert.equal(await page.locator(".preview li").count(), ids.length);
    assert.deepEqual(await violations(page), []);
    await tabTo(page, "a.button.primary");
    await page.keyboard.press("Enter");
    for (const [k, question] of data.questions.entries()) {
      await page.waitForFunction((id) => location.hash.endsWith(id), question.id);
      await settled(page);
      assert.ok(await page.evaluate(() => document.activeElement.tagName === "H1"), "the question has the focus");
      if (k === 0) assert.deepEqual(await violations(page), []);
      const right = question.options.findIndex((option) => option.id === question.answer);
      const wrong = k === 3;
      await answer(page, wrong ? (right + 1) % 4 : right, k % 4);
      assert.ok(await page.evaluate(() => document.activeElement.matches(".outcome")), "the result has the focus");
      assert.equal(await page.locator(`.outcome.${wrong ? "wrong" : "right"}`).count(), 1);
      const said = await page.evaluate(() => [...document.querySelectorAll("[aria-live], [role=status], [role=alert]")].map((one) => one.textContent).join(""));
      assert.equal(said.trim(), "", "nothing else is announced");
      await sameNumbers(page, question, words);
      assert.deepEqual(await violations(page), []);
      if (k + 1 < ids.length) {
        await tabTo(page, ".onward a.primary");
        await page.keyboard.press("Enter");
      }
    }
    await tabTo(page, ".onward a.primary");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".score");
    assert.equal(await page.locator(".score").textContent(), words.say("score", { right: 7, n: 8 }));
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(requests, []);
    assert.deepEqual(problems, []);
    await page.close();
  });

  test(`${tag}: accessible and within the width in every view`, async () => {
    for (const [name, view] of Object.entries(OTHERS)) {
      const { page, problems } = await open(`#${tag}`, view);
      assert.deepEqual(await violations(page), [], name);
      await page.evaluate((hash) => (location.hash = hash), `#${tag}/q5`);
      await settled(page);
      assert.deepEqual(await violations(page), [], name);
      await tabTo(page, "button[type=submit]");
      await page.keyboard.press("Enter");
      assert.equal(await page.locator("[role=alert]").textContent(), data.languages[tag].page.incomplete);
      assert.deepEqual(await violations(page), [], name);
      await page.reload();
      await settled(page);
      await answer(page, 1, 3);
      assert.deepEqual(await violations(page), [], name);
      await page.evaluate((hash) => (location.hash = hash), `#${tag}/result`);
      await settled(page);
      assert.deepEqual(await violations(page), [], name);
      assert.deepEqual(problems, []);
      await page.close();
    }
  });
}

/** What the page shows is what `quiz solve` and `quiz data` give. */
async function sameNumbers(page, question, words) {
  const { options } = solved.questions.find((one) => one.id === question.id);
  const expected = new Map(options.flatMap((option) => option.numbers).map((number) => [words.nameOfFact(number.name), words.quantity(number)]));
  const shown = await page.locator(".numbers tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(new Map(shown), expected);
  const verdicts = await page.locator(".verdicts > li").evaluateAll((items) => items.map((item) => item.className));
  assert.deepEqual(verdicts, options.map((option) => option.verdict));
  const texts = data.languages[words.language].questions[question.id];
  const explanation = words.filled(texts.explanation, question.values);
  assert.equal(plain(await page.locator(".explanation").textContent()), plain(explanation));
  for (const [i, option] of question.options.entries()) {
    const reason = await page.locator(".verdicts > li").nth(i).locator("p").nth(1).textContent();
    assert.equal(plain(reason), plain(words.filled(texts.options[option.id].reason, question.values)));
    assert.doesNotMatch(reason, /[{}]/);
  }
}

test("sliders simulate and redraw at once, and the command shown gives the same numbers", { skip: !live }, async () => {
  const words = makeWords(data.languages.en);
  const { page, problems } = await open("#en/q8");
  await answer(page, 3, 3);
  const slider = (id) => page.locator(".slider").nth(data.explore.sliders.findIndex((one) => one.id === id)).locator("input");
  const move = async (id, key) => {
    const before = await page.evaluate(() => performance.getEntriesByName("redraw").length);
    await slider(id).focus();
    await page.keyboard.press(key);
    await page.waitForFunction((count) => performance.getEntriesByName("redraw").length > count, before);
    await page.waitForTimeout(300);
    return page.evaluate(() => performance.getEntriesByName("redraw").at(-1).duration);
  };
  await move("gpus", "End");
  const times = [];
  for (const [id, key] of [["bandwidth", "Home"], ["prefetch", "Home"], ["model", "ArrowLeft"], ["bandwidth", "ArrowRight"], ["prefetch", "End"], ["sharding", "ArrowLeft"], ["bandwidth", "End"]]) {
    times.push(await move(id, key));
    if (id === "sharding") assert.ok(await slider("prefetch").isDisabled());
  }
  console.log(`redrawn for 64 GPUs after ${times.map((time) => Math.round(time)).join(", ")} ms`);
  assert.ok(Math.max(...times) < 5000);
  const command = await page.locator(".explorer pre").textContent();
  const [, , scenario, ...rest] = command.split(" ");
  const result = JSON.parse(execFileSync(program, ["run", scenario, ...rest, "--quiet", "--json", "-"], { encoding: "utf8" }));
  const text = (value, unit) => words.quantity({ value, unit });
  assert.equal(
    await page.locator(".explored").textContent(),
    words.say("explore_said", {
      step: text(result.step.time_s, "s"),
      exposed: text(result.step.exposed_communication_s, "s"),
      memory: text(result.memory.peak_allocated_bytes, "bytes"),
    }),
  );
  await move("model", "End");
  await move("sharding", "Home");
  assert.match(await page.locator(".explored").textContent(), /^Out of memory/);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(problems, []);
  await page.close();
});

test("answers are kept, and a link names language and question", async () => {
  const { page } = await open("#ms/q2");
  await answer(page, 1, 2);
  await page.reload();
  await page.waitForSelector(".outcome");
  assert.equal(await page.locator(".outcome.right").count(), 1);
  await page.locator(".languages a[lang=hi]").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.documentElement.lang === "hi");
  await page.waitForSelector(".outcome.right");
  assert.equal(await page.evaluate(() => location.hash), "#hi/q2");
  assert.ok(await page.evaluate(() => document.activeElement.matches(".languages a[lang=hi]")), "the switch keeps the focus");
  await page.evaluate(() => (location.hash = "#xx/q99"));
  await page.waitForSelector(".preview");
  await page.close();
});

test("a browser that keeps nothing for a page from disk is no obstacle", async () => {
  const { page, problems } = await open("#en");
  await page.addInitScript(() => Object.defineProperty(window, "localStorage", { get() { throw new DOMException("denied", "SecurityError"); } }));
  await page.reload();
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true");
  const hint = await page.locator("main > .hint").textContent();
  assert.equal(hint, data.languages.en.page.not_kept);
  await page.evaluate(() => (location.hash = "#en/q1"));
  await settled(page);
  await answer(page, 0, 0);
  assert.equal(await page.locator(".outcome.right").count(), 1);
  assert.deepEqual(problems, []);
  await page.close();
});

test("without a simulator the page shows recorded evidence and says so; texts are never markup", async () => {
  const NASTY = "</script><script>document.body.id='injected'</script><!-- <b>&amp; 'quoted'";
  const folder = join(scratch, "data");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const name of ["topologies", "scenarios"]) symlinkSync(join(root, name), join(folder, name));
  cpSync(join(root, "quiz/bank"), join(folder, "quiz"), { recursive: true });
  const english = join(folder, "quiz/en.yaml");
  writeFileSync(english, readFileSync(english, "utf8").replace(/^  title: .*$/m, `  title: ${JSON.stringify(NASTY)}`));
  const other = quiz("web", "--data", folder, "--out", join(scratch, "recorded")).trim();
  assert.ok(existsSync(other));
  const { page, requests, problems } = await open("#en", {}, other);
  assert.equal(await page.locator("h1").textContent(), NASTY);
  assert.equal(await page.title(), NASTY);
  assert.equal(await page.locator("#injected").count(), 0);
  const words = makeWords(data.languages.en);
  assert.equal(await page.locator(".notice").textContent(), words.say("recorded", { version: data.version }));
  await page.evaluate(() => (location.hash = "#en/q5"));
  await settled(page);
  await answer(page, 0, 3);
  await sameNumbers(page, data.questions[4], words);
  assert.equal(await page.locator(".timeline").count(), 3);
  assert.equal(await page.locator(".explorer").count(), 0);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual([...requests, ...problems], []);
  await page.close();
});

test("the policy of the page forbids requests", async () => {
  const { page } = await open("#en");
  const blocked = await page.evaluate(
    () =>
      new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
        fetch("https://shardsim.invalid/").catch(() => {});
      }),
  );
  assert.equal(blocked, "connect-src");
  await page.close();
});
