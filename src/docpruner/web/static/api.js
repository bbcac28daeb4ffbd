// What the server knows. Everything the page asks for goes through here.

const KEY = "docpruner-token";

export class Failure extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const GONE = "The server isn't responding. Is docpruner serve still running?";
const LOCKED = "This index needs a token. Open the address that docpruner serve printed.";

/** Moves a token from the address bar, where it would be seen and shared, to this tab's storage. */
export function takeToken() {
  const here = new URL(location.href);
  const token = here.searchParams.get("token");
  if (token === null) return;
  sessionStorage.setItem(KEY, token);
  here.searchParams.delete("token");
  history.replaceState(history.state, "", here);
}

/** An address for pictures and links, which can't send a header. */
export function address(path, query = {}) {
  const token = sessionStorage.getItem(KEY);
  return withQuery(path, token ? { ...query, token } : query);
}

export function pagePath(document, page, rest = "") {
  return `api/pages/${encodeURIComponent(document)}/${page}${rest}`;
}

export const get = (path, query, signal) => ask("GET", withQuery(path, query), { signal });
export const remove = (path) => ask("DELETE", path);
export const send = (path, body) => ask("POST", path, { body });

const asked = new Map();

export const documents = () => once("api/documents").then((answer) => answer.documents);
export const stats = () => once("api/stats");

/** Ask again next time: the index has changed. */
export const forget = () => asked.clear();

function once(path) {
  if (!asked.has(path)) {
    asked.set(path, get(path));
    asked.get(path).catch(() => asked.delete(path));
  }
  return asked.get(path);
}

function withQuery(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

async function ask(method, path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(path, { method, headers, ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Failure("gone", GONE);
  }
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  const { code = "failed", message = `The server answered ${response.status}.` } =
    answer?.error ?? {};
  throw new Failure(code, response.status === 401 ? LOCKED : message, response.status);
}
