// Drawing of a fabric: boxes, links whose halves have the colour of their own port, what has failed, paths of a flow.

const ROW_PIXELS = 86;
const MARGIN_PIXELS = 128;
const NARROW_PIXELS = 700;
const LETTER_PIXELS = 7.5;
const CROWD = 60;

/** Draws a shape into `host`: {svg, lines, boxes}, to be coloured; `chosen(carrier)` is called on a click of a link. */
function drawShape(host, shape, chosen) {
  const width = host.clientWidth;
  const margin = width >= NARROW_PIXELS ? MARGIN_PIXELS : 0;
  const x = (inches) => margin + (inches / shape.width) * (width - margin);
  const y = (inches) => inches * ROW_PIXELS;
  const height = y(shape.height);
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "The fabric; the table below has its numbers." });
  const layers = Object.fromEntries(["links", "paths", "boxes", "marks", "hits"].map((name) => [name, drawn("g", { class: name })]));
  const stroke = Math.max(1, Math.min(3.5, 3.5 * Math.sqrt(CROWD / shape.carriers.length)));
  const places = shape.carriers.map(({ line }) => ({ x1: x(line[0]), y1: y(line[1]), x2: x(line[2]), y2: y(line[3]) }));
  const lines = places.map((place) => drawn("line", { ...place, "stroke-width": stroke }));
  places.forEach((place, carrier) => {
    const hit = drawn("line", { ...place, "stroke-width": 9, onclick: () => chosen(carrier) });
    hit.append(drawn("title", {}, shape.carriers[carrier].label));
    layers.hits.append(hit);
  });
  layers.links.append(...lines);
  const boxes = shape.boxes.map((box) => drawBox(layers.boxes, shape, box, x, y));
  if (margin) {
    for (const tier of shape.tiers) layers.marks.append(drawn("text", { x: 0, y: y(tier.y) + 4, class: "tier" }, tier.text));
  }
  svg.append(...Object.values(layers));
  host.replaceChildren(svg);
  return { svg, layers, lines, boxes, places, stroke };
}

function drawBox(layer, shape, box, x, y) {
  const width = x(box.width) - x(0);
  const rect = (top, bottom, name) => {
    const made = drawn("rect", { x: x(box.x) - width / 2, y: y(top), width, height: y(bottom) - y(top), rx: 3, class: name });
    layer.append(made);
    return made;
  };
  const write = (text, top, bottom) => {
    const [along, middle, length] = [x(box.x), (y(top) + y(bottom)) / 2, text.length * LETTER_PIXELS];
    if (length <= width) layer.append(drawn("text", { x: along, y: middle + 4, class: "name" }, text));
    else if (length <= y(bottom) - y(top) && width >= 2 * LETTER_PIXELS) {
      layer.append(drawn("text", { x: along, y: middle, class: "name", transform: `rotate(-90 ${along} ${middle}) translate(0 4)` }, text));
    }
  };
  const found = { box: rect(box.top, box.bottom, "switch") };
  found.box.append(drawn("title", {}, box.title));
  write(box.name, box.top, box.bottom);
  if (box.hosts.length) {
    found.hosts = rect(shape.host_top, shape.host_bottom, "host");
    found.hosts.append(drawn("title", {}, `${box.hosts.length} hosts of ${box.title}`));
    write(String(box.hosts.length), shape.host_top, shape.host_bottom);
  }
  return found;
}

/** Colour of a fraction between the stops of the present theme. */
function heat(fraction, stops) {
  const place = Math.min(1, Math.max(0, fraction)) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const [a, b] = [stops[low], stops[low + 1]].map((rgb) => rgb.match(/[\d.]+/g).map(Number));
  return `rgb(${a.map((value, index) => Math.round(value + (b[index] - value) * (place - low))).slice(0, 3).join(", ")})`;
}

/** Gives each half of a link the colour of its value, and the chosen one a thicker line. */
function colourLines(drawing, values, most, stops, chosen) {
  drawing.lines.forEach((line, carrier) => line.setAttribute("stroke", heat(values[carrier] / most, stops)));
  drawing.layers.hits.querySelector(".chosen")?.classList.remove("chosen");
  drawing.layers.hits.children[chosen]?.classList.add("chosen");
}

const MARKS_MAX = 12;

/** Marks what is down, slow or lossy. */
function markChanges(drawing, shape, state) {
  for (const old of drawing.layers.marks.querySelectorAll(".change")) old.remove();
  const mark = (x, y, kinds, written) => {
    const down = Boolean(kinds.down);
    const words = Object.values(kinds).map((change) => change.words).join(", ");
    if (down) drawing.layers.marks.append(drawn("path", { d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10`, class: "change down" }));
    if (written && words) drawing.layers.marks.append(drawn("text", { x: x + (down ? 9 : 0), y: y + 4, class: down ? "change down" : "change slow" }, words));
  };
  const few = state.ports.size + state.nodes.size <= MARKS_MAX;
  const dead = new Set();
  shape.carriers.forEach(({ ports }, carrier) => {
    const kinds = ports.length === 1 ? state.ports.get(ports[0]) : undefined;
    drawing.lines[carrier].classList.toggle("down", Boolean(kinds?.down));
    if (!kinds || !Object.keys(kinds).length) return;
    // Both directions of a link are written once, unless only one has changed.
    const back = shape.graph.reverse.values[ports[0]];
    const { x1, y1, x2, y2 } = drawing.places[carrier];
    mark(x1 + 0.6 * (x2 - x1), y1 + 0.6 * (y2 - y1), kinds, few && !dead.has(back));
    dead.add(ports[0]);
  });
  shape.boxes.forEach((box, index) => {
    const kinds = Object.assign({}, ...box.nodes.map((node) => state.nodes.get(node) ?? {}));
    const rect = drawing.boxes[index].box;
    rect.classList.toggle("down", Boolean(kinds.down));
    if (Object.keys(kinds).length) {
      const middle = Number(rect.getAttribute("x")) + Number(rect.getAttribute("width")) / 2;
      mark(middle, Number(rect.getAttribute("y")) - 8, kinds, few);
    }
  });
}

/** Draws the paths of a flow over the links: ports that were dead dashed, ports that it took strong. */
function drawPaths(drawing, shape, { ports, dead, taken }) {
  drawing.layers.paths.replaceChildren();
  shape.carriers.forEach((carrier, index) => {
    const mine = carrier.ports.find((port) => taken.has(port)) ?? carrier.ports.find((port) => ports.has(port));
    if (mine === undefined) return;
    const { x1, y1, x2, y2 } = drawing.places[index];
    // The whole link: a half is only the colour of its own end.
    const end = { x2: 2 * x2 - x1, y2: 2 * y2 - y1 };
    drawing.layers.paths.append(drawn("line", { x1, y1, ...end, "stroke-width": 2 * drawing.stroke, class: `path${dead.has(mine) ? " dead" : ""}${taken.has(mine) ? " taken" : ""}` }));
  });
}

/** Marks the boxes of a flow's two hosts. */
function markHosts(drawing, shape, hosts) {
  shape.boxes.forEach((box, index) => {
    // A server's box has the network cards of its accelerators among its nodes.
    const ends = [...box.hosts, ...box.nodes.filter((node) => node < shape.hosts)];
    drawing.boxes[index].hosts?.classList.toggle("end", ends.some((host) => hosts.includes(host)));
  });
}
