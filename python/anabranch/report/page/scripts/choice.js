// What the reader has chosen: measure, size class, statistic, seed, the compared axis, and a value on every other one.

/** First choice: what figures on paper show. */
function firstChoice(data) {
  const values = data.axes.map((axis) => axis.values.length - 1);
  const hidden = { distribution: new Set(), axis: new Set(), size: new Set() };
  return { measure: "fct_ns", fractions: "whole", class: 0, statistic: "p99", seed: 0, compared: data.compared, values, hidden };
}

/** Controls of a choice; `changed` is called after each change. */
function choiceControls(data, choice, changed) {
  const bar = element("div", { class: "choosers", role: "group", "aria-label": "What the charts show" });
  const set = (key, read) => (value) => {
    choice[key] = read(value);
    fill();
    changed();
  };
  const fill = () => {
    const focused = document.activeElement?.name;
    const all = [
      chooser("Measure", "measure", Object.entries(MEASURES).map(([key, { name }]) => [key, name]), choice.measure, set("measure", String)),
      chooser("Distribution of", "fractions", Object.entries(FRACTIONS).map(([key, { name }]) => [key, name]), choice.fractions, set("fractions", String)),
      chooser("Flows of size", "class", data.classes.map((text, index) => [index, text]), choice.class, set("class", Number)),
    ];
    if (data.swept !== null) {
      all.push(chooser("Statistic", "statistic", data.statistics.names.map((name) => [name, name]), choice.statistic, set("statistic", String)));
    }
    if (data.curves.by_seed) {
      const seeds = [[0, "all"], ...data.seeds.map((seed, index) => [index + 1, seed])];
      all.push(chooser("Seed", "seed", seeds, choice.seed, set("seed", Number)));
    }
    if (data.axes.length > 1) {
      all.push(chooser("Lines for", "compared", data.axes.map((axis, index) => [index, axis.name]), choice.compared, set("compared", Number)));
    }
    data.axes.forEach((axis, index) => {
      if (index === choice.compared) return;
      const options = axis.values.map((text, number) => [number, text]);
      const change = (value) => {
        choice.values[index] = Number(value);
        changed();
      };
      all.push(chooser(axis.name, `axis-${index}`, options, choice.values[index], change));
    });
    bar.replaceChildren(...all);
    if (focused) bar.querySelector(`[name="${focused}"]`)?.focus();
  };
  fill();
  return bar;
}

/** Points that are compared: one for each value of the compared axis at which there is a run. */
function comparedPoints(data, choice) {
  if (data.axes.length === 0) return [{ label: data.name, point: 0, style: lineStyle(0) }];
  return data.axes[choice.compared].values.flatMap((label, value) => {
    const point = pointAt(data, choice.values.with(choice.compared, value));
    return point < 0 ? [] : [{ label, point, style: lineStyle(value) }];
  });
}

/** Number of the point with these values, one for each axis; -1 if there is no run. */
function pointAt(data, values) {
  return data.points.findIndex((point) => point.every((value, axis) => value === values[axis]));
}

/** Choice in words, for headings. */
function choiceInWords(data, choice, { axis: without = null, classes = true, seeds = true }) {
  const fixed = data.axes.flatMap((axis, index) =>
    index === choice.compared || index === without ? [] : [`${axis.name} ${axis.values[choice.values[index]]}`],
  );
  const size = classes ? [`flows of size: ${data.classes[choice.class]}`] : [];
  const seed = data.seeds.length < 2 ? [] : [seeds && choice.seed > 0 ? `seed ${data.seeds[choice.seed - 1]}` : "all seeds"];
  return [...size, ...fixed, ...seed].join(", ");
}
