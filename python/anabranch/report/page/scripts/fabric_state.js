// Changes of a fabric: what is down, slow or lossy at a time.

/** Changes in force before `until`: by port and by node, {kind: change}, without what is as built again. */
function changesBefore(shape, until) {
  const ports = new Map();
  const nodes = new Map();
  for (const change of shape.changes) {
    if (change.at_ns >= until) continue;
    const [table, key] = change.port === null ? [nodes, change.node] : [ports, change.port];
    const kinds = table.get(key) ?? {};
    if (change.cleared) delete kinds[change.kind];
    else kinds[change.kind] = change;
    table.set(key, kinds);
  }
  return { ports, nodes };
}

/** Whether a port carries packets: it, its node and the node at its other end are not down. */
function isAlive(shape, state, port) {
  const down = (table, key) => Boolean(table.get(key)?.down);
  const { from, to } = shape.graph;
  return !down(state.ports, port) && !down(state.nodes, from.values[port]) && !down(state.nodes, to.values[port]);
}

/** Name of what a change concerns. */
function changedName(shape, { port, node }) {
  if (port === null) return shape.names[node];
  const { from, to } = shape.graph;
  return `${shape.names[from.values[port]]} to ${shape.names[to.values[port]]}`;
}

/** Every moment at which something changes, in words; both directions of a link are told once. */
function momentsOfChange(shape) {
  const moments = new Map();
  for (const change of shape.changes) {
    const both = shape.changes.some(
      (other) =>
        change.port !== null && other.port !== null && other.at_ns === change.at_ns && other.kind === change.kind &&
        other.words === change.words && other.port < change.port && shape.graph.reverse.values[change.port] === other.port,
    );
    if (both) continue;
    const words = `${changedName(shape, change)}: ${change.words}`;
    moments.set(change.at_ns, [...(moments.get(change.at_ns) ?? []), words]);
  }
  return [...moments].sort(([a], [b]) => a - b);
}
