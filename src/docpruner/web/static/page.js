// One page in large: what matched on it, what is kept of it, and what other rules would keep.

import { Failure, documents, download, get, imageOf, pagePath, stats } from "./api.js";
import { heat } from "./colours.js";
import { $, el, figure, say, trouble } from "./elements.js";
import * as explorer from "./explorer.js";
import { pageFacts } from "./facts.js";
import { Paper, paintKept, paintMatches, paintPlain } from "./paint.js";
import { isSpecial, isWordless } from "./reduce.js";
import { go, link, mark, note } from "./route.js";
import { hitOn, lastAsked, pictureAsked } from "./search.js";
import { showOthers, showWords } from "./words.js";

const SAVING = 60_000; // milliseconds that a browser may take to begin

let at = null; // { document, page, params } that is asked for
let loaded = null; // { data, paper, hit, stats } of it, once there
let waiting = new AbortController();

export function start() {
  $("modes").addEventListener("change", (event) =>
    change({ show: event.target.value, word: null }),
  );
  $("whole").checked = sessionStorage.getItem("docpruner-whole") === "yes";
  $("whole").addEventListener("change", fit);
  $("original").addEventListener("click", save);
  $("page-canvas").addEventListener("pointermove", readOut);
  $("page-canvas").addEventListener("pointerleave", () => ($("pointed").textContent = ""));
  explorer.start(() => {
    change({ show: "explore", spec: explorer.state.spec });
  });
  fit();
}

export function show(parts, params) {
  if (parts === null) return void somePage();
  const [document, number] = parts;
  const page = Number(number);
  const same =
    at?.document === document && at?.page === page && at?.params.q === params.q && loaded;
  at = { document, page, params };
  if (same) render();
  else load();
}

export const results = () =>
  link("search", [], at?.params.q ? lastAsked(at.params.q) : pictureAsked());

export function turn(step) {
  const target = $(step < 0 ? "previous" : "next");
  if (target.hasAttribute("href")) location.hash = target.getAttribute("href");
}

function change(changed) {
  at.params = Object.fromEntries(
    Object.entries({ ...at.params, ...changed }).filter(([, value]) => value != null),
  );
  note("page", [at.document, at.page], at.params);
  mark(mode() === "explore" ? "explore" : "");
  ties(Number($("next").dataset.pages) || at.page);
  render();
}

const mode = () => at.params.show ?? (at.params.q ? "matches" : "kept");

/** The explorer without a page: the one seen last, or the first there is. */
async function somePage() {
  try {
    const all = await documents();
    const known = at && all.some(({ id }) => id === at.document);
    if (all.length)
      return go(
        "page",
        known ? [at.document, at.page] : [all[0].id, 1],
        { ...(known ? at.params : {}), show: "explore" },
        true,
      );
    throw new Failure("empty", "This index is empty. Add documents on the Index page first");
  } catch (failure) {
    blank();
    trouble($("page-trouble"), failure);
  }
}

async function load() {
  waiting.abort();
  waiting = new AbortController();
  const { signal } = waiting;
  const { document: id, page, params } = at;
  if (loaded?.data.document !== id) blank();
  loaded = null;
  trouble($("page-trouble"), null);
  $("view-page").classList.add("busy");
  try {
    head(await documents());
    const [data, hit, figures] = await Promise.all([
      get(pagePath(id, page), {}, signal),
      matchesOn(params.q, id, page, signal),
      stats(),
    ]);
    const [image, problem] = await pictureOf(id, page, signal);
    if (signal.aborted) return;
    loaded = { data, hit, stats: figures, paper: paperOf(data, image) };
    $("sheet").style.setProperty("--ratio", String(loaded.paper.width / loaded.paper.height));
    ties(data.pages);
    render();
    if (mode() === "matches") lookAtMatch();
    if (problem) trouble($("page-trouble"), problem, load);
    say(`${data.name}, page ${data.page} of ${data.pages}`);
  } catch (failure) {
    if (failure.name === "AbortError") return;
    blank();
    trouble($("page-trouble"), failure, load);
  } finally {
    if (!signal.aborted) $("view-page").classList.remove("busy");
  }
}

function head(all) {
  const entry = all.find(({ id }) => id === at.document);
  $("page-name").textContent = entry?.name ?? "Unknown document";
  document.title = `${entry?.name ?? "?"}, page ${at.page} – docpruner`;
  ties(entry?.pages ?? at.page);
}

/** Where to go from here. */
function ties(pages) {
  const { document: id, page, params } = at;
  const rest = { ...params, word: null };
  $("back").href = results();
  $("back").textContent = params.q || pictureAsked().picture ? "← Results" : "← Search";
  $("page-number").textContent = `page ${page} of ${pages}`;
  $("next").dataset.pages = pages;
  for (const [name, number] of [
    ["previous", page - 1],
    ["next", page + 1],
  ]) {
    const there = number >= 1 && number <= pages;
    if (there) $(name).href = link("page", [id, number], rest);
    else $(name).removeAttribute("href");
    $(name).toggleAttribute("aria-disabled", !there);
  }
}

function blank() {
  for (const part of ["facts", "controls", "sheet", "under", "modes"])
    $(part).classList.add("away");
}

async function matchesOn(query, id, page, signal) {
  if (!query) return null;
  return hitOn(query, id, page) ?? (await get(pagePath(id, page, "/hit"), { q: query }, signal));
}

