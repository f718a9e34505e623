// Tables whose headers sort them: up, down, and back to the order of the page.

const ORDERS = { none: "ascending", ascending: "descending", descending: "none" };

/** Makes every header of a table a button. */
function makeSortable(table) {
  const original = [...table.tBodies[0].rows];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    if (!header.textContent.trim()) return;
    const button = element("button", { type: "button", class: "sort" });
    button.append(...header.childNodes);
    header.append(button);
    header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const order = ORDERS[header.getAttribute("aria-sort")];
      for (const other of headers) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", order);
      table.tBodies[0].append(...(order === "none" ? original : sorted(original, column, order === "descending")));
    });
  });
}

/** Rows by a column: by numbers if all that is there are numbers, else by text; what is absent comes last. */
function sorted(rows, column, descending) {
  const keyed = rows.map((row) => ({ row, text: row.cells[column].textContent, key: sortKey(row.cells[column].textContent) }));
  const numbers = keyed.every(({ key }) => key === null || !Number.isNaN(key));
  const compare = numbers
    ? (a, b) => a.key - b.key
    : (a, b) => a.text.localeCompare(b.text, "en", { numeric: true });
  const there = keyed.filter(({ key }) => key !== null).sort((a, b) => (descending ? compare(b, a) : compare(a, b)));
  return [...there, ...keyed.filter(({ key }) => key === null)].map(({ row }) => row);
}

/** Makes all tables below a node sortable that say so. */
function makeAllSortable(node) {
  for (const table of node.querySelectorAll("table.sortable")) makeSortable(table);
}

/** Sortable table in a frame that scrolls: names of its columns, and rows of texts. */
function tableOf(label, header, rows) {
  const table = element(
    "table",
    { class: "sortable" },
    element("thead", {}, element("tr", {}, ...header.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text) => element("td", {}, text))))),
  );
  makeSortable(table);
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
}
