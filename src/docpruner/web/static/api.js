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

/** Moves a token from the address bar, where it would be seen and shared, to this tab's storage. */
export function takeToken() {
  const here = new URL(location.href);
  const inHash = /^#token=(.+)/.exec(here.hash)?.[1];
  const token = inHash ? decodeURIComponent(inHash) : here.searchParams.get("token");
  if (token === null) return;
  keepToken(token);
  here.searchParams.delete("token");
  if (inHash) here.hash = "";
  history.replaceState(history.state, "", here);
}

export const keepToken = (token) => sessionStorage.setItem(KEY, token);

export function pagePath(document, page, rest = "") {
  return `api/pages/${encodeURIComponent(document)}/${page}${rest}`;
}

export const get = (path, query, signal) => ask("GET", withQuery(path, query), { signal });
export const remove = (path) => ask("DELETE", path);
export const send = (path, body, query, signal) =>
  ask("POST", withQuery(path, query), { body, signal });

/** The bytes behind an address: pictures and files, which an <img> or a link can't ask for with
 *  the token in a header. */
export const download = async (path, query, signal) =>
  (await request("GET", withQuery(path, query), { signal })).blob();

/** A picture of some bytes, ready to be painted. */
export async function imageOf(blob) {
  const source = URL.createObjectURL(blob);
  try {
    const image = new Image();
    image.src = source;
    await image.decode();
    return image;
  } catch {
    throw new Failure("picture", "This page can't be displayed");
  } finally {
    URL.revokeObjectURL(source);
  }
}

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

const ask = async (method, path, options) =>
  JSON.parse(await (await request(method, path, options)).text(), (_, value) =>
    typeof value === "string" ? visible(value) : value,
  );

const CODES =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Names of files and words of pages may hold marks that turn text around; they are shown. */
const visible = (text) =>
  text.replace(CODES, (sign) => {
    const code = sign.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });

/** An answer that is one; anything else is a Failure. Whoever shows a field for the token listens
 *  for `tokenneeded`. */
async function request(method, path, options) {
  let response;
  try {
    response = await fetch(path, { method, headers: authorization(), ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Failure("gone", GONE);
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  const { code = "failed", message = `The server answered ${response.status}.` } =
    answer?.error ?? {};
  if (response.status !== 401) throw new Failure(code, message, response.status);
  dispatchEvent(new Event("tokenneeded"));
  throw new Failure(code, "This index needs a token.", response.status);
}

/** Headers are bytes to a browser; a token may have any letters. */
function authorization() {
  const token = sessionStorage.getItem(KEY);
  if (!token) return {};
  return { Authorization: `Bearer ${String.fromCharCode(...new TextEncoder().encode(token))}` };
}
