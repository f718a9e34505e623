// Number behind a cell's text, by which columns are sorted: the inverse of the formats of units.py.

const UNIT_SCALES = {
  "": 1, x: 1, "%": 1,
  ns: 1, us: 1e3, ms: 1e6, s: 1e9,
  B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30,
  bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12,
};
const QUANTITY = /^(<?)([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*([A-Za-z%]*)(?:\s*[±\n].*)?$/s;

/** Number that a text begins with, in the smallest unit of its kind; NaN if the text is none, null if it is absent. */
function sortKey(text) {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "-") return null;
  const match = QUANTITY.exec(trimmed);
  if (!match || !(match[3] in UNIT_SCALES)) return NaN;
  const value = Number(match[2].replaceAll(",", "")) * UNIT_SCALES[match[3]];
  // `<0.001` lies below every number that is written out.
  return match[1] ? value * 0.999 : value;
}
