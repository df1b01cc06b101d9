// Checks of the page as a reader sees it; each returns its errors as text, one sentence each.
({
  // Whatever sticks out of the page on either side: only what scrolls by itself may.
  sticksOut() {
    const width = document.documentElement.clientWidth;
    const all = document.documentElement.scrollWidth > width ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
    for (const element of document.querySelectorAll("main *")) {
      if (element.closest(".scroll") && !element.matches(".scroll")) continue;
      const box = element.getBoundingClientRect();
      if (box.width > 0 && (box.left < -1 || box.right > width + 1)) {
        all.push(`${element.tagName}.${element.getAttribute("class")} ends at ${box.right}`);
      }
    }
    return all;
  },
  // Text whose contrast with what is behind it is below 4.5, and charts whose contrast is below 3 (WCAG 2.2, 1.4.3 and 1.4.11).
  faint() {
    const colour = (text) => {
      const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
      return { r, g, b, a };
    };
    const light = ({ r, g, b }) => {
      const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const behind = (element) => {
      for (let e = element; e; e = e.parentElement) {
        const back = colour(getComputedStyle(e).backgroundColor);
        if (back.a > 0) return back;
      }
      return colour("rgb(255, 255, 255)");
    };
    const all = new Set();
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode()); ) {
      const element = text.parentElement;
      if (!text.data.trim() || element.closest("svg") || !element.checkVisibility()) continue;
      const ratio = contrast(colour(getComputedStyle(element).color), behind(element));
      if (ratio < 4.5) all.add(`${element.tagName}.${element.className} has a contrast of ${ratio.toFixed(2)}`);
    }
    for (const path of document.querySelectorAll("path.area")) {
      if (!path.checkVisibility()) continue;
      const ratio = contrast(colour(getComputedStyle(path).fill), behind(path.closest("div")));
      if (ratio < 3) all.add(`a chart has a contrast of ${ratio.toFixed(2)}`);
    }
    return [...all];
  },
  // Charts without a name, tables without heads, numbers of an identity that is not unique.
  unnamed() {
    const all = [];
    for (const chart of document.querySelectorAll("svg")) {
      if (chart.getAttribute("role") !== "img" || !chart.getAttribute("aria-label")) all.push("a chart has no name");
      if (!chart.querySelector("title")) all.push("a chart has no hints");
      if (!chart.closest("figure").querySelector("table")) all.push("a chart has no table");
    }
    for (const table of document.querySelectorAll("table")) {
      const heads = table.tHead.rows[0].cells.length;
      for (const row of table.tBodies[0].rows) {
        if (row.cells.length !== heads) all.push(`a row has ${row.cells.length} cells below ${heads} heads`);
        if (row.cells[0].tagName !== "TH") all.push("a row has no head");
      }
    }
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    if (new Set(ids).size !== ids.length) all.push("an id is there twice");
    let level = 0;
    for (const head of document.querySelectorAll("h1, h2, h3, h4")) {
      const next = Number(head.tagName[1]);
      if (next > level + 1) all.push(`"${head.textContent}" skips a level`);
      level = next;
    }
    return all;
  },
  // Presses the head of each column of each table, twice, and looks at the order.
  unsorted() {
    const all = [];
    for (const table of document.querySelectorAll("table.sortable")) {
      const heads = [...table.tHead.rows[0].cells];
      heads.forEach((head, column) => {
        const button = head.querySelector("button");
        if (!button) return all.push(`${head.textContent} has no button`);
        for (let press = 0; press < 2; press++) {
          button.click();
          const up = head.getAttribute("aria-sort") === "ascending" ? 1 : -1;
          const cells = [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.v);
          const numbers = cells.filter((cell) => cell !== undefined).map(Number);
          const sorted = numbers.every((number, n) => n === 0 || (number - numbers[n - 1]) * up >= 0);
          if (!sorted) all.push(`${head.textContent} is not sorted: ${numbers}`);
        }
        if (heads.filter((other) => other.hasAttribute("aria-sort")).length !== 1) all.push("two columns say that they sort");
      });
    }
    return all;
  },
})
