// Selects a moment in the stacks, and shows who held what then. Without it the tables are about the peak.
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
    const line = document.createElement("div");
    line.className = "moment";
    line.hidden = true;
    svg.after(line);
    const rows = [...stack.querySelectorAll("tbody tr")].reverse();
    return { svg, columns, outlines, line, rows, width: Number(stack.dataset.width), when: stack.querySelector(".when") };
  });
  const { columns, width } = stacks[0];
  const slider = Object.assign(document.createElement("input"), { type: "range", max: columns - 1, value: 0 });
  const label = document.createElement("label");
  label.className = "moments";
  label.append("Moment", slider);
  figure.querySelector("figcaption").after(label);

  const select = (column) => {
    slider.value = column;
    slider.ariaValueText = time(column * width);
    for (const { outlines, line, rows, when } of stacks) {
      const all = outlines[0][column];
      line.style.left = `${((column + 0.5) / columns) * 100}%`;
      line.hidden = false;
      when.textContent = `From ${time(column * width)} on: at most ${bytes(all)}`;
      rows.forEach((row, n) => {
        const held = outlines[n][column] - (outlines[n + 1]?.[column] ?? 0);
        show(row.cells[1], held, bytes(held));
        show(row.cells[2], held, `${((held / (all || 1)) * 100).toFixed(1)} %`);
      });
    }
  };
  slider.addEventListener("input", () => select(Number(slider.value)));
  for (const { svg } of stacks) {
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      select(Math.max(0, Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns))));
    });
  }
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
