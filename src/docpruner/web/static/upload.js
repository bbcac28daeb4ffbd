// Adding documents: by dropping or choosing them, with what became of each.

import { Failure, get, send, stats } from "./api.js";
import { wide } from "./charts.js";
import { $, bytes, count, el, percent, plural, trouble } from "./elements.js";

const PAUSE = 400; // milliseconds between two looks at a job

let running = false;
let whenDone = () => {};

export function start(done) {
  whenDone = done;
  $("choose").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", () => {
    add([...$("files").files]);
    $("files").value = "";
  });
  const zone = $("view-index");
  for (const kind of ["dragenter", "dragover"])
    zone.addEventListener(kind, (event) => hover(event, true));
  zone.addEventListener(
    "dragleave",
    (event) => zone.contains(event.relatedTarget) || hover(event, false),
  );
  zone.addEventListener("drop", (event) => {
    hover(event, false);
    add([...event.dataTransfer.files]);
  });
  // a file dropped beside the zone must not replace the page
  for (const kind of ["dragover", "drop"])
    addEventListener(kind, (event) => event.preventDefault());
}

function hover(event, over) {
  event.preventDefault();
  $("add").classList.toggle("over", over && !$("add").hidden);
}

async function add(files) {
  if (!files.length || $("add").hidden || running) return;
  running = true;
  $("choose").disabled = true;
  try {
    check(files, await stats());
    progress("Uploading", files, null);
    const form = new FormData();
    for (const file of files) form.append("files", file, file.name);
    const { job } = await send("api/documents", form);
    await follow(job, files);
  } catch (failure) {
    trouble($("job"), failure);
  } finally {
    running = false;
    $("choose").disabled = false;
  }
}

/** What is too large is refused before it is sent. */
function check(files, { max_files: most = Infinity, max_upload: largest = Infinity }) {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (files.length > most)
    throw new Failure(
      "many",
      `That is ${plural(files.length, "file")}; you can add up to ${count(most)} at once`,
    );
  if (size > largest)
    throw new Failure(
      "large",
      `That is ${bytes(size)}; you can add up to ${bytes(largest)} at once`,
    );
}

async function follow(job, files) {
  for (;;) {
    const state = await get(`api/jobs/${encodeURIComponent(job)}`);
    if (state.state === "failed")
      throw new Failure("failed", state.error ?? "The documents could not be added");
    if (state.state === "done") {
      await whenDone();
      return finished(state);
    }
    progress("Adding", files, state.share, `: ${plural(state.pages, "page")} done`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function progress(doing, files, share, rest = "") {
  const what = files.length === 1 ? files[0].name : plural(files.length, "file");
  const bar = el("div", {
    class: "track",
    role: "progressbar",
    "aria-label": `${doing} ${what}`,
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    "aria-valuenow": share === null ? null : Math.round(100 * share),
  });
  bar.append(wide(el("i", { class: "part-kept" }), share ?? 0.02));
  $("job").replaceChildren(el("p", {}, `${doing} ${what}${rest}…`), bar);
}

function finished({ pages, kept, documents, problems }) {
  const { unchanged = 0 } = typeof documents === "object" && documents !== null ? documents : {};
  const summary = pages
    ? `${plural(pages, "page")} added, ${percent(kept, 0)} of their vectors kept.`
    : unchanged && !problems.length
      ? "Nothing new: these documents are already in the index."
      : "No pages were added.";
  const list = problems.map(({ name, page, reason, remedy }) =>
    el(
      "li",
      {},
      el("strong", {}, page ? `${name}, page ${count(page)}` : name),
      ` ${reason}`,
      remedy ? `; ${remedy}.` : ".",
    ),
  );
  $("job").replaceChildren(
    el("p", { class: "done" }, summary),
    list.length
      ? el(
          "div",
          { class: "message bad" },
          el("p", {}, `${plural(list.length, "problem")}:`),
          el("ul", {}, list),
        )
      : "",
  );
}
