// A page in small, with the places that matched.

import { address, pagePath } from "./api.js";
import { wordColours } from "./colours.js";
import { el, svg } from "./elements.js";

export function thumb(document, page, matches = []) {
  const picture = el("img", {
    src: address(pagePath(document, page, "/image"), { width: 320 }),
    alt: "",
    loading: "lazy",
    decoding: "async",
  });
  const box = el(
    "span",
    { class: "thumb" },
    el("span", { class: "thumb-page" }, picture, matches.length ? marks(matches) : null),
  );
  picture.addEventListener("load", () => box.classList.add("loaded"));
  picture.addEventListener("error", () =>
    box.replaceChildren(el("span", { class: "no-picture" }, "No picture: the file can't be read")),
  );
  return box;
}

/** The words that count, in the colours they have on the large page. */
function marks(matches) {
  const rects = [...wordColours(matches)].flatMap(([word, colour]) =>
    matches[word].boxes.map(([x0, y0, x1, y1]) =>
      svg("rect", {
        x: x0 - 0.006,
        y: y0 - 0.004,
        width: x1 - x0 + 0.012,
        height: y1 - y0 + 0.008,
        stroke: colour,
        "vector-effect": "non-scaling-stroke",
      }),
    ),
  );
  return svg(
    "svg",
    { class: "marks", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" },
    rects,
  );
}
