// The words of a query on a page, and the other pages that answer it.

import { WORDS, wordColours } from "./colours.js";
import { $, bare, el } from "./elements.js";
import { link } from "./route.js";
import { hitsOf } from "./search.js";

/** The words of the query with their scores; a click shows one alone. */
export function showWords(hit, word, choose) {
  if (!hit) {
    $("word-summary").textContent = "Nothing on this page matches the query.";
    return $("words").replaceChildren();
  }
  const colours = wordColours(hit.matches);
  const answers = new Map(hit.matched.map(({ query, page }) => [query, page]));
  $("word-summary").replaceChildren(
    "Score ",
    el("strong", {}, hit.score.toFixed(2)),
    ", word by word:",
  );
  const chip = (place, text, score, colour) =>
    el(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(word === place),
        click: () => choose(place),
      },
      swatch(colour),
      text,
      score === null ? null : el("span", { class: "n" }, score.toFixed(2)),
    );
  const strongest = hit.matches
    .map((match, place) => ({ ...match, place }))
    .sort((a, b) => b.score - a.score);
  const each = strongest.map(({ word: text, score, place }) => {
    const asked = bare(text);
    const answer = answers.get(asked);
    const label =
      answer && answer.toLowerCase() !== asked.toLowerCase()
        ? [asked, el("span", { class: "found" }, "\u00a0→ ", answer)]
        : asked;
    const made = chip(place, label, score, colours.get(place) ?? (word === place ? WORDS[0] : null));
    made.classList.toggle("weak", !colours.has(place));
    return made;
  });
  const focused = [...$("words").children].indexOf(document.activeElement);
  $("words").replaceChildren(chip(null, "All words", null, null), ...each);
  if (focused >= 0) $("words").children[focused]?.focus();
}

/** The other hits of the search, to go from one to the next. */
export function showOthers(at) {
  const hits = hitsOf(at.params.q);
  const rows = hits.map(({ document: id, page, name, score, rank }) =>
    el(
      "li",
      {},
      el(
        "a",
        {
          href: link("page", [id, page], { q: at.params.q }),
          "aria-current": id === at.document && page === at.page ? "true" : null,
        },
        el("span", { class: "soft" }, rank),
        `${name}, page ${page}`,
        el("span", { class: "n soft" }, score.toFixed(2)),
      ),
    ),
  );
  $("others").hidden = rows.length < 2;
  $("others").replaceChildren(el("h2", {}, "All hits"), el("ol", {}, rows));
}

function swatch(colour) {
  if (!colour) return null;
  const box = el("i", { class: "swatch" });
  box.style.borderColor = colour;
  return box;
}
