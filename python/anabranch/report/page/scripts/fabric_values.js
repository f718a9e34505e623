// What the links of a drawn fabric carry: the measures that a reader chooses from.

const LINK_MEASURES = {
  utilization: { name: "utilisation", format: (value) => `${(100 * value).toFixed(2)} %`, units: PLAIN },
  backlog: { name: "largest backlog", format: bytes, units: SIZES },
  drops: { name: "drops and losses", format: (value) => `${count(value)} packets`, units: PLAIN },
};

/** Values of a measure at an interval, one for each carrier; zeros before the first interval has ended. */
function valuesAt(run, measure, interval) {
  const { times } = run;
  if (times.start_ns.values.length === 0) return new Array(times.utilization.shape[1]).fill(0);
  if (measure === "utilization") return at(times.utilization, interval).map((steps) => steps * times.utilization_step);
  if (measure === "backlog") return at(times.backlog, interval);
  const carriers = times.utilization.shape[1];
  const found = new Array(carriers).fill(0);
  times.drops.positions.values.forEach((position, index) => {
    if (Math.floor(position / carriers) === interval) found[position % carriers] = times.drops.values.values[index];
  });
  return found;
}

/** Values of a measure of one carrier, over all intervals. */
function valuesOf(run, measure, carrier) {
  const { times } = run;
  const [intervals, carriers] = times.utilization.shape;
  const column = (array, scale) => Array.from({ length: intervals }, (_, interval) => scale * array.values[interval * carriers + carrier]);
  if (measure === "utilization") return column(times.utilization, times.utilization_step);
  if (measure === "backlog") return column(times.backlog, 1);
  const found = new Array(intervals).fill(0);
  times.drops.positions.values.forEach((position, index) => {
    if (position % carriers === carrier) found[Math.floor(position / carriers)] = times.drops.values.values[index];
  });
  return found;
}

/** Value that has the hottest colour: 1 of utilisation, the largest of the run of what is counted. */
function hottest(run, measure) {
  if (measure === "utilization") return 1;
  const { values } = measure === "backlog" ? run.times.backlog : run.times.drops.values;
  return values.reduce((most, value) => Math.max(most, value), 0) || 1;
}

/** Time of an interval in words. */
function intervalWords(run, interval) {
  const start = run.times.start_ns.values[interval];
  return `${time(start)} to ${time(start + run.times.length_ns.values[interval])}`;
}

/** A time of the simulation, with more digits than a duration: `12.4 ms`, `150 us`, `0`. */
function time(ns) {
  return tick(ns, TIMES);
}

/** Interval in which a time lies. */
function intervalOf(run, ns) {
  const starts = run.times.start_ns.values;
  let found = 0;
  while (found + 1 < starts.length && starts[found + 1] <= ns) found += 1;
  return found;
}
