// One language of the quiz: phrases, plural forms, and numbers written as the command line does.

import { fill } from "../parts/dom.js";

const TIMES = [[3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"], [1e-12, "ps"]];
const BYTES = [[2 ** 60, "EiB"], [2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const NO_BREAK = "\u00a0";

const digits = (value) => String(Number(value.toPrecision(4)));
const unitOf = (table, value) => table.find(([size]) => Math.abs(value) >= size) ?? table[table.length - 1];

function inUnit(table, value) {
  let unit = unitOf(table, value);
  // Rounding may have reached the next unit.
  unit = unitOf(table, Number((value / unit[0]).toPrecision(4)) * unit[0]);
  return `${digits(value / unit[0])} ${unit[1]}`;
}

/** Time without the noise of adding fractions: whole picoseconds, as the simulator keeps it. */
const wholePicoseconds = (seconds) => Math.round(seconds * 1e12) / 1e12;
const timeText = (seconds) => (seconds === 0 ? "0 s" : inUnit(TIMES, wholePicoseconds(seconds)));
const bytesText = (bytes) => inUnit(BYTES, Math.round(bytes));

/** 1,234,567 or 12,34,567. */
export function grouped(grouping, value) {
  const whole = String(Math.abs(Math.round(value)));
  const head = whole.slice(0, -3);
  const tail = whole.slice(-3);
  const pairs = grouping === "indian" ? /\B(?=(\d{2})+$)/g : /\B(?=(\d{3})+$)/g;
  return `${value < 0 ? "-" : ""}${head ? `${head.replace(pairs, ",")},` : ""}${tail}`;
}

/** A whole number grouped, any other with three significant digits. */
export function numberText(grouping, value) {
  if (Math.abs(value - Math.round(value)) < 1e-9) return grouped(grouping, value);
  const size = Math.abs(value);
  if (size >= 999.5) return grouped(grouping, value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

const PLURALS = {
  single: () => false,
  only_one: (n) => n === 1,
  up_to_one: (n) => n >= 0 && n <= 1,
};

/**
 * @param {object} language one of `languages` of the quiz's data
 * @returns what the page needs of a language: `say(key, values)` fills a phrase of the interface or
 *   of the page; `quantity({value, unit})` writes a number as the command line does
 */
export function makeWords(language) {
  const phrases = { ...language.interface, ...language.page };
  const group = (value) => grouped(language.grouping, value);
  const text = (value) => (typeof value === "number" ? group(value) : value);

  function say(key, values = {}) {
    let phrase = phrases[key] ?? key;
    if (typeof phrase !== "string") {
      const one = phrase.one && PLURALS[language.plural](values[phrase.count]);
      phrase = one ? phrase.one : phrase.other;
    }
    return fill(phrase, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, text(value)])));
  }

  function quantity({ value, unit }) {
    if (unit === "bytes") return bytesText(value);
    return unit === "s" ? timeText(value) : numberText(language.grouping, value);
  }

  const alike = (table) => (largest) => {
    const [size, symbol] = unitOf(table, largest);
    return { size, symbol, text: (value) => digits(value / size) };
  };
  const format = {
    number: (value) => digits(value),
    grouped: group,
    percent: (share) => `${(share * 100).toFixed(1)} %`,
    compact: group,
    time: timeText,
    bytes: bytesText,
    timeIn: alike(TIMES),
    bytesIn: alike(BYTES),
  };
  return {
    ...language,
    say,
    has: (key) => key in phrases,
    quantity,
    format,
    /** "FSDP: parameters" for "fsdp.parameters". */
    nameOfFact(full) {
      const dot = full.indexOf(".");
      return `${language.runs[full.slice(0, dot)]}: ${language.facts[full.slice(dot + 1)]}`;
    },
    /** A text of a question with the values that runs gave. */
    filled(template, values) {
      const texts = Object.entries(values).map(([name, value]) => [name, value.text[language.language].replaceAll(" ", NO_BREAK)]);
      return fill(template, Object.fromEntries(texts));
    },
  };
}
