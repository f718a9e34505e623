// Queues, congestion windows and rates of flows over time: one port or flow, a line for each run that traced it.

const TRACE_KINDS = {
  queues: { word: "backlog", units: SIZES, format: bytes },
  windows: { word: "congestion window", units: SIZES, format: bytes },
  rates: { word: "allowed rate", units: RATES, format: bitRate },
};

/** Shows the section, if anything was traced. */
function startTraces(data) {
  const { rows } = data.traces;
  if (!rows.length) return;
  const section = document.getElementById("traces");
  section.hidden = false;
  const nameOf = ({ kind, of }) => `${TRACE_KINDS[kind].word}: ${of}`;
  const names = [...new Set(rows.map(nameOf))];
  const draw = (name) => drawTraces(document.getElementById("trace"), name, rows.filter((row) => nameOf(row) === name));
  document.getElementById("trace-choice").replaceChildren(chooser("Trace", "trace", names.map((name) => [name, name]), names[0], draw));
  draw(names[0]);
}

function drawTraces(host, name, rows) {
  const { units, format } = TRACE_KINDS[rows[0].kind];
  const xs = [...new Set(rows.flatMap((row) => Array.from(row.time_ns.values)))].sort((a, b) => a - b);
  const place = new Map(xs.map((ns, index) => [ns, index]));
  const lines = rows.map((row, number) => {
    const spread = (array) => {
      const values = new Array(xs.length).fill(null);
      row.time_ns.values.forEach((ns, index) => (values[place.get(ns)] = array.values[index]));
      return values;
    };
    return { label: row.label, style: { ...lineStyle(number), dash: [] }, ys: spread(row.high), low: spread(row.low), high: spread(row.high) };
  });
  lineChart(host, {
    name,
    along: { label: "simulated time", units: TIMES, range: (self, low, high) => [low, high > low ? high : low + 1] },
    across: { label: name.split(":")[0], units, range: (self, low, high) => [0, 1.05 * (high || 1)] },
    xs,
    lines,
    bands: true,
    steps: true,
    format,
    reach: xs.length,
    where: (index) => `at ${duration(xs[index])}`,
    start: 0,
    hidden: new Set(),
  });
}
