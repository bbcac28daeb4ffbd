// Search: a query, and the pages that answer it.

import { documents, get } from "./api.js";
import { wide } from "./charts.js";
import { $, count, el, plural, say, trouble } from "./elements.js";
import { link, go } from "./route.js";
import { thumb } from "./thumbs.js";

const STEP = 12; // hits at a time
const MOST = 100; // that the server gives
const COVERS = 12; // documents listed when there is no query
const FILTERS = ["document", "pages", "metadata"];

let onPage = ""; // the query and filters whose hits are on the page
let answer = null;
let waiting = new AbortController();

export function start() {
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = { q: $("q").value.trim(), ...filters() };
    go("search", [], asked.q ? asked : {});
  });
  $("more").addEventListener("click", () =>
    go("search", [], { ...current(), k: Math.min(MOST, (answer?.hits.length ?? 0) + STEP) }, true),
  );
  $("hits").addEventListener("keydown", moveFocus);
  $("cover-list").addEventListener("keydown", moveFocus);
  $("q").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") first()?.focus();
  });
}

export function show(params) {
  document.title = params.q ? `${params.q} – docpruner` : "docpruner";
  $("q").value = params.q ?? "";
  for (const name of FILTERS) $(`in-${name}`).value = params[name] ?? "";
  $("narrow").open ||= FILTERS.some((name) => params[name]);
  suggestNames();
  const key = JSON.stringify(params);
  if (key === onPage) return;
  waiting.abort();
  waiting = new AbortController();
  if (params.q) ask(params, key, waiting.signal);
  else covers(key);
}

/** The hit of the last search on a page, if it is one and its words are known. */
export function hitOn(query, document, page) {
  if (answer?.query !== query || !answer.worded) return null;
  return answer.hits.find((hit) => hit.document === document && hit.page === page) ?? null;
}

/** The hits of the last search, if that was the query. */
export const hitsOf = (query) => (answer?.query === query ? answer.hits : []);

/** The query with its filters, if it is the last one asked. */
export const lastAsked = (query) => (current().q === query ? current() : { q: query });

/** Forget the hits: the index has changed. */
export function outdate() {
  waiting.abort();
  onPage = "";
  answer = null;
}

const current = () => (onPage ? JSON.parse(onPage) : {});
const filters = () =>
  Object.fromEntries(FILTERS.map((name) => [name, $(`in-${name}`).value.trim()]));
const first = () => document.querySelector("#view-search .hits a");

async function ask(params, key, signal) {
  const more = answer !== null && params.q === current().q;
  onPage = "";
  $("covers").hidden = true;
  trouble($("search-trouble"), null);
  $("search-summary").textContent = "Searching…";
  $("view-search").classList.add("busy");
  if (!more) $("hits").replaceChildren();
  $("more").hidden = true;
  try {
    const { k = STEP, ...rest } = params;
    const quick = await get("api/search", { ...rest, k, words: false }, signal);
    const known = more ? answer.hits : [];
    answer = quick;
    onPage = key;
    fill(quick, params, Number(k));
    putWords(quick.hits, known);
    addWords(quick.hits, { ...rest, k }, signal);
  } catch (failure) {
    if (failure.name === "AbortError") return;
    answer = null;
    $("search-summary").textContent = "";
    $("hits").replaceChildren();
    trouble($("search-trouble"), failure, () => ask(params, key, signal));
  } finally {
    if (!signal.aborted) $("view-search").classList.remove("busy");
  }
}

function fill({ hits, milliseconds }, params, k) {
  const summary = hits.length ? `${plural(hits.length, "page")}, best first` : "No pages found.";
  $("search-summary").textContent = hits.length
    ? `${summary} · ${count(Math.max(1, milliseconds))} ms`
    : summary;
  say(summary);
  const best = hits[0]?.score || 1;
  const already = $("hits").children.length;
  const cards = hits.map((hit) => card(hit, params.q, best));
  $("hits").replaceChildren(...cards);
  $("more").hidden = hits.length < k || k >= MOST;
  if (already && already < cards.length) cards[already].querySelector("a").focus();
  if (!hits.length) {
    const narrowed = FILTERS.some((name) => params[name]);
    const advice = narrowed
      ? "Try other words or fewer filters."
      : "The index may be empty. Add documents on the Index page or with docpruner index.";
    $("search-trouble").replaceChildren(el("p", { class: "message" }, advice));
  }
}

