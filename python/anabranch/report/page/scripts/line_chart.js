// A chart of lines with a cursor: by mouse, by touch, and by arrow keys; numbers at the cursor stand in its legend.

const PALETTE_SIZE = 8;
const TICKS_MIN = 3;
const EVEN_MAX = 12;
/** Most lines whose intervals are drawn together: of more, only those of the line that is pointed at. */
const BANDS_MAX = 2;
/** Distance in pixels from which the cursor points at a line. */
const FOCUS_PX = 24;
const DASHES = [[], [8, 4], [2, 3], [8, 3, 2, 3]];

/** Lines that are drawn now, so that a change of theme can redraw them. */
const charts = new Set();

/** Colour and dashes of the line `index`: dashes change with the colours, as in figures on paper. */
function lineStyle(index) {
  const dash = DASHES[(index + Math.floor(index / PALETTE_SIZE)) % DASHES.length];
  return { colour: () => colour(`--series-${index % PALETTE_SIZE}`), variable: `--series-${index % PALETTE_SIZE}`, dash };
}

/**
 * Draws a chart into `host`, in place of what is there, and returns it.
 *
 * `spec`: `name` of the chart; `along` and `across`, the axes ({label, units, log, vertical, range, splits, values}), of which
 * `along` is the one that the cursor moves on; `xs`, values along, ascending; `lines`, each {label, style, ys, low, high} with
 * null where there is none; `where(index)`, the cursor's position in words; `format`, of a line's value; `start`, the
 * cursor's first index; `hidden`, a set of labels that the legend switches. Where no line has a value, `nothing` or words of
 * its own stand in place of a chart, and null is returned.
 */
function lineChart(host, spec) {
  const known = (value) => value !== null && value !== undefined;
  if (!spec.lines.some((line) => line.ys.some(known))) {
    host.replaceChildren(element("p", { class: "nothing" }, spec.nothing ?? "Nothing to draw: too few flows finished for this choice."));
    return null;
  }
  const plot = element("div", {
    class: "plot",
    tabindex: 0,
    role: "group",
    "aria-label": `${spec.name}: a chart of ${spec.lines.length} lines. Arrow keys move the cursor; its numbers stand below.`,
  });
  const where = element("p", { class: "where", "aria-live": "polite" });
  const legend = element("ul", { class: "legend" });
  host.replaceChildren(plot, where, legend);
  const state = { index: spec.start };
  const focus = (number) => {
    if (spec.focused === number) return;
    spec.focused = number;
    chart.redraw(false);
  };
  const outputs = spec.lines.map((line, number) => legendEntry(legend, line, number, spec, () => chart, focus));
  const show = () => {
    where.textContent = spec.where(state.index);
    spec.lines.forEach((line, number) => {
      const index = nearest(line.ys, state.index, spec.reach ?? 0);
      const value = index === null ? null : line.ys[index];
      const half = index !== null && line.half ? line.half[index] : null;
      const remark = spec.remark && index !== null ? ` ${spec.remark(index)}` : "";
      outputs[number].textContent = shown(value, spec.format) + (half === null ? "" : ` ±${spec.format(half)}`) + remark;
    });
  };
  const options = chartOptions(spec, plot, (index) => {
    if (index === null || index === undefined || index === state.index) return;
    state.index = index;
    show();
  }, focus);
  const chart = new uPlot(options, chartData(spec), plot);
  // Within reach of whoever looks at the page with the browser's tools.
  host.chart = chart;
  plot.addEventListener("keydown", (event) => moveCursor(event, chart, spec, state));
  const observer = new ResizeObserver(() => {
    if (plot.clientWidth > 0) chart.setSize({ width: plot.clientWidth, height: chartHeight(plot) });
  });
  observer.observe(plot);
  for (const other of charts) if (!document.contains(other.root)) charts.delete(other);
  charts.add(chart);
  show();
  return chart;
}

