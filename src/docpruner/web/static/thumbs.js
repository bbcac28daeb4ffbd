// A page in small, with the places that matched.

import { download, imageOf, pagePath } from "./api.js";
import { wordColours } from "./colours.js";
import { el, sentence, svg } from "./elements.js";

const NEAR = "300px"; // of the window: pages that are as near as that are fetched
const WIDTH = 320;
const KEPT = 100; // pictures: the next query often finds the same pages

let kept = new Map(); // images by their address, the latest last
let arriving = new Map(); // downloads that are not shown yet, by the same

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

/** Its picture is fetched when it comes into view, unless it was seen a moment ago. */
export function thumb(document, page, matches = []) {
  const box = el("span", { class: "thumb" });
  const path = pagePath(document, page, "/image");
  const show = (image) => {
    keep(path, image);
    box.replaceChildren(
      el("span", { class: "thumb-page" }, image, matches.length ? marks(matches) : null),
    );
    box.classList.add("loaded");
  };
  const known = kept.get(path);
  if (known && !known.isConnected) {
    show(known);
    return box;
  }
  loaders.set(box, async () => {
    try {
      show(Object.assign(await imageOf(await arrival(path)), { alt: "" }));
    } catch (failure) {
      const [reason] = failure.message.split(";");
      box.replaceChildren(el("span", { class: "no-picture" }, sentence(reason)));
    } finally {
      arriving.delete(path);
    }
  });
  watcher.observe(box);
  return box;
}

/** Fetch all pictures again: the index has changed. */
export const forgetThumbs = () => ([kept, arriving] = [new Map(), new Map()]);

/** The picture, asked for once also if hits come and go while it is on its way. */
function arrival(path) {
  if (!arriving.has(path)) arriving.set(path, download(path, { width: WIDTH }));
  return arriving.get(path);
}

function keep(path, image) {
  kept.delete(path);
  kept.set(path, image);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
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
