// Selects a stretch of time in the stacks, and shows who held what in it. Without it the tables are about the peak.
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
    const [first, last] = [Math.min(one, other), Math.max(one, other)];
    from.value = one;
    to.value = other;
    from.ariaValueText = time(one * width);
    to.ariaValueText = time((other + 1) * width);
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
    svg.addEventListener("pointermove", (event) => begun !== undefined && select(begun, column(event)));
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

// As the page writes amounts: with one decimal, in the largest unit in which the amount rounds to 1 or more.
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
