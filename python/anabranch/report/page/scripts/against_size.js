// Slowdown against flow size: points stand for equally many flows of all seeds, at the median of their sizes.

/** Draws a line for each compared point at the quantile `number`. */
function drawAgainstSize(host, data, choice, number) {
  const tables = comparedPoints(data, choice).map(({ label, point, style }) => ({
    label,
    style,
    sizes: at(data.sizes.sizes, point),
    values: at(data.sizes.slowdown, point, number),
  }));
  const known = tables.map(({ sizes }) => sizes.filter((size) => size !== null));
  const xs = [...new Set(known.flat())].sort((a, b) => a - b);
  const lines = tables.map(({ label, style, sizes, values }) => {
    const value = new Map(sizes.map((size, index) => [size, values[index]]));
    return { label, style, ys: xs.map((size) => value.get(size) ?? null) };
  });
  lineChart(host, {
    name: `Slowdown ${data.sizes.names[number]} against flow size`,
    along: { label: "flow size (log scale)", units: SIZES, log: true },
    across: { label: `slowdown ${data.sizes.names[number]} (log scale)`, units: PLAIN, log: true },
    xs,
    lines,
    points: true,
    format: significant,
    reach: xs.length,
    remark: (index) => `(${bytes(xs[index])})`,
    where: (index) => `near ${bytes(xs[index])}`,
    start: 0,
    hidden: choice.hidden.size,
  });
}
