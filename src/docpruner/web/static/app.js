// Starts the page, shows the view that the address names, and listens to the keyboard.

import { stats, takeToken } from "./api.js";
import { $ } from "./elements.js";
import * as indexView from "./index-view.js";
import * as pageView from "./page.js";
import { here, mark } from "./route.js";
import * as search from "./search.js";
import * as token from "./token.js";

let opener = null; // the link that led to a page, to come back to
let view = "";

function show() {
  const { view: asked, parts, params } = here();
  const name = { page: "page", explore: "page", index: "index" }[asked] ?? "search";
  for (const each of ["search", "page", "index"]) $(`view-${each}`).hidden = each !== name;
  const explores = asked === "explore" || params.show === "explore";
  mark(name !== "page" ? name : explores ? "explore" : "");
  const came = view !== name;
  const scrolled = positions.get(location.hash) ?? 0;
  view = name;
  if (name === "search") search.show(params);
  else if (name === "index") indexView.show();
  else pageView.show(asked === "explore" ? null : parts, params);
  if (!came) return;
  scrollTo(0, scrolled);
  focusFirst(name);
}

function focusFirst(name) {
  if (name === "page") $("page-name").focus({ preventScroll: true });
  else if (name === "index") $("index-title").focus({ preventScroll: true });
  else if (opener?.isConnected) opener.focus({ preventScroll: true });
  else if (matchMedia("(hover: hover)").matches || !here().params.q)
    $("q").focus({ preventScroll: true });
}

function nameIndex() {
  stats().then(
    ({ name }) => ($("index-name").textContent = name),
    () => {}, // the view tells it
  );
}

const positions = new Map();

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (event.key === "/" && !event.target.closest("input[type=search], input:not([type])")) {
    event.preventDefault();
    if (view !== "search") location.hash = pageView.results();
    opener = null;
    requestAnimationFrame(() => $("q").select());
  } else if (event.key === "Escape" && view === "page") location.hash = pageView.results();
  else if (event.key === "Escape" && view === "search" && event.target !== $("q")) $("q").focus();
  else if (view === "page" && !typing && event.key === "ArrowLeft") pageView.turn(-1);
  else if (view === "page" && !typing && event.key === "ArrowRight") pageView.turn(1);
}

takeToken();
token.start(() => {
  show();
  nameIndex();
});
search.start();
pageView.start();
indexView.start();
addEventListener("hashchange", show);
addEventListener("keydown", keys);
addEventListener("scroll", () => positions.set(location.hash, scrollY), { passive: true });
$("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is ours
  $("main").focus();
});
document.addEventListener("click", (event) => {
  opener = event.target.closest("a.hit") ?? opener;
});
if ("scrollRestoration" in history) history.scrollRestoration = "manual";
show();
nameIndex();
