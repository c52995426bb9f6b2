// The weight of each aspect: sliders that always sum to 100, and optional ratings of the aspects as a set.

import { attribute, button, h, kbd, text } from "../dom.js";
import { answerOf, entered } from "../model.js";
import { form } from "./form.js";
import { optionGroup } from "./options.js";
import { t } from "../texts.js";

const STEP = 5;
const TYPING = 1200; // milliseconds in which typed digits form one number

export function weightsPanel(bench, task) {
  const [target] = task.targets;
  return form(bench, task, target, weightsField(bench, task, target));
}

/** Weights after one changes: the others share the remainder in proportion; locked ones do not change. Always sums to 100. */
export function rebalanced(weights, place, value, locked) {
  const free = weights.map((_, other) => other).filter((other) => other !== place && !locked[other]);
  if (!free.length) return weights;
  const tenths = (weight) => Math.round(weight * 10);
  const fixed = weights.reduce(
    (sum, weight, other) => sum + (other !== place && locked[other] ? tenths(weight) : 0),
    0,
  );
  const own = Math.max(0, Math.min(tenths(value), 1000 - fixed));
  const parts = apportioned(
    1000 - fixed - own,
    free.map((other) => weights[other]),
  );
  const next = weights.slice();
  next[place] = own / 10;
  free.forEach((other, at) => (next[other] = parts[at] / 10));
  return next;
}

/** Whole numbers that sum to `total` in proportion to `sizes`, rounded by the largest remainder method. */
function apportioned(total, sizes) {
  const sum = sizes.reduce((all, size) => all + size, 0);
  const exact = sizes.map((size) => (sum ? (size / sum) * total : total / sizes.length));
  const parts = exact.map(Math.floor);
  const order = exact.map((_, at) => at).sort((x, y) => exact[y] - parts[y] - (exact[x] - parts[x]));
  const left = total - parts.reduce((all, part) => all + part, 0);
  order.slice(0, left).forEach((at) => (parts[at] += 1));
  return parts;
}

/** Equal weights that sum to exactly 100 with one decimal. */
export function equal(count) {
  return apportioned(
    1000,
    Array.from({ length: count }, () => 1),
  ).map((part) => part / 10);
}

