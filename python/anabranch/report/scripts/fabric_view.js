// The fabric over time: a run, a measure, an interval, a link, a flow.

const STEP_MILLISECONDS = 160;

/** Shows the section, its controls and its drawing. */
function startFabric(data) {
  const section = document.getElementById("fabric-view");
  section.hidden = false;
  const part = (name) => document.getElementById(`fabric-${name}`);
  const view = { run: 0, measure: "utilization", interval: 0, carrier: 0, flow: null };
  const run = () => data.fabric.runs[view.run];
  const shape = () => data.fabric.shapes[run().shape];
  let drawing = null;
  let timer = null;
  let link = null;

  const stops = () => Array.from({ length: data.fabric.heat.length }, (_, index) => colour(`--heat-${index}`));
  const draw = () => {
    drawing = drawShape(part("drawing"), shape(), (carrier) => {
      view.carrier = carrier;
      part("link").querySelector("select").value = String(carrier);
      showLink();
      paint();
    });
    paint();
  };
  const paint = () => {
    const values = valuesAt(run(), view.measure, view.interval);
    const state = changesBefore(shape(), run().times.start_ns.values[view.interval] + run().times.length_ns.values[view.interval]);
    colourLines(drawing, values, hottest(run(), view.measure), stops(), view.carrier);
    markChanges(drawing, shape(), state);
    const flow = view.flow === null ? null : flowAt(run(), view.flow);
    const paths = flow === null ? { ports: new Set(), dead: new Set(), taken: new Set(), words: "" } : pathsOfFlow(shape(), flow);
    drawPaths(drawing, shape(), paths);
    markHosts(drawing, shape(), flow === null ? [] : [flow.src, flow.dst]);
    part("flow").textContent = paths.words;
    const slider = part("time");
    slider.value = String(view.interval);
    slider.setAttribute("aria-valuetext", intervalWords(run(), view.interval));
    part("interval").textContent = intervalWords(run(), view.interval);
    part("value").textContent = `${shape().carriers[view.carrier].label}: ` +
      Object.entries(LINK_MEASURES).map(([key, { name, format }]) => `${name} ${format(valuesAt(run(), key, view.interval)[view.carrier])}`).join(", ");
    const { format, name } = LINK_MEASURES[view.measure];
    part("least").textContent = `${name} 0`;
    part("most").textContent = view.measure === "utilization" ? "100 %" : format(hottest(run(), view.measure));
    if (link !== null) moveTo(link, view.interval);
  };
  const showLink = () => {
    const { times } = run();
    const { name, format, units } = LINK_MEASURES[view.measure];
    const percent = view.measure === "utilization";
    link = lineChart(part("over-time"), {
      name: `${name} over time`,
      along: { label: "simulated time", units: TIMES, range: (self, low, high) => [low, high > low ? high : low + 1] },
      across: { label: percent ? "utilisation, %" : name, units, range: (self, low, high) => [0, percent ? 100 : 1.05 * (high || 1)] },
      xs: Array.from(times.start_ns.values),
      lines: [{ label: shape().carriers[view.carrier].label, style: lineStyle(0), ys: valuesOf(run(), view.measure, view.carrier).map((value) => (percent ? 100 * value : value)) }],
      format: percent ? (value) => format(value / 100) : format,
      where: (index) => intervalWords(run(), index),
      start: view.interval,
      hidden: new Set(),
    });
  };
  const go = (interval) => {
    view.interval = Math.max(0, Math.min(run().times.start_ns.values.length - 1, interval));
    paint();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    part("play").textContent = "Play";
  };
  const play = () => {
    if (timer !== null) return stop();
    const last = run().times.start_ns.values.length - 1;
    if (view.interval === last) go(0);
    part("play").textContent = "Pause";
    timer = setInterval(() => (view.interval === last ? stop() : go(view.interval + 1)), STEP_MILLISECONDS);
    return undefined;
  };
  const showRun = () => {
    stop();
    view.flow = null;
    view.carrier = Math.min(view.carrier, shape().carriers.length - 1);
    const { times } = run();
    part("time").max = String(times.start_ns.values.length - 1);
    view.interval = Math.min(view.interval, times.start_ns.values.length - 1);
    part("joined").textContent = times.joined > 1
      ? `Up to ${times.joined} intervals of ports.parquet are joined: the mean of utilisation, the largest backlog, the sum of drops.`
      : "Intervals are those of ports.parquet.";
    part("tiers").textContent = `From above: ${[...shape().tiers].reverse().map(({ text }) => text).join(", ")}.`;
    const links = shape().carriers.map(({ label }, carrier) => [carrier, label]);
    part("link").replaceChildren(chooser("Link", "link", links, view.carrier, (carrier) => {
      view.carrier = Number(carrier);
      showLink();
      paint();
    }));
    part("changes").replaceChildren(...momentsOfChange(shape()).map(([ns, words]) =>
      element("li", {}, element("button", { type: "button", onclick: () => go(intervalOf(run(), ns)) }, time(ns)), ` ${words.slice(0, MARKS_MAX).join("; ")}`)));
    part("flows").replaceChildren(flowTable(run(), shape(), (row) => {
      view.flow = row;
      if (row !== null) go(intervalOf(run(), run().flows.start_ns[row]));
      else paint();
    }));
    draw();
    showLink();
  };

  const runs = data.fabric.runs.map(({ label }, index) => [index, label || data.name]);
  const setRun = (value) => {
    view.run = Number(value);
    showRun();
  };
  const setMeasure = (value) => {
    view.measure = value;
    showLink();
    paint();
  };
  const measures = Object.entries(LINK_MEASURES).map(([key, { name }]) => [key, name]);
  part("choice").replaceChildren(
    ...(runs.length > 1 ? [chooser("Run", "run", runs, 0, setRun)] : []),
    chooser("Colour by", "link-measure", measures, view.measure, setMeasure),
  );
  part("time").addEventListener("input", (event) => go(Number(event.target.value)));
  part("play").addEventListener("click", play);
  new ResizeObserver(() => {
    if (drawing !== null && part("drawing").clientWidth !== Number(drawing.svg.getAttribute("width"))) draw();
  }).observe(part("drawing"));
  showRun();
  return paint;
}
