// The page is complete without this script.

// Sorts the tables by the column whose name is pressed; long ones get a box to search them, and a list of what to sum them up by. Without the script
// they stay in the order that they were written in.
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

// Selects a stretch of time in the stacks, and shows who held what in it or under the pointer. Without the script the tables are
// about the peak.
for (const figure of document.querySelectorAll("figure.stacks")) {
  // The outlines are nested, the whole first: a band is the difference to the next one.
  const stacks = [...figure.querySelectorAll(".stack")].map((stack) => {
    const svg = stack.querySelector("svg");
    const columns = svg.viewBox.baseVal.width;
    const outlines = [...svg.querySelectorAll("path.area")].map((path) => {
      const values = new Array(columns).fill(0);
      const steps = [...path.getAttribute("d").matchAll(/H(\d+)V(\d+)/g)].map((step) => step.slice(1).map(Number));
      steps.forEach(([from, bytes], n) => values.fill(bytes, from, steps[n + 1]?.[0] ?? columns));
      return values;
    });
    const brush = document.createElement("div");
    brush.className = "brush";
    svg.after(brush);
    const rows = [...stack.querySelectorAll("tbody tr")].reverse();
    return { svg, columns, outlines, brush, rows, width: Number(stack.dataset.width), when: stack.querySelector(".when") };
  });
  const { columns, width } = stacks[0];
  const [from, to] = ["From", "To"].map((name, end) => {
    const input = Object.assign(document.createElement("input"), { type: "range", max: columns - 1, value: end * (columns - 1) });
    input.addEventListener("input", () => select(Number(from.value), Number(to.value)));
    return input;
  });
  const ends = document.createElement("p");
  ends.className = "ends";
  for (const [name, input] of [["From", from], ["to", to]]) {
    const label = document.createElement("label");
    label.append(name, input);
    ends.append(label);
  }
  figure.querySelector("figcaption").after(ends);

  const select = (one, other) => {
    from.value = one;
    to.value = other;
    from.ariaValueText = time(one * width);
    to.ariaValueText = time((other + 1) * width);
    draw(one, other);
  };
  const draw = (one, other) => {
    const [first, last] = [Math.min(one, other), Math.max(one, other)];
    for (const stack of stacks) {
      const [whole] = stack.outlines;
      const most = Math.max(...whole.slice(first, last + 1));
      const at = whole.indexOf(most, first);
      stack.brush.style.left = `${(first / columns) * 100}%`;
      stack.brush.style.width = `${((last + 1 - first) / columns) * 100}%`;
      const all = first === 0 && last === columns - 1;
      const between = `${time(first * width)} to ${time((last + 1) * width)}`;
      stack.brush.hidden = all;
      stack.when.textContent = all ? "At the peak" : `${between}: at most ${bytes(most)}`;
      stack.rows.forEach((row, n) => {
        const held = stack.outlines[n][at] - (stack.outlines[n + 1]?.[at] ?? 0);
        show(row.cells[1], held, bytes(held));
        show(row.cells[2], held, `${((held / (most || 1)) * 100).toFixed(1)} %`);
      });
    }
  };
  for (const { svg } of stacks) {
    const column = (event) => {
      const box = svg.getBoundingClientRect();
      return Math.max(0, Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns)));
    };
    let begun;
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      begun = column(event);
      select(begun, begun);
    });
    svg.addEventListener("pointermove", (event) => (begun === undefined ? draw(column(event), column(event)) : select(begun, column(event))));
    svg.addEventListener("pointerleave", () => draw(Number(from.value), Number(to.value)));
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => (begun = undefined));
    svg.addEventListener("dblclick", () => select(0, columns - 1));
  }
  select(0, columns - 1);
}

function show(cell, value, text) {
  cell.dataset.v = value;
  cell.textContent = text;
  cell.classList.toggle("zero", value === 0);
}

// Writes an amount as the page does: with one decimal, in the largest unit in which the amount rounds to 1 or more.
function scaled(amount, step, units) {
  let unit = 0;
  while (unit + 1 < units.length && amount >= step - (unit && 0.05)) {
    amount /= step;
    unit++;
  }
  return `${amount.toFixed(unit && 1)} ${units[unit]}`;
}
function bytes(amount) {
  return scaled(amount, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}
function time(amount) {
  return scaled(amount, 1000, ["ns", "us", "ms", "s"]);
}

// Makes each frame of the flame graphs a button that zooms to it; pressed again, to its caller. Without it the graphs are whole.
for (const flame of document.querySelectorAll(".flame")) {
  for (const frame of flame.querySelectorAll(".frame")) {
    const button = document.createElement("button");
    for (const { name, value } of frame.attributes) button.setAttribute(name, value);
    button.append(...frame.childNodes);
    frame.replaceWith(button);
    button.addEventListener("click", () => zoom(button.getAttribute("aria-pressed") === "true" ? above(button) : button));
  }
  const above = (button) => button.closest("ul").previousElementSibling;
  // Hides the frames beside the frame and its callers, so that these have the whole width.
  const zoom = (button) => {
    flame.querySelectorAll(".aside").forEach((other) => other.classList.remove("aside"));
    flame.querySelectorAll("[aria-pressed]").forEach((other) => other.removeAttribute("aria-pressed"));
    if (!button?.matches(".flame .frame")) return;
    button.setAttribute("aria-pressed", "true");
    for (let item = button.closest("li"); item; item = item.parentElement.closest(".flame li")) {
      [...item.parentElement.children].filter((other) => other !== item).forEach((other) => other.classList.add("aside"));
    }
  };
}
