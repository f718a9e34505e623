// The slowest flows of a run, and the paths that a chosen one could take.

/** Flow number `row` of a run's list. */
function flowAt(run, row) {
  return Object.fromEntries(Object.entries(run.flows).map(([key, values]) => [key, values[row]]));
}

/** Table of the slowest flows; `choose(row)` is called with the one that is clicked. */
function flowTable(run, shape, choose) {
  const columns = [
    ["flow", (flow) => String(flow.flow)],
    ["from", (flow) => shape.names[flow.src]],
    ["to", (flow) => shape.names[flow.dst]],
    ["size", (flow) => bytes(flow.size_bytes)],
    ["start", (flow) => duration(flow.start_ns)],
    ["FCT", (flow) => duration(flow.fct_ns)],
    ["slowdown", (flow) => significant(flow.slowdown)],
    ["paths taken", (flow) => shown(flow.paths, count)],
    ["sent again", (flow) => shown(flow.retransmitted_packets, count)],
    ["timeouts", (flow) => shown(flow.timeouts, count)],
  ];
  const flows = run.flows.flow.map((_, row) => flowAt(run, row));
  const frame = tableOf("slowest flows", columns.map(([name]) => name), flows.map((flow) => columns.map(([, write]) => write(flow))));
  [...frame.querySelector("tbody").rows].forEach((row, number) => {
    const button = element("button", { type: "button", "aria-pressed": "false", "aria-label": `Show paths of flow ${flows[number].flow}` });
    button.append(...row.cells[0].childNodes);
    row.cells[0].append(button);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      for (const other of frame.querySelectorAll("td button")) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(on));
      choose(on ? number : null);
    });
  });
  return frame;
}

/** Paths of a flow: those of the fabric as built, and which of them had no dead link when it began; in words, too. */
function pathsOfFlow(shape, flow) {
  // What changes at the very moment has changed.
  const state = changesBefore(shape, flow.start_ns + 0.001);
  const built = shortestPaths(shape, flow.src, flow.dst);
  const whole = shortestPaths(shape, flow.src, flow.dst, (port) => isAlive(shape, state, port));
  const dead = new Set([...built.ports].filter((port) => !isAlive(shape, state, port)));
  const sameLength = whole.links === built.links;
  const ports = new Set([...built.ports, ...whole.ports]);
  const paths = (number) => `${count(number)} shortest path${number === 1 ? "" : "s"}`;
  const first = `Flow ${flow.flow}: ${bytes(flow.size_bytes)} from ${shape.names[flow.src]} to ${shape.names[flow.dst]}, ` +
    `begun at ${duration(flow.start_ns)}, done in ${duration(flow.fct_ns)}. `;
  let alive = "All of its links were up when it began. ";
  if (whole.count === 0) alive = "None of them was whole when it began. ";
  else if (!sameLength) alive = `None of them was whole when it began; then the shortest had ${whole.links} links (${paths(whole.count)}). `;
  else if (dead.size) alive = `${whole.count} of them were whole when it began; dead links are dashed. `;
  const taken = pathsTaken(shape, flow, built);
  return { ports, dead, taken: new Set(taken.ports), words: `${first}${paths(built.count)} of ${built.links} links join them. ${alive}${taken.words}` };
}

/** Ports that a flow's segments took, as far as the results say, and what they do not say. */
function pathsTaken(shape, flow, built) {
  // Routing renumbers next hops when links fail or come back.
  const renumbered = shape.changes.some(({ kind, at_ns: ns }) => kind === "down" && ns <= flow.start_ns + flow.fct_ns);
  const known = flow.numbers?.length && !renumbered ? portsOfNumbers(shape, flow.src, flow.dst, built, flow.numbers) : null;
  if (known !== null) {
    const some = flow.paths !== null && flow.paths > known.length ? `, of which ${count(known.length)} were recorded` : "";
    return { ports: known.flat(), words: `It took ${count(flow.paths ?? known.length)} path${(flow.paths ?? known.length) === 1 ? "" : "s"}${some}, drawn strong.` };
  }
  const words = flow.paths === null
    ? "Results do not say how many it took."
    : flow.paths === 1 ? "It took one path; results do not say which." : `It took ${count(flow.paths)} paths; results do not say which.`;
  return { ports: [], words };
}
