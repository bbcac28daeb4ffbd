// A page in small, with the places that matched.

import { download, imageOf, pagePath } from "./api.js";
import { wordColours } from "./colours.js";
import { el, sentence, svg } from "./elements.js";

const NEAR = "300px"; // of the window: pages that are as near as that are fetched
const WIDTH = 320;
const KEPT = 300; // pictures of some 10 kB: the next query often finds the same pages

let kept = new Map(); // promises of bytes, by address, the latest last

const loaders = new WeakMap();
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      loaders.get(target)();
    }
  },
  { rootMargin: NEAR },
);

/** Its picture is fetched when it comes into view. */
export function thumb(document, page, matches = []) {
  const box = el("span", { class: "thumb" });
  loaders.set(box, async () => {
    try {
      const image = await imageOf(await bytesOf(pagePath(document, page, "/image")));
      image.alt = "";
      box.replaceChildren(
        el("span", { class: "thumb-page" }, image, matches.length ? marks(matches) : null),
      );
      box.classList.add("loaded");
    } catch (failure) {
      const [reason] = failure.message.split(";");
      box.replaceChildren(el("span", { class: "no-picture" }, sentence(reason)));
    }
  });
  watcher.observe(box);
  return box;
}

/** Fetch all pictures again: the index has changed. */
export const forgetThumbs = () => (kept = new Map());

function bytesOf(path) {
  const bytes = kept.get(path) ?? download(path, { width: WIDTH });
  kept.delete(path);
  kept.set(path, bytes);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  bytes.catch(() => kept.delete(path));
  return bytes;
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
