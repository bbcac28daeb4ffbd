// A page with its patches on a canvas: what matched, or what is kept.

import { DIM, LIT, PRUNED, WORDS, heat, inkOn, wordColours } from "./colours.js";
import { bare } from "./elements.js";
import { isSpecial } from "./reduce.js";

const LIT_ALPHA = [0.35, 0.85]; // of the weakest and the strongest place
const TINT_ALPHA = [0.4, 0.6]; // of the least and the most important kept patch

/** The picture of a page in the states that painting copies from, each drawn once. */
export class Paper {
  constructor(picture, width, height) {
    this.width = width;
    this.height = height;
    this.plain = this.#state((draw) => {
      draw.fillStyle = "#fff";
      draw.fillRect(0, 0, width, height);
      if (picture) draw.drawImage(picture, 0, 0, width, height);
    });
    this.isDark = brightness(this.plain) < 0.5;
    this.drained = this.#washed([["saturation", "#808080", 0.6]]);
    this.dim = this.#washed([
      ["saturation", "#808080", 0.6],
      ["source-over", DIM, 0.52],
    ]);
    this.bare = this.#washed([["source-over", "#fff", 0.3]]);
    this.pruned = this.#washed([
      ["saturation", "#808080", 1],
      ["source-over", PRUNED, 0.8],
    ]);
  }

  #state(paint) {
    const canvas = Object.assign(document.createElement("canvas"), {
      width: this.width,
      height: this.height,
    });
    paint(canvas.getContext("2d"));
    return canvas;
  }

  #washed(washes) {
    return this.#state((draw) => {
      draw.drawImage(this.plain, 0, 0);
      for (const [operation, colour, alpha] of washes)
        wash(draw, operation, colour, alpha, [0, 0, this.width, this.height]);
    });
  }

  /** The pixels of boxes; words get some room around their letters, cells that tile a page none. */
  places(boxes) {
    const sides = boxes.map(([x0, y0, x1, y1]) => [x1 - x0, y1 - y0]);
    const covered = sides.reduce((sum, [w, h]) => sum + w * h, 0);
    const alike = sides.every(
      ([w, h]) => Math.abs(w - sides[0][0]) < 1e-4 && Math.abs(h - sides[0][1]) < 1e-4,
    );
    const heights = sides.map(([, h]) => h).sort((a, b) => a - b);
    const tiled = !boxes.length || (boxes.length > 1 && alike) || covered >= 0.75;
    const pad = tiled
      ? 0
      : Math.max(1, Math.round(0.14 * heights[heights.length >> 1] * this.height));
    return boxes.map(([x0, y0, x1, y1]) => {
      const left = Math.max(0, Math.round(x0 * this.width) - pad);
      const top = Math.max(0, Math.round(y0 * this.height) - pad);
      const right = Math.min(this.width, Math.max(left + 1, Math.round(x1 * this.width) + pad));
      const bottom = Math.min(this.height, Math.max(top + 1, Math.round(y1 * this.height) + pad));
      return [left, top, right - left, bottom - top];
    });
  }
}

/** Of a picture, 0 to 1, on average. */
function brightness(picture) {
  const draw = Object.assign(document.createElement("canvas"), {
    width: 16,
    height: 16,
  }).getContext("2d");
  draw.drawImage(picture, 0, 0, 16, 16);
  const bytes = draw.getImageData(0, 0, 16, 16).data;
  return bytes.reduce((sum, byte, i) => sum + (i % 4 === 3 ? 0 : byte), 0) / (16 * 16 * 3 * 255);
}

function wash(draw, operation, colour, alpha, place) {
  draw.globalCompositeOperation = operation;
  draw.globalAlpha = alpha;
  draw.fillStyle = colour;
  draw.fillRect(...place);
  draw.globalCompositeOperation = "source-over";
  draw.globalAlpha = 1;
}

/** A colour under dark letters; a dark page is lightened first, or it would not show. */
function tint(draw, paper, colour, alpha, place) {
  if (paper.isDark) wash(draw, "source-over", "#fff", 0.5 * alpha, place);
  wash(draw, "multiply", colour, alpha, place);
}

/** An empty canvas as large as the paper. */
function begun(canvas, paper, state) {
  if (canvas.width !== paper.width || canvas.height !== paper.height)
    Object.assign(canvas, { width: paper.width, height: paper.height });
  const draw = canvas.getContext("2d");
  draw.drawImage(state, 0, 0);
  return draw;
}

export function paintPlain(canvas, paper) {
  begun(canvas, paper, paper.plain);
}

