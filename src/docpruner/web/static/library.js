// The index as a whole: what it holds and saves, its documents, and how to change them.

import { documents, forget, remove, stats } from "./api.js";
import { prunedChart, sizeBars } from "./charts.js";
import { $, bytes, count, el, percent, plural, say, trouble } from "./elements.js";
import { tile } from "./facts.js";
import { link } from "./route.js";
import { outdate } from "./search.js";
import * as upload from "./upload.js";

let all = [];
let changeable = false;

export function start() {
  $("filter").addEventListener("input", list);
  upload.start(refresh);
}

export async function show() {
  document.title = "Index – docpruner";
  trouble($("index-trouble"), null);
  try {
    const [told, found] = await Promise.all([stats(), documents()]);
    all = found;
    changeable = told.changes_allowed;
    $("add").hidden = !changeable;
    $("documents-part").hidden = false;
    figures(told);
    list();
  } catch (failure) {
    $("figures").replaceChildren();
    $("add").hidden = $("documents-part").hidden = true;
    trouble($("index-trouble"), failure, show);
  }
}

/** After a change: everything known may be wrong. */
function refresh() {
  forget();
  outdate();
  return show();
}

function figures(told) {
  const saved = 1 - told.bytes_of_vectors / (told.bytes_unpruned_float16 || 1);
  const rest = Math.max(0, told.bytes_on_disk - told.bytes_of_vectors);
  $("figures").replaceChildren(
    el(
      "dl",
      { class: "tiles wide" },
      tile(count(told.documents), "", "documents", "stat-documents"),
      tile(count(told.pages), "", "pages", "stat-pages"),
      tile(percent(told.pruned), "", "of the patches pruned", "stat-pruned"),
      tile(percent(told.pages ? saved : 0), "", "bytes of vectors saved", "stat-saved"),
    ),
    el(
      "div",
      { class: "columns" },
      el(
        "div",
        {},
        el("h2", {}, "Size"),
        sizeBars([
          {
            label: "on disk",
            parts: [
              ["part-kept", told.bytes_of_vectors],
              ["part-rest", rest],
            ],
          },
          {
            label: "vectors unpruned, float16",
            parts: [["part-unpruned", told.bytes_unpruned_float16]],
          },
        ]),
        el(
          "p",
          { class: "soft small" },
          `On disk, ${bytes(told.bytes_of_vectors)} are vectors and ${bytes(rest)} the catalogue.`,
          told.bytes_reclaimable
            ? ` docpruner compact gives back ${bytes(told.bytes_reclaimable)}.`
            : "",
        ),
      ),
      el("div", {}, el("h2", {}, "Pages by share pruned"), prunedChart(told.pruned_histogram)),
      el("div", {}, el("h2", {}, "Made with"), madeWith(told)),
    ),
    ...remarks(told),
  );
}

function madeWith({ settings, vectors, vectors_unpruned, row_bytes }) {
  const rows = [
    ["encoder", `${settings.encoder}, ${settings.dim} dimensions`],
    ["reduction", settings.spec],
    ["codec", `${settings.codec}, ${row_bytes} bytes a vector`],
    ["vectors", `${count(vectors)} of ${count(vectors_unpruned)}`],
    ["docpruner", settings.version],
  ];
  return el(
    "dl",
    { class: "pairs" },
    rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

function remarks({ missing_pages: missing, pages_without_words: silent }) {
  const told = [];
  if (missing)
    told.push(
      `${plural(missing, "page")} of the documents ${missing === 1 ? "is" : "are"} missing from the index; docpruner index completes it.`,
    );
  if (silent)
    told.push(
      `${plural(silent, "page")} ${silent === 1 ? "has" : "have"} no words, as scans do, and ${silent === 1 ? "is" : "are"} rarely found; docpruner index --ocr recognises them.`,
    );
  return told.map((text) => el("p", { class: "message" }, text));
}

function list() {
  const part = $("filter").value.trim().toLowerCase();
  const shown = all.filter(({ name }) => name.toLowerCase().includes(part));
  $("documents").replaceChildren(...shown.map(row));
  const none = all.length
    ? `No document's name has “${part}” in it.`
    : changeable
      ? "There are no documents yet. Drop some above."
      : "There are no documents yet; docpruner index adds them.";
  $("documents-told").textContent = shown.length
    ? part
      ? `${count(shown.length)} of ${plural(all.length, "document")}`
      : ""
    : none;
}

function row({ id, name, pages, metadata }) {
  const told = Object.entries(metadata ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
  const button =
    changeable &&
    el(
      "button",
      {
        type: "button",
        class: "small-button",
        "aria-label": `Remove ${name}`,
        click: () => confirmRemoval(id, name),
      },
      "Remove",
    );
  return el(
    "li",
    {},
    el("a", { href: link("page", [id, 1]) }, name),
    el("span", { class: "soft meta" }, told),
    el("span", { class: "soft n" }, plural(pages, "page")),
    button || null,
  );
}

function confirmRemoval(id, name) {
  const dialog = $("confirm");
  $("confirm-text").textContent = `Remove ${name} from the index?`;
  dialog.returnValue = "";
  dialog.addEventListener("close", () => dialog.returnValue === "yes" && removeDocument(id, name), {
    once: true,
  });
  dialog.showModal();
}

async function removeDocument(id, name) {
  try {
    await remove(`api/documents/${encodeURIComponent(id)}`);
    await refresh();
    say(`${name} was removed`);
    $("filter").focus();
  } catch (failure) {
    trouble($("index-trouble"), failure);
  }
}
