// Hits as cards: the page in small, where it is from, and what on it matches.

import { wide } from "./charts.js";
import { bare, count, el } from "./elements.js";
import { link } from "./route.js";
import { thumb } from "./thumbs.js";

const OTHERS = 8; // pages of the same document that are listed
const PAIRS = 4; // words of the query with what answers them

let cards = new Map(); // by `keyOf` a hit: where its words go

const keyOf = ({ document, page }) => `${document}/${page}`;

/** A card for each hit, or for the best hit of each document. */
export function cardsOf(hits, query, byDocument) {
  cards = new Map();
  const best = hits[0]?.score || 1;
  const groups = byDocument ? grouped(hits) : hits.map((hit) => [hit]);
  return groups.map(([first, ...others], place) => card(first, others, query, best, place));
}

function grouped(hits) {
  const groups = new Map();
  for (const hit of hits) groups.set(hit.document, [...(groups.get(hit.document) ?? []), hit]);
  return [...groups.values()];
}

function card(hit, others, query, best, place) {
  const [name, line] = [`hit-${place}-name`, `hit-${place}-line`];
  const meter = el(
    "span",
    { class: "track meter", "aria-hidden": "true" },
    wide(el("i", { class: "part-kept" }), Math.max(0, hit.score / best)),
  );
  const snippet = el("span", { class: "snippet" });
  const matched = el("span", { class: "matched" });
  cards.set(keyOf(hit), { snippet, matched });
  return el(
    "li",
    {},
    el(
      "a",
      { class: "hit", href: pageLink(hit, query), "aria-labelledby": `${name} ${line}` },
      thumb(hit.document, hit.page, query ? hit.matches : []), // a picture matches everywhere
      el(
        "span",
        { class: "hit-text" },
        el("span", { class: "hit-name", id: name }, hit.name),
        el(
          "span",
          { class: "hit-line", id: line },
          el("span", {}, `page ${hit.page}`),
          el(
            "span",
            { class: "score" },
            el("span", { class: "unseen" }, "score "),
            hit.score.toFixed(2),
          ),
          meter,
        ),
        snippet,
        matched,
      ),
    ),
    others.length ? also(others, query) : null,
  );
}

const pageLink = ({ document, page }, query) => link("page", [document, page], { q: query });

/** The other pages of a document that were found. */
function also(others, query) {
  const listed = others.slice(0, OTHERS);
  const rest = others.length - listed.length;
  return el(
    "p",
    { class: "also" },
    listed.length === 1 ? "Also on page " : "Also on pages ",
    listed.flatMap((hit, place) => [
      place ? ", " : "",
      el("a", { href: pageLink(hit, query) }, hit.page),
    ]),
    rest ? ` and ${count(rest)} more` : "",
  );
}

/** On each card the text around what matches, and how words of the query were understood. What all
 *  hits have in common tells none from another, so it is left out. */
export function putWords(hits) {
  const common = commonPairs(hits);
  for (const hit of hits) {
    const parts = cards.get(keyOf(hit));
    if (!parts) continue;
    parts.snippet.replaceChildren(...marked(hit.snippet, hit.marks));
    const there = wordsOf(hit.snippet);
    const pairs = hit.matched.filter((pair) => !common.has(textOf(pair)) && !isIn(pair, there));
    parts.matched.replaceChildren(...pairs.slice(0, PAIRS).map(matchedWord));
  }
}

const textOf = ({ query, page }) => `${query} → ${page}`.toLowerCase();

function commonPairs([first, ...rest]) {
  if (!rest.length) return new Set();
  const sets = rest.map(({ matched }) => new Set(matched.map(textOf)));
  return new Set(first.matched.map(textOf).filter((text) => sets.every((set) => set.has(text))));
}

/** Whether a word stands in the snippet just as it was asked for. */
const isIn = ({ query, page }, words) =>
  query.toLowerCase() === page.toLowerCase() && words.has(query.toLowerCase());

const wordsOf = (text) => new Set(text.split(/\s+/).map((word) => bare(word).toLowerCase()));

/** The snippet with the words that match marked in it. */
function marked(text, marks) {
  const signs = [...text]; // marks count characters, not what JavaScript counts
  const parts = [];
  let end = 0;
  for (const [first, last] of marks) {
    parts.push(signs.slice(end, first).join(""), el("mark", {}, signs.slice(first, last).join("")));
    end = last;
  }
  return [...parts, signs.slice(end).join("")];
}

const matchedWord = ({ query: asked, page }) =>
  el(
    "span",
    {},
    asked,
    asked.toLowerCase() === page.toLowerCase() ? null : el("span", { class: "found" }, " → ", page),
  );
