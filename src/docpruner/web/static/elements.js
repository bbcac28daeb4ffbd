// Building parts of the page. Text only ever goes in as text: names of files are not to be trusted.

export const $ = (id) => document.getElementById(id);

/** An element: `el("a", { href, class: "hit" }, "text", child)`. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== ""));
  return element;
}

export function say(text) {
  $("status").textContent = text;
}

/** What went wrong, where something should stand, with a way to try again. */
export function trouble(box, failure, again) {
  if (failure === null) return box.replaceChildren();
  const button = again && el("button", { type: "button", click: again }, "Try again");
  box.replaceChildren(
    el(
      "div",
      { class: "message bad", role: "alert" },
      el("p", {}, sentence(failure.message)),
      button,
    ),
  );
}

/** With a capital and a full stop; a name that it begins with stays as it is. */
export function sentence(text) {
  const trimmed = text.trim();
  const begun = /^[a-z]+ /.test(trimmed) ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  return begun + (/[.!?…]$/.test(trimmed) ? "" : ".");
}

export const count = (n) => Math.round(n).toLocaleString("en");
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;

/** As the commands print it: decimal units. */
export function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; n >= 999.95 && unit < units.length - 1; unit++) n /= 1000;
  return unit === 0 ? `${count(n)} bytes` : `${n.toFixed(1)} ${units[unit]}`;
}

/** A number in about three digits. */
export function figure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 100000)) return value.toExponential(2);
  return String(Number(value.toPrecision(3)) || 0).replace("-", "−");
}

export const bare = (word) =>
  word.replace(/^[.,;:!?()[\]{}«»„“”"']+|[.,;:!?()[\]{}«»„“”"']+$/g, "") || word;

export function later(wait, run) {
  let timer = 0;
  const call = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), wait);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
