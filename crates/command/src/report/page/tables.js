// Sorts the tables by the column whose name is pressed; long ones get a box to search them, and a list of what to sum them up by. Without
// it the page is complete, in the order that it was written in.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const unsort = () => heads.forEach((each) => each.removeAttribute("aria-sort"));
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // Numbers begin with the largest, words with the first.
      const first = head.classList.contains("n") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      unsort();
      head.setAttribute("aria-sort", order);
      const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
      const rows = [...body.rows].sort((a, b) => value(a).localeCompare(value(b), "en", { numeric: true }));
      body.append(...(order === "descending" ? rows.reverse() : rows));
    });
  });

  const all = [...body.rows];
  if (all.length < 12) continue;
  const name = table.closest(".scroll").ariaLabel;
  const search = Object.assign(document.createElement("input"), { type: "search", placeholder: "Search", ariaLabel: `Search in ${name}` });
  const groups = Object.assign(document.createElement("select"), { ariaLabel: `Sum up ${name}` });
  groups.append(new Option("each name", ""), ...["layer", "type", "role"].filter((key) => all.some((row) => row.dataset[key])).map((key) => new Option(`by ${key}`, key)));
  const found = Object.assign(document.createElement("span"), { role: "status" });
  const line = Object.assign(document.createElement("p"), { className: "find" });
  line.append(search, ...(groups.length > 1 ? [groups] : []), found);
  table.closest(".scroll").before(line);
  const text = (row) => [row.cells[0].textContent, ...Object.values(row.dataset)].join(" ").toLowerCase();
  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const rows = all.filter((row) => words.every((word) => text(row).includes(word)));
    const shown = groups.value ? summed(rows, (row) => row.dataset[groups.value] ?? row.cells[0].textContent) : rows;
    unsort();
    body.replaceChildren(...shown);
    found.textContent = `${rows.length} of ${all.length}`;
  };
  search.addEventListener("input", draw);
  groups.addEventListener("input", draw);
}

// A row for each key, the largest first.
function summed(rows, key) {
  const sums = new Map();
  for (const row of rows) {
    const sum = sums.get(key(row));
    if (sum) sum.push(row);
    else sums.set(key(row), [row]);
  }
  const made = [...sums].map(([name, of]) => {
    const row = of[0].cloneNode(true);
    row.cells[0].textContent = of.length > 1 ? `${name} (${of.length})` : name;
    [...row.cells].slice(1).forEach((cell, n) => {
      const amount = of.reduce((all, each) => all + Number(each.cells[n + 1].dataset.v), 0);
      const write = /B$/.test(cell.textContent) ? bytes : /s$/.test(cell.textContent) ? time : (count) => count.toLocaleString("en");
      show(cell, amount, write(amount));
    });
    return row;
  });
  return made.sort((a, b) => Number(b.cells[1].dataset.v) - Number(a.cells[1].dataset.v));
}