/** The picture, or null and why there is none. */
async function pictureOf(id, page, signal) {
  const query = { width: devicePixelRatio > 1 ? 1400 : 1000 };
  try {
    return [await imageOf(await download(pagePath(id, page, "/image"), query, signal)), null];
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    return [null, failure];
  }
}

/** Hands the file to the browser, to be saved. */
async function save() {
  const { document: id, page } = at;
  $("original").disabled = true;
  try {
    const source = URL.createObjectURL(await download(pagePath(id, page, "/original")));
    const name = $("page-name").textContent.split("/").pop();
    el("a", { href: source, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(source), SAVING);
  } catch (failure) {
    trouble($("page-trouble"), failure, save);
  } finally {
    $("original").disabled = false;
  }
}

function paperOf(data, image) {
  if (image) return new Paper(image, image.naturalWidth, image.naturalHeight);
  return new Paper(null, 1000, Math.round((1000 * data.height) / data.width) || 1414);
}

function render() {
  const { data, hit, paper, stats: figures } = loaded;
  const how = mode();
  for (const part of ["facts", "sheet", "under", "modes"]) $(part).classList.remove("away");
  for (const radio of document.getElementsByName("show")) {
    radio.checked = radio.value === how;
    if (radio.value === "matches") radio.closest("label").hidden = !at.params.q;
  }
  $("controls").classList.toggle("away", !["matches", "explore"].includes(how));
  $("word-box").hidden = how !== "matches";
  $("knobs").hidden = how !== "explore";
  $("index-facts").hidden = how !== "explore";
  $("facts").classList.toggle("away", how === "plain" || how === "matches");
  $("page-canvas").setAttribute("aria-label", `Picture of page ${data.page} of ${data.name}`);
  const canvas = $("page-canvas");
  if (how === "matches") {
    const word = at.params.word === undefined ? null : Number(at.params.word);
    showWords(hit, word, (place) => (change({ word: place }), lookAtMatch()));
    showOthers(at);
    if (hit) paintMatches(canvas, paper, hit.matches, word < hit.matches.length ? word : null);
    else paintPlain(canvas, paper);
  } else if (how === "kept") {
    paintKept(canvas, paper, data, data.kept);
    const stored = {
      kept: data.kept,
      threshold: data.threshold,
      vectors: data.kept_vectors,
      bytes: data.kept_vectors * figures.row_bytes,
    };
    pageFacts($("page-facts"), data, stored);
  } else if (how === "explore") {
    explorer.show(data, figures, at.params.spec ?? figures.settings.spec, canvas, paper);
  } else paintPlain(canvas, paper);
  key(how);
  if (isWordless(data) && how !== "plain") wordless();
}

function wordless() {
  const text =
    "No text was found on this page, so there is nothing to prune and searches rarely find it. Run docpruner index --ocr to recognise the text of scans.";
  $("page-trouble").replaceChildren(el("p", { class: "message" }, text));
}

/** Scrolls to the strongest match that is shown, unless it is in sight. */
function lookAtMatch() {
  const lit = (loaded.hit?.matches ?? []).filter(
    (match, place) => match.boxes.length && String(at.params.word ?? place) === String(place),
  );
  const best = lit.sort((a, b) => b.score - a.score)[0];
  if (!best) return;
  const sheet = $("page-canvas").getBoundingClientRect();
  const y = sheet.top + (sheet.height * (best.boxes[0][1] + best.boxes[0][3])) / 2;
  if (y > 60 && y < innerHeight - 40) return;
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  scrollBy({ top: y - 0.4 * innerHeight, behavior });
}

function key(how) {
  const pointed = el("span", { id: "pointed" });
  if (how === "matches")
    return $("key").replaceChildren(
      el("span", {}, el("i", { class: "swatch lit" }), "the brighter, the better the match"),
      pointed,
    );
  if (how === "plain") return $("key").replaceChildren(pointed);
  const bar = el(
    "i",
    { class: "ramp" },
    [...Array(8).keys()].map((step) => {
      const part = el("i");
      part.style.background = heat(step / 7, 0.55);
      return part;
    }),
  );
  const kept = loaded.data.importance
    ? el("span", {}, "kept, importance low ", bar, " high")
    : el("span", {}, el("i", { class: "swatch" }), "kept");
  $("key").replaceChildren(
    kept,
    el("span", {}, el("i", { class: "swatch gone" }), "pruned"),
    pointed,
  );
}

/** The patch under the pointer, in words. */
function readOut(event) {
  if (!loaded || !["kept", "explore"].includes(mode())) return;
  const box = event.target.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width;
  const y = (event.clientY - box.top) / box.height;
  const { boxes, importance, kept } = loaded.data;
  const patch = boxes.findIndex(
    (b) => !isSpecial(b) && b[0] <= x && x <= b[2] && b[1] <= y && y <= b[3],
  );
  const stays = mode() === "explore" ? explorer.state.kept : kept;
  const weight = importance ? `importance ${figure(importance[patch])}, ` : "";
  $("pointed").textContent =
    patch < 0 ? "" : `this patch: ${weight}${stays?.[patch] ? "kept" : "pruned"}`;
}

function fit() {
  $("sheet").classList.toggle("whole", $("whole").checked);
  sessionStorage.setItem("docpruner-whole", $("whole").checked ? "yes" : "no");
}
