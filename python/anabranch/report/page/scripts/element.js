// Elements of the page, made without text that could be read as markup.

/** Element with attributes and children; a child that is no node becomes text. `on...` attributes are listeners. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  give(made, attributes, children);
  return made;
}

/** The same within a drawing. */
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  give(made, attributes, children);
  return made;
}

function give(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
}

/** Choice among options, [value, text] each, with its label. */
function chooser(label, name, options, chosen, change) {
  const select = element("select", { name, onchange: () => change(select.value) });
  for (const [value, text] of options) {
    const option = element("option", { value }, text);
    option.selected = String(value) === String(chosen);
    select.append(option);
  }
  return element("label", { class: "chooser" }, element("span", {}, label), select);
}
