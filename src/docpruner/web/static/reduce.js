// Which patches of a page stay, computed here where it is a threshold on what the page has sent.

const ratio = { name: "ratio", label: "share pruned", low: 0, high: 0.95, step: 0.05, value: 0.5 };

export const STRATEGIES = [
  {
    name: "docpruner",
    rule: "Keeps patches of importance > μ + k·σ, so each page decides how much is pruned.",
    knob: { name: "k", label: "k", low: -1, high: 1.5, step: 0.05, value: -0.25 },
  },
  {
    name: "attention-ratio",
    rule: "Prunes the same share of every page, the least important patches first.",
    knob: ratio,
  },
  {
    name: "attention-threshold",
    rule: "Keeps patches above one importance, the same for all pages.",
    knob: { name: "threshold", label: "threshold", low: 0, step: 0.01 },
  },
  {
    name: "random",
    rule: "Prunes the same share of every page at random: the baseline to beat.",
    knob: ratio,
  },
];

export const spec = (strategy, value) => `${strategy.name}:${strategy.knob.name}=${value}`;

/** The strategy and the value of its knob that a spec names, or null if there is none here. */
export function read(text) {
  const [name, parameters = ""] = (text ?? "").split(":");
  const strategy = STRATEGIES.find((known) => known.name === name);
  if (!strategy) return null;
  const [key, value] = parameters.split("=");
  if (!parameters) return { strategy, value: strategy.knob.value ?? 0 };
  return key === strategy.knob.name && Number.isFinite(Number(value))
    ? { strategy, value: Number(value) }
    : null;
}

/** The knob of a strategy on a page: a threshold goes as far as the page's importances do. */
export function knobOn(strategy, page) {
  if (strategy.knob.name !== "threshold") return strategy.knob;
  const most = Math.max(...weights(page));
  const step = 10 ** Math.floor(Math.log10(most / 50 || 1));
  const value = Number((page.mean ?? most / 2).toPrecision(2));
  return {
    ...strategy.knob,
    high: Number((Math.ceil(most / step) * step).toPrecision(6)),
    step,
    value,
  };
}

/** What stays above a threshold: the best patch (the first of equals) if none does. */
export function above(page, threshold) {
  const kept = page.boxes.map((box, i) => isSpecial(box) || page.importance[i] > threshold);
  if (!kept.some((stays, i) => stays && !isSpecial(page.boxes[i]))) {
    let best = -1;
    page.importance.forEach((weight, i) => {
      if (!isSpecial(page.boxes[i]) && (best < 0 || weight > page.importance[best])) best = i;
    });
    if (best >= 0) kept[best] = true;
  }
  return kept;
}

export function adaptiveThreshold(page, k) {
  const all = weights(page);
  const low = Math.min(...all);
  if (low === Math.max(...all)) return low; // σ is 0: rounding must not decide
  return page.mean + k * page.std;
}

/** Importances without those of special tokens, which stand nowhere on the page. */
export const weights = (page) => page.importance.filter((_, i) => !isSpecial(page.boxes[i]));

export const isSpecial = (box) => box.every((side) => side === 0);

/** A page of which the encoder saw nothing: one patch, as large as the page. */
export const isWordless = (page) =>
  page.patches === 1 && page.boxes.some((box) => box.join() === "0,0,1,1");
