// Shortest paths between two nodes of a fabric, as routing knows them: by the number of links, hosts pass nothing on.

/** Ports that leave each node. */
function portsOf(shape) {
  const from = shape.graph.from.values;
  const found = shape.names.map(() => []);
  from.forEach((node, port) => found[node].push(port));
  return found;
}

/**
 * Shortest paths from `source` to `target` over ports for which `alive(port)` holds: {count, links, ports}, ports a
 * set of those on any of them.
 */
function shortestPaths(shape, source, target, alive = () => true) {
  const { from, to, reverse } = Object.fromEntries(Object.entries(shape.graph).map(([key, array]) => [key, array.values]));
  shape.leaving ??= portsOf(shape);
  const distance = new Map([[target, 0]]);
  let border = [target];
  while (border.length && !distance.has(source)) {
    const next = [];
    for (const node of border) {
      if (node < shape.hosts && node !== target) continue;
      for (const port of shape.leaving[node]) {
        const back = reverse[port];
        if (!alive(back) || distance.has(from[back])) continue;
        distance.set(from[back], distance.get(node) + 1);
        next.push(from[back]);
      }
    }
    border = next;
  }
  if (!distance.has(source)) return { count: 0, links: 0, ports: new Set() };
  const ports = new Set();
  // Paths that reach a node, from the source on.
  let reached = new Map([[source, 1]]);
  for (let left = distance.get(source); left > 0; left -= 1) {
    const next = new Map();
    for (const [node, paths] of reached) {
      for (const port of shape.leaving[node]) {
        if (distance.get(to[port]) !== left - 1 || !alive(port)) continue;
        if (to[port] < shape.hosts && to[port] !== target) continue;
        ports.add(port);
        next.set(to[port], (next.get(to[port]) ?? 0) + paths);
      }
    }
    reached = next;
  }
  return { count: reached.get(target) ?? 0, links: distance.get(source), ports };
}