function weightsField(bench, task, target) {
  const names = target.aspects.map((aspect) => aspect.name);
  const ratings = task.targets.slice(1);
  const rows = names.length + ratings.length;
  const locked = names.map(() => false);
  let [row, typed, typedAt] = [0, "", 0];

  const current = () => {
    const { value } = entered(bench.state, target.id);
    return value ? names.map((name) => value[name] ?? 0) : equal(names.length);
  };
  const put = (weights) =>
    bench.dispatch({
      type: "choose",
      target: target.id,
      value: Object.fromEntries(names.map((name, place) => [name, weights[place]])),
    });
  const rate = (rating, value) => bench.dispatch({ type: "choose", target: rating.id, value });
  const set = (place, value) =>
    locked[place]
      ? bench.say(t("This weight is locked; L unlocks it."))
      : put(rebalanced(current(), place, value, locked));
  const go = (to) => {
    row = (to + rows) % rows;
    typed = "";
    update(bench.state);
    sliders[row]?.node.scrollIntoView?.({ block: "nearest" });
  };
  const lock = (place) => {
    locked[place] = !locked[place];
    update(bench.state);
  };

  const sliders = target.aspects.map((aspect, place) => slider(aspect, place));
  const sum = h("span", { class: "sum" });
  const groups = ratings.map((rating, place) => {
    const group = optionGroup({
      label: rating.question,
      options: rating.options,
      className: "rating",
      pick: (value) => {
        row = names.length + place;
        rate(rating, value);
      },
    });
    return {
      ...group,
      rating,
      row: h(
        "div",
        { class: "quality", onclick: () => (row = names.length + place) },
        h("span", { class: "name", title: rating.help ?? null }, rating.question),
        group.node,
      ),
    };
  });
  const node = h(
    "div",
    { class: "weights" },
    sliders.map((one) => one.node),
    h(
      "div",
      { class: "sumline" },
      button({ class: "tool", onclick: () => put(equal(names.length)) }, kbd("E"), ` ${t("equal")}`),
      sum,
    ),
    groups.length ? h("p", { class: "about" }, t("The aspects as a set, 1 to 5 (optional)")) : null,
    groups.map((one) => one.row),
  );

  function slider(aspect, place) {
    const number = h("output", { class: "percent" });
    const lockState = h("span", {}, t("lock"));
    const padlock = button(
      { class: "lock", "aria-pressed": "false", onclick: () => lock(place) },
      lockState,
      h("span", { class: "visually-hidden" }, ` ${aspect.name}`),
    );
    const input = h("input", {
      type: "range",
      min: "0",
      max: "100",
      step: "1",
      "aria-label": aspect.name,
      oninput: () => {
        row = place;
        set(place, Number(input.value));
      },
      onfocus: () => {
        row = place;
        update(bench.state);
      },
    });
    const marks = h("div", { class: "judgemarks", "aria-hidden": "true" });
    const line = h(
      "div",
      {
        class: "aspect",
        onclick: () => {
          row = place;
          update(bench.state);
        },
      },
      h("span", { class: "letter", "aria-hidden": "true" }, aspect.letter),
      h("span", { class: "name", title: aspect.definition || null, dir: "auto" }, aspect.name),
      number,
      padlock,
      h("div", { class: "track" }, input, marks),
    );
    return { node: line, number, padlock, lockState, input, marks };
  }

  function update(state) {
    const touched = entered(state, target.id).value !== null;
    const weights = current();
    const { standing, reveal } = answerOf(state, target.id);
    const judges = standing ? (reveal?.weights ?? []) : [];
    sliders.forEach((one, place) => {
      attribute(one.node, "data-here", row === place);
      attribute(one.node, "data-unset", !touched);
      text(one.number, `${Number(weights[place].toFixed(1))} %`);
      if (Number(one.input.value) !== weights[place]) one.input.value = weights[place];
      one.input.style.setProperty("--at", `${weights[place]}%`);
      attribute(one.input, "aria-valuetext", t("{n} percent", { n: Number(weights[place].toFixed(1)) }));
      attribute(one.padlock, "aria-pressed", locked[place]);
      text(one.lockState, locked[place] ? t("locked") : t("lock"));
      one.marks.replaceChildren(...judgeMarks(judges, names[place]));
    });
    groups.forEach((one, place) => {
      attribute(one.row, "data-here", row === names.length + place);
      one.update(entered(state, one.rating.id).value);
    });
    text(
      sum,
      touched ? t("sum {n} %", { n: Math.round(weights.reduce((total, weight) => total + weight, 0) * 10) / 10 }) : t("not set yet"),
    );
  }

  function digit(name) {
    if (row >= names.length) {
      const { rating, optionOf } = groups[row - names.length];
      const option = optionOf(name);
      if (!option) return false;
      rate(rating, option.value);
      if (row < rows - 1) go(row + 1);
      return true;
    }
    const now = performance.now();
    typed = now - typedAt < TYPING && Number(typed + name) <= 100 ? typed + name : name;
    typedAt = now;
    set(row, Number(typed));
    return true;
  }

  const nudge = { "+": STEP, "=": STEP, "-": -STEP, _: -STEP, ".": 1, ",": -1 };
  return {
    node,
    update,
    nameOf: () => t("these weights"),
    keys: [
      ["↑ ↓", t("choose an aspect or a rating")],
      ["+ −", t("five percent more, less")],
      [". ,", t("one percent more, less")],
      ["0 – 9", t("type the weight; 1 to 5 rates")],
      ["L", t("lock a weight")],
      ["E", t("equal weights")],
    ],
    press(name) {
      if (name === "ArrowUp" || name === "ArrowDown") go(row + (name === "ArrowUp" ? -1 : 1));
      else if (/^[0-9]$/.test(name)) return digit(name);
      else if (name in nudge && row < names.length) set(row, current()[row] + nudge[name]);
      else if (name === "l" && row < names.length) lock(row);
      else if (name === "e") put(equal(names.length));
      else return false;
      return true;
    },
  };
}

/** The judges' weights under the track, positioned so they do not overlap; judges with nearly equal weights share a mark. */
function judgeMarks(judges, aspect) {
  const near = new Map();
  judges.forEach((judge, place) => {
    const weight = judge.weights[aspect] ?? 0;
    const at = [...near.keys()].find((other) => Math.abs(other - weight) < 4) ?? weight;
    near.set(at, [...(near.get(at) ?? []), { number: place + 1, words: `${judge.judge}: ${Math.round(weight)} %` }]);
  });
  return [...near].map(([weight, group]) => {
    const title = group.map((one) => one.words).join("\n");
    const tick = h("span", { class: "judgemark", title }, group.map((one) => one.number).join(" "));
    tick.style.insetInlineStart = `${weight}%`;
    return tick;
  });
}
