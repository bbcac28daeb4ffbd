// Small charts, drawn as SVG or plain boxes.

import { bytes, count, el, figure, percent, svg } from "./elements.js";

const WIDTH = 340;

/** How often each importance occurs: kept ones in colour, and where the threshold cuts. */
export function importanceChart(weights, kept, threshold, mean) {
  const BINS = 34,
    HEIGHT = 96,
    top = 16;
  const high = Math.max(...weights) || 1;
  const bins = Array.from({ length: BINS }, () => [0, 0]);
  weights.forEach(
    (weight, i) => bins[Math.min(BINS - 1, Math.floor((weight / high) * BINS))][kept[i] ? 0 : 1]++,
  );
  const most = Math.max(...bins.map(([a, b]) => a + b));
  const x = (value) => Math.min(Math.max(value / high, 0), 1) * WIDTH;
  const step = WIDTH / BINS;
  const bars = bins.flatMap(([stay, go], i) => {
    const tall = (n) => (n ? Math.max(1.5, (n / most) * HEIGHT) : 0);
    const bar = (kind, n, above) =>
      n &&
      svg("rect", {
        class: kind,
        x: i * step + 0.75,
        width: step - 1.5,
        y: top + HEIGHT - tall(n) - above,
        height: tall(n),
      });
    return [bar("bar-pruned", go, 0), bar("bar-kept", stay, tall(go))].filter(Boolean);
  });
  const mark = (kind, value, text, y) => {
    const at = x(value);
    return [
      svg("line", { class: kind, x1: at, x2: at, y1: y + 4, y2: top + HEIGHT }),
      svg(
        "text",
        {
          class: `${kind}-text`,
          x: at,
          y,
          "text-anchor": at < 24 ? "start" : at > WIDTH - 24 ? "end" : "middle",
        },
        text,
      ),
    ];
  };
  const label = threshold === null ? "no single threshold" : `threshold ${figure(threshold)}`;
  return svg(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${WIDTH} ${top + HEIGHT + 18}`,
      role: "img",
      "aria-label": `Importances of ${count(weights.length)} patches, from 0 to ${figure(high)}, ${label}`,
    },
    bars,
    svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: top + HEIGHT, y2: top + HEIGHT }),
    mean === null
      ? []
      : [
          svg("line", {
            class: "mean",
            x1: x(mean),
            x2: x(mean),
            y1: top + HEIGHT,
            y2: top + HEIGHT + 5,
          }),
          svg("text", { x: x(mean), y: top + HEIGHT + 15, "text-anchor": "middle" }, "μ"),
        ],
    threshold === null ? [] : mark("cut", threshold, `τ ${figure(threshold)}`, 10),
    svg("text", { class: "tick-text", x: 0, y: top + HEIGHT + 14 }, "0"),
    svg(
      "text",
      { class: "tick-text", x: WIDTH, y: top + HEIGHT + 14, "text-anchor": "end" },
      figure(high),
    ),
  );
}

/** Pages by the share of their patches that is pruned, in ten steps. */
export function prunedChart(histogram) {
  const HEIGHT = 72,
    top = 14;
  const most = Math.max(...histogram, 1);
  const step = WIDTH / histogram.length;
  const bars = histogram.flatMap((pages, i) => {
    const tall = pages ? Math.max(2, (pages / most) * HEIGHT) : 0;
    if (!pages) return [];
    return [
      svg("rect", {
        class: "bar-kept",
        x: i * step + 2,
        width: step - 4,
        y: top + HEIGHT - tall,
        height: tall,
      }),
      svg(
        "text",
        {
          class: "bar-text",
          x: (i + 0.5) * step,
          y: top + HEIGHT - tall - 4,
          "text-anchor": "middle",
        },
        count(pages),
      ),
    ];
  });
  const steps = histogram
    .map((pages, i) => (pages ? `${pages} pruned ${10 * i} to ${10 * i + 10} percent` : ""))
    .filter(Boolean);
  return svg(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${WIDTH} ${top + HEIGHT + 18}`,
      role: "img",
      "aria-label": `Pages by share pruned: ${steps.join(", ") || "none"}`,
    },
    bars,
    svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: top + HEIGHT, y2: top + HEIGHT }),
    ["0%", "50%", "100%"].map((text, i) =>
      svg(
        "text",
        {
          class: "tick-text",
          x: (i * WIDTH) / 2,
          y: top + HEIGHT + 14,
          "text-anchor": ["start", "middle", "end"][i],
        },
        text,
      ),
    ),
  );
}

/** Sizes one below the other on the same scale: [{ label, parts: [[class, bytes], …] }]. */
export function sizeBars(rows) {
  const total = ({ parts }) => parts.reduce((sum, [, size]) => sum + size, 0);
  const most = Math.max(...rows.map(total), 1);
  return el(
    "div",
    { class: "sizes" },
    rows.map((row) =>
      el(
        "div",
        { class: "size" },
        el("span", { class: "size-label" }, row.label),
        el("strong", {}, bytes(total(row))),
        el(
          "div",
          {
            class: "track",
            role: "img",
            "aria-label": `${percent(total(row) / most, 0)} of the largest`,
          },
          row.parts.map(([kind, size]) => wide(el("i", { class: kind }), size / most)),
        ),
      ),
    ),
  );
}

export function wide(element, share) {
  element.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  return element;
}
