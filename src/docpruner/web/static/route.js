// Where we are: the part of the address after #, so that back, reload and bookmarks work.

/** `#/page/3/12?q=…` as { view: "page", parts: ["3", "12"], params: { q } }. */
export function here() {
  const [, path, query] = /^#?\/?([^?]*)\??(.*)$/.exec(location.hash);
  const [view, ...parts] = path.split("/").map(decodeURIComponent);
  return { view: view || "search", parts, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function link(view, parts = [], params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value != null);
  const query = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${[view, ...parts].map(encodeURIComponent).join("/")}${query}`;
}

/** Go there; `instead` takes the place of where we are, so that back skips it. False if we are
 *  there already. */
export function go(view, parts, params, instead = false) {
  if (instead) note(view, parts, params);
  else if (location.hash !== link(view, parts, params)) location.hash = link(view, parts, params);
  else return false;
  if (instead) dispatchEvent(new HashChangeEvent("hashchange"));
  return true;
}

/** Keep in the address what the page already shows. */
export function note(view, parts, params) {
  history.replaceState(history.state, "", link(view, parts, params));
}

/** Shows in the navigation which view this is. */
export function mark(tab) {
  for (const tie of document.querySelectorAll("nav a")) {
    if (tie.dataset.view === tab) tie.setAttribute("aria-current", "page");
    else tie.removeAttribute("aria-current");
  }
}
