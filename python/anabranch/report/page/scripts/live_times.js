// Intervals of a run that goes on: those that the page has, and those that the server adds.

/** Intervals of a run before its first one has ended. */
function noTimes(carriers) {
  const none = (kind, ...shape) => ({ shape, values: new ARRAYS[kind](0) });
  return {
    start_ns: none("f8", 0), length_ns: none("f8", 0), joined: 1, utilization: none("u2", 0, carriers), utilization_step: 1,
    backlog: none("u4", 0, carriers), drops: { positions: none("u4", 0), values: none("u4", 0) },
  };
}

/** Intervals `times` up to `from`, followed by `later`. */
function followedBy(times, from, later) {
  if (from === 0) return later;
  const carriers = times.utilization.shape[1];
  const grown = (before, after, length) => {
    const values = new before.values.constructor(length + after.values.length);
    values.set(before.values.subarray(0, length));
    values.set(after.values, length);
    const along = before.shape.slice(1);
    return { shape: [values.length / along.reduce((product, size) => product * size, 1), ...along], values };
  };
  const positions = times.drops.positions.values;
  const kept = positions.findIndex((position) => position >= from * carriers);
  const drops = kept < 0 ? positions.length : kept;
  const moved = { ...later.drops.positions, values: later.drops.positions.values.map((position) => position + from * carriers) };
  return {
    ...later,
    start_ns: grown(times.start_ns, later.start_ns, from),
    length_ns: grown(times.length_ns, later.length_ns, from),
    utilization: grown(times.utilization, later.utilization, from * carriers),
    backlog: grown(times.backlog, later.backlog, from * carriers),
    drops: { positions: grown(times.drops.positions, moved, drops), values: grown(times.drops.values, later.drops.values, drops) },
  };
}
