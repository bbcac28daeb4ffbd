"use strict";
(() => {
  const table = document.getElementById("all");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, at) => {
    const cell = row.cells[at];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sorted = [...rows].sort((a, b) => compare(value(a, at), value(b, at)) * (up ? 1 : -1));
      body.append(...sorted);
    });
  });

  const filter = document.getElementById("filter");
  const counted = document.getElementById("count");
  filter.closest("[hidden]").hidden = false;
  filter.addEventListener("input", () => {
    const typed = filter.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const text = [0, 1, 2].map((at) => row.cells[at].textContent).join(" ").toLowerCase();
      row.hidden = !text.includes(typed);
      count += !row.hidden;
    }
    counted.textContent = typed ? `${count} of ${rows.length}` : "";
  });

  const form = document.getElementById("calculator");
  const pages = document.getElementById("pages");
  const setting = document.getElementById("setting");
  const needed = document.getElementById("needed");
  const size = (bytes) => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let at = 0;
    while (bytes >= 999.5 && at < units.length - 1) {
      bytes /= 1000;
      at += 1;
    }
    const digits = at === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    return `${bytes.toFixed(digits)} ${units[at]}`;
  };
  const show = () => {
    const count = Math.max(0, Number(pages.value) || 0);
    const sizes = JSON.parse(setting.selectedOptions[0].dataset.sizes);
    needed.replaceChildren(
      ...Object.entries(sizes).map(([codec, bytes]) => {
        const box = document.createElement("div");
        const number = document.createElement("b");
        number.textContent = size(bytes * count);
        box.append(number, codec);
        return box;
      }),
    );
  };
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