/** The words that matched are read from the files of the hits; nobody waits for that. */
async function addWords(cards, query, signal) {
  const whole = await get("api/search", query, signal).catch(() => null);
  if (!whole || signal.aborted) return;
  answer = { ...whole, worded: true };
  putWords(cards, whole.hits);
}

/** Below each card what is known of its words. */
function putWords(cards, hits) {
  const lists = $("hits").querySelectorAll(".matched");
  cards.forEach(({ document, page }, place) => {
    const hit = hits.find((one) => one.document === document && one.page === page);
    lists[place].replaceChildren(...(hit?.matched ?? []).map(matchedWord));
  });
}

const matchedWord = ({ query: asked, page }) =>
  el(
    "li",
    {},
    asked,
    asked.toLowerCase() === page.toLowerCase() ? null : el("span", { class: "found" }, " → ", page),
  );

function card(hit, query, best) {
  const meter = el(
    "span",
    { class: "track meter", "aria-hidden": "true" },
    wide(el("i", { class: "part-kept" }), hit.score / best),
  );
  return el(
    "li",
    {},
    el(
      "a",
      { class: "hit", href: link("page", [hit.document, hit.page], { q: query }) },
      thumb(hit.document, hit.page, hit.matches),
      el("span", { class: "hit-name" }, hit.name),
      el(
        "span",
        { class: "hit-line" },
        el("span", {}, `page ${hit.page}`),
        el(
          "span",
          { class: "score" },
          el("span", { class: "unseen" }, "score "),
          hit.score.toFixed(2),
        ),
        meter,
      ),
    ),
    el("ul", { class: "matched", "aria-label": "Matched words" }),
  );
}

/** Without a query: the documents, to browse. */
async function covers(key) {
  answer = null;
  $("hits").replaceChildren();
  $("more").hidden = true;
  $("search-summary").textContent = "";
  $("view-search").classList.remove("busy");
  trouble($("search-trouble"), null);
  try {
    const all = await documents();
    if ($("q").value) return;
    onPage = key;
    const cards = all
      .slice(0, COVERS)
      .map(({ id, name, pages }) =>
        el(
          "li",
          {},
          el(
            "a",
            { class: "hit", href: link("page", [id, 1]) },
            thumb(id, 1),
            el("span", { class: "hit-name" }, name),
            el("span", { class: "hit-line" }, plural(pages, "page")),
          ),
        ),
      );
    $("cover-list").replaceChildren(...cards);
    $("covers").hidden = !all.length;
    $("all-documents").hidden = all.length <= COVERS;
    $("all-documents").textContent = `All ${count(all.length)} documents`;
    if (!all.length)
      $("search-trouble").replaceChildren(
        el(
          "p",
          { class: "message" },
          "This index is empty. Add documents on the ",
          el("a", { href: "#/index" }, "Index"),
          " page or with docpruner index.",
        ),
      );
  } catch (failure) {
    trouble($("search-trouble"), failure, () => covers(key));
  }
}

async function suggestNames() {
  const all = await documents().catch(() => []);
  $("document-names").replaceChildren(
    ...all.slice(0, 500).map(({ name }) => el("option", { value: name })),
  );
}

/** Arrow keys go from card to card, up and down by rows. */
function moveFocus(event) {
  const cards = [...event.currentTarget.querySelectorAll("a.hit")];
  const at = cards.indexOf(document.activeElement);
  const columns = cards.filter((item) => item.offsetTop === cards[0].offsetTop).length || 1;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  if (at < 0 || !step) return;
  event.preventDefault();
  if (at + step < 0) $("q").focus();
  else cards[Math.min(at + step, cards.length - 1)].focus();
}
