// The explorer: move a rule and see at once what it keeps, of the page and of the index.

import { get, pagePath } from "./api.js";
import * as budget from "./budget.js";
import { prunedChart, sizeBars } from "./charts.js";
import { $, bytes, count, el, later, percent, plural, say, trouble } from "./elements.js";
import { pageFacts, tile } from "./facts.js";
import { paintKept, paintPlain } from "./paint.js";
import { STRATEGIES, above, adaptiveThreshold, isSpecial, knobOn, read, spec } from "./reduce.js";

/** What is set, and which patches stay under it (null while the server computes it). */
export const state = { spec: "", kept: null };

let on = null; // { page, stats, canvas, paper }
let changed = () => {};
let waiting = new AbortController();

export function start(whenChanged) {
  changed = later(150, whenChanged); // the address follows, but not at every step
  $("strategy").append(...STRATEGIES.map(({ name }) => el("option", { value: name }, name)));
  $("strategy").addEventListener("change", () => {
    const strategy = STRATEGIES[$("strategy").selectedIndex];
    set(strategy, knobOn(strategy, on.page).value);
    changed();
  });
  budget.start((chosen) => {
    const rule = read(chosen);
    if (!rule) return; // nothing is pruned: the bits alone change
    set(rule.strategy, rule.value);
    changed();
  });
  $("knob").addEventListener("input", () => {
    set(STRATEGIES[$("strategy").selectedIndex], Number($("knob").value));
    changed();
  });
}

export function show(page, stats, rule, canvas, paper) {
  const known = on?.page === page && state.spec === rule;
  on = { page, stats, canvas, paper };
  if (!page.importance) return unable();
  $("knobs").classList.remove("away");
  budget.show(stats);
  const { strategy, value } = read(rule) ?? {
    strategy: STRATEGIES[0],
    value: STRATEGIES[0].knob.value,
  };
  if (known && state.kept) draw(state);
  else set(strategy, value);
}

/** Without importances there is nothing to compute a rule from. */
function unable() {
  Object.assign(state, { spec: "", kept: on.page.kept });
  paintKept(on.canvas, on.paper, on.page, on.page.kept);
  $("knobs").classList.add("away");
  const vectors = on.page.kept_vectors;
  pageFacts($("page-facts"), on.page, {
    kept: on.page.kept,
    threshold: null,
    vectors,
    bytes: vectors * on.stats.row_bytes,
  });
  $("whatif").replaceChildren(el("p", { class: "soft" }, "Other rules can't be tried, as this index stores no importances."));
}

function set(strategy, value) {
  const knob = knobOn(strategy, on.page);
  $("strategy").value = strategy.name;
  $("strategy-rule").textContent = strategy.rule;
  $("knob-name").textContent = knob.label;
  Object.assign($("knob"), {
    min: knob.low,
    max: Math.max(knob.high, value),
    step: knob.step,
    value,
  });
  $("knob-value").textContent = String(value).replace("-", "−");
  state.spec = spec(strategy, value);
  waiting.abort();
  waiting = new AbortController();
  const threshold = { k: () => adaptiveThreshold(on.page, value), threshold: () => value }[
    knob.name
  ]?.();
  if (threshold !== undefined) here(threshold);
  else askPage(on, state.spec, waiting.signal);
  askIndex(on, state.spec, waiting.signal);
}

/** A threshold needs no server. */
function here(threshold) {
  askPage.cancel();
  const kept = above(on.page, threshold);
  const patches = kept.filter((stays, i) => stays && !isSpecial(on.page.boxes[i])).length;
  const vectors = on.page.vectors - on.page.patches + patches;
  draw({ kept, threshold, vectors, bytes: vectors * on.stats.row_bytes });
}

function draw({ kept, threshold, vectors, bytes: size }) {
  Object.assign(state, { kept, threshold, vectors, bytes: size });
  paintKept(on.canvas, on.paper, on.page, kept);
  pageFacts($("page-facts"), on.page, state);
}

const askPage = later(120, async ({ page }, text, signal) => {
  try {
    const reduction = await get(
      pagePath(page.document, page.page, "/reduction"),
      { spec: text },
      signal,
    );
    if (!signal.aborted) draw({ ...reduction, kept: reduction.kept.map(Boolean) });
  } catch (failure) {
    if (failure.name === "AbortError") return;
    paintPlain(on.canvas, on.paper);
    trouble($("page-facts"), failure, () => askPage(on, text, signal));
  }
});

const askIndex = later(250, async ({ stats }, text, signal) => {
  $("whatif").classList.add("busy");
  try {
    const answer = await get("api/whatif", { spec: text }, signal);
    if (signal.aborted) return;
    whatif(answer, stats);
    say(
      `${text} keeps ${count(answer.vectors)} vectors of the index and saves ${percent(1 - answer.bytes / answer.bytes_unpruned_float16)}`,
    );
  } catch (failure) {
    if (failure.name !== "AbortError")
      trouble($("whatif"), failure, () => askIndex(on, text, signal));
  } finally {
    if (!signal.aborted) $("whatif").classList.remove("busy");
  }
});

function whatif(answer, stats) {
  const saved = 1 - answer.bytes / answer.bytes_unpruned_float16;
  $("whatif").replaceChildren(
    el("p", { class: "spec" }, el("code", { id: "whatif-spec" }, answer.spec), copyButton(answer.spec)),
    el(
      "dl",
      { class: "tiles" },
      tile(
        count(answer.vectors),
        `of ${count(answer.vectors_unpruned)}`,
        "vectors kept",
        "whatif-vectors",
      ),
      tile(percent(answer.pruned, 0), "", "pruned", "whatif-pruned"),
      tile(percent(saved, 0), "", "bytes saved", "whatif-saved"),
    ),
    sizeBars([
      { label: "with this rule", parts: [["part-kept", answer.bytes]] },
      { label: "now", parts: [["part-now", stats.bytes_of_vectors]] },
      { label: "unpruned, float16", parts: [["part-unpruned", answer.bytes_unpruned_float16]] },
    ]),
    el("h3", {}, `${plural(answer.pages, "page")} by share pruned`),
    prunedChart(answer.histogram),
    el("p", { class: "soft small" }, advice(answer, stats)),
  );
}

function advice(
  { spec: text, vectors },
  { settings, vectors: now, bytes_of_vectors: size, row_bytes: row },
) {
  if (text === settings.spec) return "The index uses this rule.";
  const [new_, old] = [read(text), read(settings.spec)];
  const stricter = new_?.strategy === old?.strategy && new_.value > old.value;
  if (stricter)
    return `docpruner prune applies it without encoding anything again and frees ${bytes(size - vectors * row)}.`;
  return vectors > now
    ? "It keeps more than the index stores. To use it, index the documents again with --spec."
    : "To use it, index the documents again with --spec.";
}

function copyButton(text) {
  const button = el(
    "button",
    { type: "button", class: "small-button", "aria-label": `Copy ${text}` },
    "Copy",
  );
  button.addEventListener("click", () => {
    navigator.clipboard?.writeText(text).then(
      () => (button.textContent = "Copied"),
      () => (button.textContent = "Copying failed"),
    );
  });
  return button;
}
