// The data of the page: plain values, and arrays in place of what packs them.

/** Reads the element with the page's data. */
function readPage() {
  return readPacked(document.getElementById("data").textContent);
}

/** Value of a JSON text, with arrays in place of what packs them. */
function readPacked(text) {
  return JSON.parse(text, (_, value) => (value && typeof value === "object" && "bytes" in value && "kind" in value ? unpack(value) : value));
}
