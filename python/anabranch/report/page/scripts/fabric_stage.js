// The fabric at an interval: its drawing, the slider, a chosen link and its values over all intervals.

const STEP_MILLISECONDS = 160;

/**
 * Stage in the elements `fabric-...` of the page.
 *
 * `run()` and `shape()` are what it shows now; `decorate(drawing, shape)` adds to the drawing; `moved(interval)` is called
 * when the reader goes to an interval. Returns {view, measures, show, grow, go, paint}: `show` draws all anew, `grow` says
 * that the run has further intervals, `paint` that colours changed.
 */
function fabricStage(heat, { run, shape, decorate = () => {}, moved = () => {} }) {
  const part = (name) => document.getElementById(`fabric-${name}`);
  const view = { measure: "utilization", interval: 0, carrier: 0 };
  const last = () => run().times.start_ns.values.length - 1;
  let drawing = null;
  let timer = null;
  let link = null;

  const stops = () => Array.from({ length: heat }, (_, index) => colour(`--heat-${index}`));
  const draw = () => {
    drawing = drawShape(part("drawing"), shape(), chooseLink);
    paint();
  };
  const chooseLink = (carrier) => {
    view.carrier = carrier;
    part("link").querySelector("select").value = String(carrier);
    showLink();
    paint();
  };
  const paint = () => {
    const { times } = run();
    const values = valuesAt(run(), view.measure, view.interval);
    const known = last() >= 0;
    const until = known ? times.start_ns.values[view.interval] + times.length_ns.values[view.interval] : 0;
    const most = hottest(run(), view.measure);
    colourLines(drawing, values, most, stops(), view.carrier);
    markChanges(drawing, shape(), changesBefore(shape(), until));
    decorate(drawing, shape());
    const slider = part("time");
    const words = known ? intervalWords(run(), view.interval) : "no interval yet";
    slider.value = String(view.interval);
    slider.setAttribute("aria-valuetext", words);
    part("interval").textContent = words;
    part("value").textContent = `${shape().carriers[view.carrier].label}: ` +
      Object.entries(LINK_MEASURES).map(([key, { name, format }]) => `${name} ${known ? format(valuesAt(run(), key, view.interval)[view.carrier]) : ABSENT}`).join(", ");
    const { format, name } = LINK_MEASURES[view.measure];
    part("least").textContent = `${name} 0`;
    part("most").textContent = view.measure === "utilization" ? "100 %" : format(most);
    if (link !== null && known) moveTo(link.chart, view.interval);
  };
  const linkValues = () => {
    const percent = view.measure === "utilization";
    return valuesOf(run(), view.measure, view.carrier).map((value) => (percent ? 100 * value : value));
  };
  const showLink = () => {
    const { name, format, units } = LINK_MEASURES[view.measure];
    const percent = view.measure === "utilization";
    const spec = {
      name: `${name} over time`,
      along: { label: "simulated time", units: TIMES, range: (self, low, high) => [low, high > low ? high : low + 1] },
      across: { label: percent ? "utilisation, %" : name, units, range: (self, low, high) => [0, percent ? 100 : 1.05 * (high || 1)] },
      xs: Array.from(run().times.start_ns.values),
      lines: [{ label: shape().carriers[view.carrier].label, style: lineStyle(0), ys: linkValues() }],
      format: percent ? (value) => format(value / 100) : format,
      where: (index) => intervalWords(run(), index),
      start: view.interval,
      hidden: new Set(),
      nothing: "No interval has ended yet.",
    };
    const chart = lineChart(part("over-time"), spec);
    link = chart === null ? null : { chart, spec };
  };
  const countIntervals = () => {
    part("time").max = String(Math.max(0, last()));
    view.interval = Math.max(0, Math.min(view.interval, last()));
    const { joined } = run().times;
    part("joined").textContent = joined > 1
      ? `Up to ${joined} intervals of ports.parquet are joined: the mean of utilisation, the largest backlog, the sum of drops.`
      : "Intervals are those of ports.parquet.";
  };
  const grow = (interval) => {
    view.interval = interval;
    countIntervals();
    if (link === null) showLink();
    else {
      link.spec.xs = Array.from(run().times.start_ns.values);
      link.spec.lines[0].ys = linkValues();
      link.chart.setData(chartData(link.spec));
    }
    paint();
  };
  const go = (interval) => {
    view.interval = Math.max(0, Math.min(last(), interval));
    moved(view.interval);
    paint();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    part("play").textContent = "Play";
  };
  const play = () => {
    if (timer !== null) return stop();
    if (view.interval >= last()) go(0);
    part("play").textContent = "Pause";
    timer = setInterval(() => (view.interval >= last() ? stop() : go(view.interval + 1)), STEP_MILLISECONDS);
    return undefined;
  };
  const show = () => {
    stop();
    view.carrier = Math.min(view.carrier, shape().carriers.length - 1);
    countIntervals();
    part("tiers").textContent = `From above: ${[...shape().tiers].reverse().map(({ text }) => text).join(", ")}.`;
    const links = shape().carriers.map(({ label }, carrier) => [carrier, label]);
    part("link").replaceChildren(chooser("Link", "link", links, view.carrier, (carrier) => chooseLink(Number(carrier))));
    part("changes").replaceChildren(...momentsOfChange(shape()).map(([ns, words]) =>
      element("li", {}, element("button", { type: "button", onclick: () => go(intervalOf(run(), ns)) }, time(ns)), ` ${words.slice(0, MARKS_MAX).join("; ")}`)));
    draw();
    showLink();
  };
  const measures = () => chooser("Colour by", "link-measure", Object.entries(LINK_MEASURES).map(([key, { name }]) => [key, name]), view.measure, (measure) => {
    view.measure = measure;
    showLink();
    paint();
  });
  part("time").addEventListener("input", (event) => go(Number(event.target.value)));
  part("play").addEventListener("click", play);
  new ResizeObserver(() => {
    if (drawing !== null && part("drawing").clientWidth !== Number(drawing.svg.getAttribute("width"))) draw();
  }).observe(part("drawing"));
  return { view, measures, show, grow, go, paint };
}
