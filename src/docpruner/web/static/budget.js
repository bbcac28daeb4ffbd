// A budget for the whole index: which setting it would be given, how large it would be, what it costs.

import { get } from "./api.js";
import { $, bytes, count, el, percent, say, trouble } from "./elements.js";

let answer = null; // of the server: the choices, the mildest first
let asked = null; // the figures of the index it was asked for
let follow = () => {};

/** `whenChosen` gets the spec that a budget chooses, when it is moved. */
export function start(whenChosen) {
  follow = whenChosen;
  $("budget").addEventListener("input", () => {
    const choice = draw();
    follow(choice.spec);
    say(told(choice));
  });
}

/** Asks once for each state of the index. */
export async function show(stats) {
  if (asked === stats) return;
  asked = stats;
  $("budget-slide").classList.add("away");
  try {
    answer = await get("api/budget");
    if (asked !== stats) return;
    $("budget").value = $("budget").max;
    $("budget-slide").classList.toggle("away", answer.choices.length < 2);
    draw();
  } catch (failure) {
    asked = null;
    trouble($("budget-choice"), failure, () => show(stats));
  }
}

/** Bytes at the slider: each step is the same share less, from all that there is to the least. */
function allowed() {
  const [most, least] = [answer.choices[0].bytes, answer.choices.at(-1).bytes];
  const share = $("budget").value / $("budget").max;
  return share === 1 ? most : Math.ceil(least * (most / least) ** share);
}

function draw() {
  const budget = allowed();
  const choice = answer.choices.find((each) => each.bytes <= budget) ?? answer.choices.at(-1);
  $("budget-value").textContent = bytes(budget);
  const now = choice === answer.choices[0];
  $("budget-choice").replaceChildren(
    el(
      "p",
      { class: "small" },
      now ? "As it is, " : "",
      el("code", { id: "budget-setting" }, `${choice.spec} in ${choice.codec}`),
      now ? ": " : " fits: ",
      el("strong", { id: "budget-bytes" }, bytes(choice.bytes)),
      ` on disk, ${count(choice.vectors)} of ${count(answer.choices[0].vectors)} stored vectors.`,
    ),
    el("p", { class: "soft small", id: "budget-cost" }, cost(choice)),
    now
      ? ""
      : el("p", { class: "soft small" }, "Applied by ", el("code", {}, command(budget)), "."),
  );
  return choice;
}

const cost = ({ ndcg_kept: kept }) =>
  kept === null
    ? "What it costs was not measured."
    : `It kept ${percent(kept)} of nDCG@5 on ${answer.measured_on}; yours may differ.`;

const command = (budget) => `docpruner prune ${asked.name} --budget ${Math.ceil(budget / 1000)}kB`;

const told = (choice) => `${choice.spec} in ${choice.codec} takes ${bytes(choice.bytes)}`;