function redrawCharts() {
  for (const chart of charts) chart.redraw();
}

function chartHeight(plot) {
  return Math.max(260, Math.min(420, Math.round(plot.clientWidth * 0.5)));
}

/** Data of uPlot: values along, then each line with the ends of its intervals. */
function chartData(spec) {
  return [spec.xs, ...spec.lines.flatMap((line) => (spec.bands ? [line.ys, line.low, line.high] : [line.ys]))];
}

/** Whether the interval of a line is drawn now. */
function bandShown(spec, number) {
  const shown = spec.lines.filter((line) => !spec.hidden.has(line.label)).length;
  return shown <= BANDS_MAX || spec.focused === number;
}

function chartOptions(spec, plot, moved, focus) {
  const step = spec.bands ? 3 : 1;
  const series = spec.lines.flatMap((line) => {
    const paths = spec.steps ? { paths: uPlot.paths.stepped({ align: 1 }) } : {};
    const visible = { show: !spec.hidden.has(line.label), scale: "y", spanGaps: true, ...paths };
    const main = {
      ...visible,
      label: line.label,
      stroke: line.style.colour,
      width: 2,
      dash: line.style.dash,
      points: { show: spec.points ?? false, size: 6 },
    };
    const end = { ...visible, stroke: "transparent", width: 0, points: { show: false } };
    return spec.bands ? [main, end, { ...end }] : [main];
  });
  const bands = spec.bands
    ? spec.lines.map((line, number) => ({ series: [3 + step * number, 2 + step * number], fill: () => (bandShown(spec, number) ? faint(line.style.colour()) : "transparent") }))
    : [];
  const upright = spec.along.vertical;
  return {
    width: plot.clientWidth,
    height: chartHeight(plot),
    legend: { show: false },
    scales: {
      x: scaleOf(spec.along, upright),
      y: scaleOf(spec.across, !upright),
    },
    axes: [axis("x", spec.along, upright ? 3 : 2), axis("y", spec.across, upright ? 2 : 3)],
    series: [{}, ...series],
    bands,
    cursor: {
      drag: { x: true, y: true, uni: 30 },
      points: { show: (self, index) => (index - 1) % step === 0 && pointElement(self, index) },
      dataIdx: (self, _, index) => index,
      ...(spec.bands ? { focus: { prox: FOCUS_PX } } : {}),
    },
    focus: { alpha: 1 },
    hooks: {
      setCursor: [(self) => moved(self.cursor.idx)],
      setSeries: [(self, index, options) => options.focus && focus(index === null ? null : Math.floor((index - 1) / step))],
    },
  };
}

/** Limits of a logarithmic axis, a little beyond the outermost values. */
function snug(self, low, high) {
  if (low === null || high === null) return [1, 10];
  const room = Math.max(1.05, (high / low) ** 0.03);
  return [low / room, high * room];
}

/** Limits a little beyond the outermost values. */
function padded(self, low, high) {
  const room = 0.04 * (high - low) || 1;
  return [low - room, high + room];
}

/** Scale of an axis, horizontal or upright. */
function scaleOf({ log, range }, upright) {
  const limits = range ?? (log ? snug : null);
  return { time: false, ori: upright ? 1 : 0, distr: log ? 3 : 1, ...(limits ? { range: limits } : {}) };
}

function pointElement(self, index) {
  const point = element("div", { class: "cursor-point" });
  point.style.background = self.series[index].stroke(self, index);
  return point;
}

