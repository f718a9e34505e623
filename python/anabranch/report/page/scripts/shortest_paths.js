// Shortest paths between two nodes of a fabric, as routing knows them: by the cost of links, hosts pass nothing on, and
// network cards only what is for their own host.

/** Ports that leave each node. */
function portsOf(shape) {
  const from = shape.graph.from.values;
  const found = shape.names.map(() => []);
  from.forEach((node, port) => found[node].push(port));
  return found;
}

/** Cost from each node to `target` over ports for which `alive(port)` holds, as far as `source`. */
function costsTo(shape, source, target, alive) {
  const { from, reverse, cost } = Object.fromEntries(Object.entries(shape.graph).map(([key, array]) => [key, array.values]));
  const cards = new Set(shape.cards ?? []);
  const found = new Map([[target, 0]]);
  const borders = [[target]];
  for (let reached = 0; reached < borders.length; reached += 1) {
    for (const node of borders[reached] ?? []) {
      if (found.get(node) !== reached || (node < shape.hosts && node !== target)) continue;
      for (const port of shape.leaving[node]) {
        const back = reverse[port];
        const before = from[back];
        if (cards.has(node) && reached > 1 && before >= shape.hosts) continue;
        const total = reached + (cost?.[back] ?? 1);
        if (!alive(back) || (found.get(before) ?? Infinity) <= total) continue;
        found.set(before, total);
        (borders[total] ??= []).push(before);
      }
    }
    if (found.get(source) <= reached) break;
  }
  return found;
}

/**
 * Shortest paths from `source` to `target` over ports for which `alive(port)` holds: {count, links, ports}, ports a
 * set of those on any of them.
 */
function shortestPaths(shape, source, target, alive = () => true) {
  const { to, cost } = Object.fromEntries(Object.entries(shape.graph).map(([key, array]) => [key, array.values]));
  shape.leaving ??= portsOf(shape);
  const cards = new Set(shape.cards ?? []);
  const distance = costsTo(shape, source, target, alive);
  if (!distance.has(source)) return { count: 0, links: 0, ports: new Set() };
  const ports = new Set();
  // Paths that reach a node, from the source on, and the links of the longest of them; nearer nodes come later.
  const reached = new Map([[source, { paths: 1, links: 0 }]]);
  const waiting = [source];
  while (waiting.length) {
    const far = waiting.reduce((best, node, index) => (distance.get(node) > distance.get(waiting[best]) ? index : best), 0);
    const [node] = waiting.splice(far, 1);
    if (node === target) break;
    for (const port of shape.leaving[node]) {
      const next = to[port];
      if (distance.get(next) !== distance.get(node) - (cost?.[port] ?? 1) || !alive(port)) continue;
      if (next < shape.hosts && next !== target) continue;
      if (cards.has(next) && node >= shape.hosts && distance.get(next) > 1) continue;
      ports.add(port);
      if (!reached.has(next)) {
        reached.set(next, { paths: 0, links: 0 });
        waiting.push(next);
      }
      const known = reached.get(next);
      known.paths += reached.get(node).paths;
      known.links = Math.max(known.links, reached.get(node).links + 1);
    }
  }
  const end = reached.get(target);
  return { count: end?.paths ?? 0, links: end?.links ?? 0, ports };
}
