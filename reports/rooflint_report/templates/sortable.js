// Sorts tables marked data-sortable by a click on a head: up, down, as before. Quantities sort by their size.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const PREFIXES = { p: 1e-12, n: 1e-9, u: 1e-6, "µ": 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
  const QUANTITY = /^[^\d+\-−.]{0,2}\s*([+\-−]?\d[\d\s,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(.*)$/i;
  const PREFIXED = /^([pnuµmkMGTPE])(?=(?:s|J|W|B|OPS?|FLOPS?|ops?|Hz|bit|bps|MAC)\b)/;
  const BINARY = /^([KMGT])i(?=B\b|bit\b)/;
  const collator = new Intl.Collator("en", { numeric: true });
  const size = (text) => {
    const found = QUANTITY.exec(text);
    if (!found) return null;
    const [prefix, binary] = [PREFIXED.exec(found[2]), BINARY.exec(found[2])];
    const factor = binary ? 1024 ** (1 + "KMGT".indexOf(binary[1])) : prefix ? PREFIXES[prefix[1]] : 1;
    return Number(found[1].replace("−", "-").replace(/[\s,]/g, "")) * factor;
  };
  const compare = (a, b) => {
    const [x, y] = [size(a), size(b)];
    return x === null || y === null ? collator.compare(a, b) : x - y;
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    if (rows.length < 2) continue;
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
        for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", next);
        const text = (row) => row.cells[column]?.textContent.trim() ?? "";
        const known = rows.filter((row) => text(row) && text(row) !== "—");
        if (next === "ascending") known.sort((a, b) => compare(text(a), text(b)));
        if (next === "descending") known.sort((a, b) => compare(text(b), text(a)));
        body.append(...(next === "none" ? rows : [...known, ...rows.filter((row) => !known.includes(row))]));
      });
    });
  }
});