/** Kept patches clear and tinted by importance; pruned ones faint. */
export function paintKept(canvas, paper, { boxes, importance }, kept) {
  const draw = begun(canvas, paper, paper.bare);
  const patches = boxes.map((box, i) => i).filter((i) => !isSpecial(boxes[i]));
  const places = new Map(
    paper.places(patches.map((i) => boxes[i])).map((place, at) => [patches[at], place]),
  );
  for (const i of patches)
    if (!kept[i]) draw.drawImage(paper.pruned, ...places.get(i), ...places.get(i));
  const left = patches.filter((i) => kept[i]);
  const strength = strengths(left.map((i) => importance?.[i] ?? 1));
  const order = left.map((i, at) => [i, strength?.[at]]).sort((a, b) => a[1] - b[1]); // the more important wins
  for (const [i, strong] of order) {
    const place = places.get(i);
    draw.drawImage(strength ? paper.drained : paper.plain, ...place, ...place);
    if (strength) tint(draw, paper, heat(strong), between(TINT_ALPHA, strong), place);
  }
}

/** From 0 to 1 without the tails: one dominant patch must not turn all others pale. Null if equal. */
function strengths(weights) {
  const sorted = [...weights].sort((a, b) => a - b);
  let low = sorted[Math.round(0.02 * (sorted.length - 1))];
  let high = sorted[Math.round(0.98 * (sorted.length - 1))];
  if (low === high) [low, high] = [sorted[0], sorted.at(-1)];
  return low === high
    ? null
    : weights.map((weight) => Math.min(Math.max((weight - low) / (high - low), 0), 1));
}

/** The places lit that answer the query, or one word of it: the brighter, the more they count. */
export function paintMatches(canvas, paper, matches, word) {
  const draw = begun(canvas, paper, paper.dim);
  const lit =
    word === null ? matches.map((_, i) => i).filter((i) => matches[i].score > 0) : [word];
  const places = lit.map((i) => paper.places(matches[i].boxes));
  for (const [place, strength] of lights(lit.map((i, at) => [places[at], matches[i].score]))) {
    draw.drawImage(paper.plain, ...place, ...place);
    tint(draw, paper, LIT, between(LIT_ALPHA, strength), place);
  }
  const colours = wordColours(matches);
  if (word !== null && !colours.has(word)) colours.set(word, WORDS[0]);
  const size = Math.max(11, Math.round(paper.width / 62));
  const taken = places.flat();
  lit.forEach((i, at) => {
    if (!colours.has(i)) return;
    draw.strokeStyle = colours.get(i);
    draw.lineWidth = Math.max(2, size / 7);
    for (const [x, y, w, h] of places[at]) draw.strokeRect(x, y, w, h);
  });
  lit.forEach((i, at) => {
    if (colours.has(i) && places[at].length)
      tag(draw, paper, bare(matches[i].word), colours.get(i), places[at][0], taken, size);
  });
}

/** Each place once with the part of the score it carries, 0 to 1, the weakest first. */
function lights(words) {
  const sums = new Map();
  for (const [places, score] of words) {
    for (const place of new Map(places.map((each) => [each.join(), each])).values()) {
      const [, sum] = sums.get(place.join()) ?? [place, 0];
      sums.set(place.join(), [place, sum + Math.max(score, 0)]);
    }
  }
  const most = Math.max(...[...sums.values()].map(([, sum]) => sum), 1e-9);
  return [...sums.values()].map(([place, sum]) => [place, sum / most]).sort((a, b) => a[1] - b[1]);
}

/** The word beside the place it matched, where it covers no other place. */
function tag(draw, paper, text, colour, [x, y, w, h], taken, size) {
  draw.font = `600 ${size}px -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif`;
  const width = draw.measureText(text).width + size * 0.8;
  const height = size * 1.45;
  const gap = size / 4;
  const spots = [
    [x, y - height - gap],
    [x, y + h + gap],
    [x + w - width, y - height - gap],
    [x + w - width, y + h + gap],
    [x + w + gap, y + (h - height) / 2],
    [x - width - gap, y + (h - height) / 2],
  ];
  const spot = spots
    .map(([left, top]) => [Math.max(0, Math.min(left, paper.width - width)), top, width, height])
    .find(
      (tried) =>
        tried[1] >= 0 &&
        tried[1] + height <= paper.height &&
        !taken.some((other) => overlap(tried, other)),
    );
  if (!spot) return;
  taken.push(spot);
  draw.fillStyle = colour;
  draw.beginPath();
  draw.roundRect(...spot, size / 4);
  draw.fill();
  draw.fillStyle = inkOn(colour);
  draw.textBaseline = "middle";
  draw.fillText(text, spot[0] + size * 0.4, spot[1] + height / 2 + size * 0.05);
}

const overlap = ([ax, ay, aw, ah], [bx, by, bw, bh]) =>
  ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah;

const between = ([low, high], strength) => low + (high - low) * strength;
