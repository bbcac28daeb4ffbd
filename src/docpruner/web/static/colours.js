// The colours of docpruner.pictures, all safe for the colour-blind.

export const LIT = "#ffc430"; // as a highlighter pen
export const DIM = "#f4f5f7";
export const PRUNED = "#dee1e6";

// Okabe and Ito, without black and the two that drown in LIT.
export const WORDS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"];

// Plasma from its light end: paper is light, so what matters is dark.
const HEAT = [
  [255, 233, 130],
  [254, 202, 72],
  [250, 158, 59],
  [237, 121, 83],
  [216, 87, 107],
  [184, 50, 137],
  [144, 13, 164],
  [98, 0, 160],
];

export function heat(strength, alpha = 1) {
  const place = Math.min(Math.max(strength, 0), 1) * (HEAT.length - 1);
  const low = Math.min(Math.floor(place), HEAT.length - 2);
  const mixed = HEAT[low].map((from, i) =>
    Math.round(from + (HEAT[low + 1][i] - from) * (place - low)),
  );
  return `rgb(${mixed.join(" ")} / ${alpha})`;
}

/** White or nearly black, whichever reads better on one of WORDS. */
export const inkOn = (colour) => (["#cc79a7", "#56b4e9"].includes(colour) ? "#202328" : "#fff");

const STRONG_ENOUGH = 0.2; // of the best score, for a word to get a colour

/** The colours of a query's words by their place in it: the strongest words get one. */
export function wordColours(matches) {
  const best = Math.max(0, ...matches.map((match) => match.score));
  const able = matches
    .map((match, place) => ({ ...match, place }))
    .filter(({ score, boxes }) => boxes.length && score > 0 && score >= STRONG_ENOUGH * best)
    .sort((a, b) => b.score - a.score || a.place - b.place);
  return new Map(able.slice(0, WORDS.length).map(({ place }, rank) => [place, WORDS[rank]]));
}
