"use strict";
(() => {
  const plain = (text) => text.replaceAll("\u200e", "");  // marks that keep lines left to right
  const table = document.getElementById("decisions");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const filter = document.getElementById("filter");
  const only = document.getElementById("only-changed");
  const count = document.getElementById("count");
  const all = document.getElementById("all");
  const texts = new Map(rows.map((row) => [row, plain(row.textContent).toLowerCase()]));

  let most = 6;  // rows as the page opens; whoever asks for anything sees all that fit
  const few = 8;  // so many need no shortening

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = rows.filter((row) => (!only.checked || row.classList.contains("changed")) &&
      words.every((word) => texts.get(row).includes(word)));
    const shown = fitting.length <= few ? fitting.length : Math.min(fitting.length, most);
    const chosen = new Set(fitting.slice(0, shown));
    for (const row of rows) row.hidden = !chosen.has(row);
    all.hidden = fitting.length === shown;
    all.textContent = `Show all ${fitting.length}`;
    count.textContent = `${shown} of ${rows.length} situation${rows.length === 1 ? "" : "s"}`;
  };

  const ask = () => {
    most = Infinity;
    table.classList.remove("short");
    show();
  };

  const key = (row, column, type) => {
    const cell = row.cells[column];
    return type === "number" ? Number(cell.dataset.value) : plain(cell.textContent).trim();
  };

  const sort = (head, column) => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const type = head.dataset.type;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const collator = new Intl.Collator(undefined, { numeric: true });
    const compare = type === "number" ? (a, b) => a - b : collator.compare;
    const sorted = rows
      .map((row, i) => [key(row, column, type), i, row])
      .sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]) || a[1] - b[1]);
    body.append(...sorted.map((item) => item[2]));
    ask();
  };

  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(head, column));
  });
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;  // so that keys can scroll it
  }
  filter.addEventListener("input", ask);
  only.addEventListener("change", ask);
  all.addEventListener("click", ask);
  document.querySelector(".tools").hidden = false;
  table.classList.add("short");
  show();
})();
