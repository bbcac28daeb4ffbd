// The index as a whole: what it holds and saves, its documents, and how to change them.

import { documents, forget, remove, stats } from "./api.js";
import { prunedChart, sizeBars } from "./charts.js";
import { $, bytes, count, el, percent, plural, say, trouble } from "./elements.js";
import { tile } from "./facts.js";
import { link } from "./route.js";
import { outdate } from "./search.js";
import { forgetThumbs } from "./thumbs.js";
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
    const [figures, listed] = await Promise.all([stats(), documents()]);
    all = listed;
    changeable = figures.changes_allowed;
    $("add").hidden = !changeable;
    $("documents-part").hidden = false;
    showFigures(figures);
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
  forgetThumbs();
  outdate();
  return show();
}

function showFigures(figures) {
  const saved = 1 - figures.bytes_of_vectors / (figures.bytes_unpruned_float16 || 1);
  const rest = Math.max(0, figures.bytes_on_disk - figures.bytes_of_vectors);
  $("figures").replaceChildren(
    el(
      "dl",
      { class: "tiles wide" },
      tile(count(figures.documents), "", "documents", "stat-documents"),
      tile(count(figures.pages), "", "pages", "stat-pages"),
      tile(percent(figures.pruned), "", "of patches pruned", "stat-pruned"),
      tile(percent(figures.pages ? saved : 0), "", "of vector storage saved", "stat-saved"),
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
              ["part-kept", figures.bytes_of_vectors],
              ["part-rest", rest],
            ],
          },
          {
            label: "vectors, unpruned float16",
            parts: [["part-unpruned", figures.bytes_unpruned_float16]],
          },
        ]),
        el(
          "p",
          { class: "soft small" },
          `On disk: ${bytes(figures.bytes_of_vectors)} of vectors, ${bytes(rest)} of everything else.`,
          figures.bytes_reclaimable
            ? ` docpruner compact would free ${bytes(figures.bytes_reclaimable)}.`
            : "",
        ),
      ),
      el("div", {}, el("h2", {}, "Pages by share pruned"), prunedChart(figures.pruned_histogram)),
      el("div", {}, el("h2", {}, "Made with"), madeWith(figures)),
    ),
    ...remarks(figures),
  );
}

function madeWith({ settings, vectors, vectors_unpruned, row_bytes }) {
  const rows = [
    ["encoder", `${settings.encoder}, ${settings.dim} dimensions`],
    ["reduction", settings.spec],
    ["codec", `${settings.codec}, ${row_bytes} bytes per vector`],
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
  const texts = [];
  if (missing)
    texts.push(
      `${plural(missing, "page")} ${missing === 1 ? "is" : "are"} missing from the index. Run docpruner index again to add ${missing === 1 ? "it" : "them"}.`,
    );
  if (silent)
    texts.push(
      `${plural(silent, "page")} ${silent === 1 ? "has" : "have"} no text, like most scans, so searches rarely find ${silent === 1 ? "it" : "them"}. Run docpruner index --ocr to recognise the text.`,
    );
  return texts.map((text) => el("p", { class: "message" }, text));
}

function list() {
  const part = $("filter").value.trim().toLowerCase();
  const chosen = all.filter(({ name }) => name.toLowerCase().includes(part));
  $("documents").replaceChildren(...chosen.map(row));
  const none = all.length
    ? `No document name contains “${part}”.`
    : changeable
      ? "No documents yet. Drop some above."
      : "No documents yet. Add some with docpruner index.";
  $("documents-summary").textContent = chosen.length
    ? part
      ? `${count(chosen.length)} of ${plural(all.length, "document")}`
      : ""
    : none;
}

function row({ id, name, pages, metadata }) {
  const facts = Object.entries(metadata)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
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
    el("span", { class: "soft meta" }, facts),
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
