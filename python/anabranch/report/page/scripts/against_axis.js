// The chosen statistic against an axis of numbers: means over seeds with their intervals, or one seed.

/** Draws a line for each value of the compared axis. */
function drawAgainstAxis(host, data, choice) {
  const axis = data.axes[data.swept];
  const numbers = axis.values.map(Number);
  const order = numbers.map((_, index) => index).sort((a, b) => numbers[a] - numbers[b]);
  const { name, format, units } = MEASURES[choice.measure];
  const compared = choice.compared === data.swept ? [{ label: data.name, values: choice.values, style: lineStyle(0) }] : comparedLines(data, choice);
  const lines = compared.map(({ label, values, style }) => {
    const found = order.map((value) => statisticAt(data, choice, pointAt(data, values.with(data.swept, value))));
    return {
      label,
      style,
      ys: found.map(({ value }) => value),
      half: found.map(({ half }) => half),
      low: found.map(({ value, half }) => (half === null ? value : value - half)),
      high: found.map(({ value, half }) => (half === null ? value : value + half)),
    };
  });
  lineChart(host, {
    name: `${name} ${choice.statistic} against ${axis.name}`,
    along: { label: axis.name, units: PLAIN, range: padded },
    across: { label: `${name} ${choice.statistic}`, units, range: (self, low, high) => [0, 1.05 * (high || 1)] },
    xs: order.map((index) => numbers[index]),
    lines,
    bands: true,
    points: true,
    format,
    where: (index) => `at ${axis.name} ${axis.values[order[index]]}`,
    start: order.length - 1,
    hidden: choice.hidden.axis,
  });
}

function comparedLines(data, choice) {
  return data.axes[choice.compared].values.map((label, value) => ({
    label,
    values: choice.values.with(choice.compared, value),
    style: lineStyle(value),
  }));
}

/** Statistic of a point: its mean over seeds and half its interval, or that of the chosen seed. */
function statisticAt(data, choice, point) {
  if (point < 0) return { value: null, half: null };
  const number = data.statistics.names.indexOf(choice.statistic);
  if (choice.seed === 0) {
    const part = [point, choice.class, number];
    return { value: at(data.statistics.mean[choice.measure], ...part), half: at(data.statistics.half[choice.measure], ...part) };
  }
  const part = [point, choice.seed, choice.class];
  if (choice.statistic === "mean") return { value: at(data.curves.mean[choice.measure], ...part), half: null };
  const level = data.curves.levels.indexOf(data.statistics.levels[number]);
  return { value: at(data.curves.values[choice.measure], ...part)[level], half: null };
}
