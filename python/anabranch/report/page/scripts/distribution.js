// Cumulative distribution of the chosen measure, and its table of percentiles.

const TABLE_LEVELS = [0.5, 0.95, 0.99, 0.999, 1];

/** Axes of fractions: as they are, or by the number of nines, which spreads the tail. */
const FRACTIONS = {
  whole: { name: "all flows", along: { label: "fraction of flows", units: PLAIN, vertical: true, range: [0, 1] }, position: (level) => level },
  tail: {
    name: "the tail",
    along: {
      label: "percentile (by nines)",
      vertical: true,
      splits: [0, 0.301, 1, 1.301, 2, 3, 4],
      values: (nines) => levelName(Number((1 - 10 ** -nines).toFixed(4))),
      range: (self, low, high) => [0, Math.max(1, high)],
    },
    position: (level) => -Math.log10(1 - level),
  },
};

/** Draws the distribution of each compared point. */
function drawDistribution(host, data, choice) {
  const { along, position } = FRACTIONS[choice.fractions];
  // The largest value has no number of nines.
  const levels = data.curves.levels.filter((level) => Number.isFinite(position(level)));
  const { name, format, units } = MEASURES[choice.measure];
  const lines = comparedPoints(data, choice).map(({ label, point, style }) => ({
    label,
    style,
    ys: at(data.curves.values[choice.measure], point, choice.seed, choice.class).slice(0, levels.length),
  }));
  lineChart(host, {
    name: `Distribution of ${name}`,
    along,
    across: { label: `${name} (log scale)`, units, log: true },
    xs: levels.map(position),
    lines,
    format,
    where: (index) => `${levelName(levels[index])} of ${name}`,
    start: levels.indexOf(0.5),
    hidden: choice.hidden.distribution,
  });
}

/** Percentile in words: `p99.9`. */
function levelName(level) {
  if (level <= 0) return "smallest";
  return level === 1 ? "largest" : `p${Number((100 * level).toFixed(2))}`;
}

/** Table of the same choice. */
function percentileTable(data, choice) {
  const { format, name } = MEASURES[choice.measure];
  const indexes = TABLE_LEVELS.map((level) => data.curves.levels.indexOf(level));
  const rows = comparedPoints(data, choice).map(({ label, point }) => {
    const part = [point, choice.seed, choice.class];
    const values = at(data.curves.values[choice.measure], ...part);
    return [
      label,
      count(at(data.curves.flows, ...part)),
      count(at(data.curves.unfinished, ...part)),
      shown(at(data.curves.mean[choice.measure], ...part), format),
      ...indexes.map((index) => shown(values[index], format)),
    ];
  });
  const compared = data.axes.length ? data.axes[choice.compared].name : "run";
  const header = [compared, "flows", "unfinished", "mean", ...TABLE_LEVELS.map(levelName)];
  return tableOf(`${name} by ${compared}`, header, rows);
}
