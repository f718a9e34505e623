// Numbers as people read them: the formats of units.py.

const ABSENT = "-";

/** A whole number with commas. */
function count(value) {
  return Math.round(value).toLocaleString("en-US");
}

/** Three significant digits without an exponent; whole numbers beyond. */
function significant(value) {
  const size = Math.abs(value);
  const digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A time in nanoseconds with its unit. */
function duration(ns) {
  for (const [unit, scale] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (Math.abs(ns) >= 0.9995 * scale) return `${significant(ns / scale)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

/** Bytes with a decimal unit. */
function bytes(value) {
  for (const [unit, scale] of [["GB", 1e9], ["MB", 1e6], ["KB", 1e3]]) {
    if (value >= 0.9995 * scale) return `${significant(value / scale)} ${unit}`;
  }
  return `${Math.round(value)} B`;
}

/** Bits per second with a decimal unit. */
function bitRate(bps) {
  for (const [unit, scale] of [["Tbps", 1e12], ["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3]]) {
    if (bps >= scale) return `${Number((bps / scale).toPrecision(4))} ${unit}`;
  }
  return `${bps} bps`;
}

/** A round value of an axis, without needless zeros: `10 us`, `2.5 ms`. */
function tick(value, units) {
  if (value === 0) return "0";
  const [unit, scale] = units.find(([, size]) => Math.abs(value) >= size * (1 - 1e-9)) ?? units[units.length - 1];
  const text = String(Number((value / scale).toPrecision(6)));
  return unit ? `${text} ${unit}` : text;
}

const TIMES = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
const SIZES = [["GB", 1e9], ["MB", 1e6], ["KB", 1e3], ["B", 1]];
const RATES = [["Tbps", 1e12], ["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3], ["bps", 1]];
const PLAIN = [["", 1]];

/** Formats a value that may be absent. */
function shown(value, format) {
  return value === null || value === undefined ? ABSENT : format(value);
}

/** What is measured: its name, the format of its values, and the units of its axis. */
const MEASURES = {
  fct_ns: { name: "FCT", format: duration, units: TIMES },
  slowdown: { name: "slowdown", format: significant, units: PLAIN },
};
