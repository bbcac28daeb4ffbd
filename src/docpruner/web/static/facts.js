// The figures of a page under a rule.

import { importanceChart } from "./charts.js";
import { bytes, count, el, figure, percent } from "./elements.js";
import { isSpecial, weights } from "./reduce.js";

export function tile(value, of, name, id) {
  return el(
    "div",
    { class: "tile" },
    el("dt", {}, name),
    el(
      "dd",
      {},
      el("strong", id ? { id } : {}, value),
      of ? el("span", { class: "soft" }, " ", of) : null,
    ),
  );
}

/** Vectors and bytes that stay, the spread of the importances, and where the rule cuts. */
export function pageFacts(box, page, { kept, threshold, vectors, bytes: size }) {
  const total = page.vectors;
  const tiles = el(
    "dl",
    { class: "tiles" },
    tile(count(vectors), `of ${count(total)}`, "vectors kept", "page-vectors"),
    tile(percent(1 - vectors / total, 0), "", "pruned", "page-pruned"),
    tile(bytes(size), "", "on disk", "page-bytes"),
  );
  box.replaceChildren(el("h2", {}, "This page"), tiles);
  if (page.patches < 2) return;
  if (!page.importance) {
    box.append(
      el(
        "p",
        { class: "soft" },
        "This index was made with --no-importances, so there is no histogram.",
      ),
    );
    return;
  }
  const stays = page.boxes
    .map((b, i) => [b, kept[i]])
    .filter(([b]) => !isSpecial(b))
    .map(([, k]) => k);
  box.append(
    el("h3", {}, "Importance of the patches"),
    importanceChart(weights(page), stays, threshold ?? null, page.mean),
    el(
      "dl",
      { class: "symbols" },
      symbol("μ", "mean", page.mean, "page-mean"),
      symbol("σ", "deviation", page.std, "page-std"),
      symbol("τ", "threshold", threshold, "page-threshold"),
      symbol("H", "entropy", page.entropy, "page-entropy"),
    ),
  );
}

function symbol(sign, name, value, id) {
  return el(
    "div",
    {},
    el("dt", {}, el("span", { class: "sign" }, sign), " ", name),
    el("dd", { id }, figure(value)),
  );
}
