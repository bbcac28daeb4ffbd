// Search: a query, and the pages that answer it.

import { documents, get } from "./api.js";
import { cardsOf, putWords } from "./cards.js";
import { $, count, el, plural, say, trouble } from "./elements.js";
import * as byPicture from "./picture-query.js";
import { go, here, link } from "./route.js";
import { thumb } from "./thumbs.js";

const STEP = 12; // hits at a time
const STEP_BY_DOCUMENT = 50; // as several go on a card
const MOST = 100; // that the server gives
const COVERS = 12; // documents listed when there is no query
const FILTERS = ["document", "pages", "metadata", "mode"];

let onPage = ""; // the query and filters whose hits are on the page
let answer = null;
let waiting = new AbortController();

export function start() {
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = { q: $("q").value.trim(), ...filters(), group: grouping() };
    go("search", [], asked.q ? asked : {});
  });
  $("more").addEventListener("click", () => {
    const k = Math.min(MOST, (answer?.hits.length ?? 0) + stepOf(current().group));
    go("search", [], { ...current(), k }, true);
  });
  $("group").addEventListener("change", () =>
    go("search", [], { ...current(), group: grouping(), k: null }, true),
  );
  $("clear").addEventListener("click", () => {
    $("q").value = "";
    $("q").focus();
  });
  $("hits").addEventListener("keydown", moveFocus);
  $("cover-list").addEventListener("keydown", moveFocus);
  $("q").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") first()?.focus();
  });
  byPicture.start((picture) => {
    onPage = ""; // it may be another picture of the same name
    const { mode, ...rest } = filters();
    const asked = { picture, ...rest, group: grouping() };
    if (!go("search", [], asked)) show(here().params);
  });
  $("forget-picture").addEventListener("click", () => go("search", [], {}));
}

export function show(params) {
  const what = params.q || params.picture;
  document.title = what ? `${what} – docpruner` : "docpruner";
  $("q").value = params.q ?? "";
  byPicture.offer();
  byPicture.showPicture(params.q ? "" : params.picture ?? "");
  for (const name of FILTERS) $(`in-${name}`).value = params[name] ?? "";
  $("group").checked = params.group === "document";
  $("narrow").open ||= FILTERS.some((name) => params[name]);
  suggestNames();
  const key = JSON.stringify(params);
  if (key === onPage) return;
  waiting.abort();
  waiting = new AbortController();
  if (what) ask(params, key, waiting.signal);
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

/** The picture with its filters, if that is what was asked for last. */
export const pictureAsked = () => (current().picture ? current() : {});

/** Forget the hits: the index has changed. */
export function outdate() {
  waiting.abort();
  onPage = "";
  answer = null;
}

const current = () => (onPage ? JSON.parse(onPage) : {});
const stepOf = (group) => (group === "document" ? STEP_BY_DOCUMENT : STEP);
const grouping = () => ($("group").checked ? "document" : null);
const filters = () =>
  Object.fromEntries(FILTERS.map((name) => [name, $(`in-${name}`).value.trim()]));
const first = () => document.querySelector("#view-search .hits a");

async function ask(params, key, signal) {
  const before = current();
  const same = answer !== null && params.q === before.q && params.picture === before.picture;
  const grows = same && params.group === before.group;
  onPage = "";
  $("covers").hidden = true;
  $("cover-list").replaceChildren(); // so that their pictures can go elsewhere
  trouble($("search-trouble"), null);
  $("search-summary").textContent = "Searching…";
  $("view-search").classList.add("busy");
  if (!same) $("hits").replaceChildren();
  $("more").hidden = true;
  try {
    const { group, ...rest } = params;
    const query = { ...rest, k: rest.k ?? stepOf(group) };
    const quick = await (query.q
      ? get("api/search", { ...query, words: false }, signal)
      : byPicture.pagesLike(query, signal));
    const known = query.q ? (same ? answer.hits : []) : quick.hits;
    answer = quick;
    onPage = key;
    fill(quick, params, Number(query.k), grows);
    putWords(known);
    if (query.q) addWords(query, signal);
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

function fill(given, params, k, grows) {
  const { hits, milliseconds, nothing_matches: poor, missing_shards: missing } = given;
  const already = grows ? $("hits").children.length : 0;
  const cards = cardsOf(hits, params.q, params.group === "document");
  $("hits").replaceChildren(...cards);
  $("more").hidden = hits.length < k || k >= MOST;
  $("group-box").hidden = !hits.length;
  const groups = params.group === "document" ? cards.length : null;
  const found = summaryOf(hits, groups, poor, params.q ? "" : params.picture);
  const summary = missing?.length ? `${found}; not searched: ${missing.join(", ")}` : found;
  $("search-summary").textContent = hits.length
    ? `${summary} · ${count(Math.max(1, milliseconds))} ms`
    : summary;
  say(summary);
  if (already && already < cards.length) cards[already].querySelector("a").focus();
  if (!hits.length) {
    const narrowed = FILTERS.some((name) => params[name]);
    const advice = narrowed
      ? "Try other words or fewer filters."
      : "The index may be empty. Add documents on the Index page or with docpruner index.";
    $("search-trouble").replaceChildren(el("p", { class: "message" }, advice));
  }
}

function summaryOf(hits, groups, poor, picture) {
  if (!hits.length) return "No pages found.";
  const pages = plural(hits.length, "page");
  const what = groups === null ? pages : `${pages} in ${plural(groups, "document")}`;
  if (picture) return `${what}, most like the picture first`;
  return poor ? `Nothing really matches. The closest: ${what}` : `${what}, best first`;
}

/** The words may have to be read from the files of the hits; nobody waits for that. */
async function addWords(query, signal) {
  const whole = await get("api/search", query, signal).catch(() => null);
  if (!whole || signal.aborted) return;
  answer = { ...whole, worded: true };
  putWords(whole.hits);
}

/** Without a query: the documents, to browse. */
async function covers(key) {
  answer = null;
  $("hits").replaceChildren();
  $("more").hidden = $("group-box").hidden = true;
  $("search-summary").textContent = "";
  $("view-search").classList.remove("busy");
  trouble($("search-trouble"), null);
  try {
    const all = await documents();
    if ($("q").value || here().params.picture) return;
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
            el(
              "span",
              { class: "hit-text" },
              el("span", { class: "hit-name" }, name),
              el("span", { class: "hit-line" }, plural(pages, "page")),
            ),
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
