"use strict";
(() => {
  const plain = (text) => text.replaceAll("\u200e", "");  // marks that keep lines left to right
  const table = document.getElementById("decisions");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const filter = document.getElementById("filter");
  const only = document.getElementById("only-changed");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const FIRST = 10;  // rows that are worth a reader's time unasked
  let all = false;
  const texts = new Map(rows.map((row) => [row, plain(row.textContent).toLowerCase()]));

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const most = all || words.length || !only.checked ? Infinity : FIRST;
    let shown = 0;
    for (const row of body.rows) {
      const fits = (!only.checked || row.classList.contains("changed")) &&
        words.every((word) => texts.get(row).includes(word));
      shown += fits;
      row.hidden = !fits || shown > most;
    }
    more.hidden = shown <= most;
    more.textContent = `Show the other ${shown - most}`;
    count.textContent = `${shown} of ${rows.length} history state${rows.length === 1 ? "" : "s"}`;
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
    show();
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
  more.addEventListener("click", () => { all = true; show(); });
  filter.addEventListener("input", show);
  only.addEventListener("change", show);
  document.querySelector(".tools").hidden = false;
  show();
})();
