// Paths by the numbers that events.parquet has: at each switch with n next hops, n times the number before plus the choice.

const NUMBERS = 65536;
const WALKED_MAX = 20000;

/** Ports of each path whose number is among `numbers`, or null if a number is of none or of several. */
function portsOfNumbers(shape, source, target, shortest, numbers) {
  if (shortest.count > WALKED_MAX) return null;
  const to = shape.graph.to.values;
  const found = new Map(numbers.map((number) => [number, []]));
  const walk = (node, number, ports) => {
    if (node === target) {
      found.get(number)?.push(ports);
      return;
    }
    // Next hops ascend by port; a host has no choice.
    const hops = shape.leaving[node].filter((port) => shortest.ports.has(port));
    const choices = node < shape.hosts ? 1 : hops.length;
    hops.forEach((port, choice) => walk(to[port], choices > 1 ? (number * choices + choice) % NUMBERS : number, [...ports, port]));
  };
  walk(source, 0, []);
  const paths = [...found.values()];
  return paths.every((candidates) => candidates.length === 1) ? paths.map(([ports]) => ports) : null;
}
