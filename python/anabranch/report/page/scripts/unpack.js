// Arrays of numbers that explore/packed.py wrote into the page.

const ARRAYS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

/** Array with its shape: {shape, values}, values in the order of C. */
function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.bytes), (letter) => letter.charCodeAt(0));
  return { shape: packed.shape, values: new ARRAYS[packed.kind](bytes.buffer) };
}

/** Part of an array at its first `indexes`, as a plain list in which NaN is null; one number if it is a single one. */
function at(array, ...indexes) {
  let length = array.values.length;
  let from = 0;
  indexes.forEach((index, depth) => {
    length /= array.shape[depth];
    from += index * length;
  });
  const part = Array.from(array.values.subarray(from, from + length), (value) => (Number.isNaN(value) ? null : value));
  return indexes.length === array.shape.length ? part[0] : part;
}
