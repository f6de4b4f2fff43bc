// Numbers with their units, in the reader's own digits and grouping. Unit symbols are international
// and stay as they are.

const TIMES = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];
const BYTES = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

/** Unit of `table` in which `value` is at least 1, else its smallest. */
function unitFor(table, value) {
  return table.find(([size]) => Math.abs(value) >= size * 0.9999995) ?? table[table.length - 1];
}

/**
 * Writers of numbers for a locale such as "en", "hi" or "ms".
 * @returns {{number, grouped, percent, time, bytes, timeIn, bytesIn, compact}}
 */
export function makeFormat(locale) {
  const four = new Intl.NumberFormat(locale, { maximumSignificantDigits: 4 });
  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const one = new Intl.NumberFormat(locale, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  const short = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 });
  const scaled = (table) => (value) => {
    if (value === 0) return `${four.format(0)} ${(table === BYTES ? table[table.length - 1] : table[0])[1]}`;
    const [size, symbol] = unitFor(table, value);
    return `${four.format(value / size)} ${symbol}`;
  };
  /** All values of an axis in the unit that suits its largest: {symbol, text}. */
  const scaledAlike = (table) => (largest) => {
    const [size, symbol] = unitFor(table, largest);
    return { size, symbol, text: (value) => four.format(value / size) };
  };
  return {
    /** Four significant digits. */
    number: (value) => four.format(value),
    /** A whole number with its digits grouped. */
    grouped: (value) => whole.format(value),
    /** A share (0..1) with one decimal. */
    percent: (share) => `${one.format(share * 100)} %`,
    /** A large number in short, for axes. */
    compact: (value) => short.format(value),
    /** Seconds. */
    time: scaled(TIMES),
    bytes: scaled(BYTES),
    timeIn: scaledAlike(TIMES),
    bytesIn: scaledAlike(BYTES),
  };
}