function axis(scale, { label, units, log, splits, values = (value) => tick(value, units) }, side) {
  return {
    ...(splits ? { splits: (self, _, low, high) => splits.filter((value) => value >= low && value <= high) } : {}),
    ...(log ? { splits: (self, _, low, high) => decades(self, low, high, side), filter: (self, splits) => splits } : {}),
    scale,
    side,
    label,
    labelSize: 22,
    labelFont: "13px system-ui, sans-serif",
    font: "12px system-ui, sans-serif",
    size: side === 3 ? 66 : 40,
    gap: 4,
    stroke: () => colour("--ink"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { stroke: () => colour("--line"), width: 1 },
    values: (self, found) => found.map(values),
  };
}

/** Ticks of a logarithmic axis: decades, or 1, 2 and 5 of each where there is room. */
function decades(self, low, high, side) {
  const [pixels, room] = side === 2 ? [self.bbox.width / uPlot.pxRatio || self.width, 62] : [self.bbox.height / uPlot.pxRatio || self.height, 26];
  const fits = (found) => {
    const gaps = found.slice(1).map((value, index) => Math.log(value / found[index]));
    return Math.min(...gaps) * pixels >= room * Math.log(high / low);
  };
  const ticks = (steps, every) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      if (power % every === 0) found.push(...steps.map((step) => step * 10 ** power));
    }
    return found.filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
  };
  const choices = [[[1, 2, 5], 1], [[1], 1], [[1], 2], [[1], 3], [[1], 4]].map(([steps, every]) => ticks(steps, every));
  const chosen = choices.find(fits) ?? choices[choices.length - 1];
  return chosen.length >= TICKS_MIN || high / low > EVEN_MAX ? chosen : evenTicks(low, high);
}

/** Ticks at equal distances, for logarithmic axes that span less than a decade. */
function evenTicks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => (first + index) * step);
}

function faint(rgb) {
  const [red, green, blue] = rgb.match(/[\d.]+/g);
  return `rgba(${red}, ${green}, ${blue}, 0.15)`;
}

/** Index of the value of a line nearest to `index`, at most `reach` away; null if there is none. */
function nearest(ys, index, reach) {
  for (let distance = 0; distance <= reach; distance += 1) {
    for (const candidate of [index - distance, index + distance]) {
      if (ys[candidate] !== null && ys[candidate] !== undefined) return candidate;
    }
  }
  return null;
}

/** Entry of the legend: a button that hides the line, and its number at the cursor. */
function legendEntry(legend, line, number, spec, chart, focus) {
  const swatch = drawn(
    "svg",
    { viewBox: "0 0 28 8", width: 28, height: 8, "aria-hidden": "true" },
    drawn("line", {
      x1: 0, x2: 28, y1: 4, y2: 4, "stroke-width": 2.5,
      stroke: `var(${line.style.variable})`, "stroke-dasharray": line.style.dash.join(" "),
    }),
  );
  const button = element("button", { type: "button", "aria-pressed": String(!spec.hidden.has(line.label)) }, swatch, line.label);
  const output = element("output");
  button.addEventListener("click", () => {
    const hide = !spec.hidden.has(line.label);
    if (hide) spec.hidden.add(line.label);
    else spec.hidden.delete(line.label);
    button.setAttribute("aria-pressed", String(!hide));
    const step = spec.bands ? 3 : 1;
    for (let part = 0; part < step; part += 1) chart().setSeries(1 + number * step + part, { show: !hide });
  });
  for (const name of ["mouseenter", "focus"]) button.addEventListener(name, () => focus(number));
  for (const name of ["mouseleave", "blur"]) button.addEventListener(name, () => focus(null));
  legend.append(element("li", {}, button, output));
  return output;
}

function moveCursor(event, chart, spec, state) {
  const last = spec.xs.length - 1;
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -last, End: last };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const index = Math.max(0, Math.min(last, state.index + steps[event.key]));
  moveTo(chart, index);
}

/** Puts the cursor of a chart at an index. */
function moveTo(chart, index) {
  const upright = chart.scales.x.ori === 1;
  const along = chart.valToPos(chart.data[0][index], "x");
  const across = chart.valToPos(chart.data[1][index] ?? chart.scales.y.min, "y");
  chart.setCursor(upright ? { left: across, top: along } : { left: along, top: across });
}
