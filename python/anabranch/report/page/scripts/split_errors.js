// Errors of a split: expected against the number of connections, measured path by path; of all techniques or of one.

const AMOUNTS = { connections: "connections", bytes: "bytes" };
const percentWords = (value) => `${value.toPrecision(3)} %`;
const signedWords = (value) => `${value > 0 ? "+" : ""}${value.toPrecision(3)} %`;

/** Shows the section, its controls and its charts. */
function startSplitErrors(data) {
  document.getElementById("explore").hidden = false;
  const choice = { amount: "connections", technique: -1, hidden: { connections: new Set(), paths: new Set() } };
  const chosen = () => data.techniques.map((label, index) => ({ label, index, style: lineStyle(index) })).filter(({ index }) => choice.technique < 0 || choice.technique === index);
  const draw = () => {
    drawAgainstConnections(document.getElementById("against-connections"), data, chosen(), choice.hidden.connections);
    drawByPath(document.getElementById("by-path"), data, chosen(), choice);
  };
  const set = (key, read) => (value) => {
    choice[key] = read(value);
    draw();
  };
  const techniques = [[-1, "all techniques"], ...data.techniques.map((label, index) => [index, label])];
  document.getElementById("choice").replaceWith(element("div", { class: "choosers", role: "group", "aria-label": "What the charts show" },
    chooser("Technique", "technique", techniques, choice.technique, set("technique", Number)),
    chooser("By path, of", "amount", Object.entries(AMOUNTS), choice.amount, set("amount", String))));
  draw();
}

function drawAgainstConnections(host, data, techniques, hidden) {
  const ideal = { label: "ideal hash", style: { colour: () => colour("--faint"), variable: "--faint", dash: [2, 3] }, ys: Array.from(data.floor.values) };
  const lines = techniques.map(({ label, index, style }) => ({ label, style, ys: at(data.expected, index) })).filter(({ ys }) => ys.some((value) => value !== null));
  lineChart(host, {
    name: "Expected error against connections",
    along: { label: "connections (log scale)", units: [["M", 1e6], ["k", 1e3], ["", 1]], log: true },
    across: { label: "expected error, % MAPE (log scale)", units: PLAIN, log: true },
    xs: data.connections,
    lines: [ideal, ...lines],
    format: percentWords,
    where: (index) => `over ${count(data.connections[index])} connections${index === data.here ? ", as in this trace" : ""}`,
    start: data.here,
    hidden,
  });
}

function drawByPath(host, data, techniques, choice) {
  const xs = data.paths.map((_, index) => index + 1);
  lineChart(host, {
    name: "Error by path",
    along: { label: "path", units: PLAIN, range: padded, splits: xs.length <= 24 ? xs : null },
    across: { label: `error of the ${AMOUNTS[choice.amount]}, %`, units: PLAIN },
    xs,
    lines: techniques.map(({ label, index, style }) => ({ label, style, ys: at(data.by_path[choice.amount], index) })),
    points: true,
    format: signedWords,
    where: (index) => `${data.paths[index]}, ${AMOUNTS[choice.amount]}`,
    start: 0,
    hidden: choice.hidden.paths,
  });
}
