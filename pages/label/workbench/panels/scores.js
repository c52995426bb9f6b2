// A score for one response: a key for each level of the scale, or a number that is typed.

import { h } from "../dom.js";
import { entered } from "../model.js";
import { optionField } from "./choice.js";
import { form } from "./form.js";
import { t } from "../texts.js";

export function scoresPanel(bench, task) {
  const [target] = task.targets;
  return form(
    bench,
    task,
    target,
    target.number ? numberField(bench, task, target) : optionField(bench, task, target, "levels"),
  );
}

function numberField(bench, task, target) {
  const { low, high } = target.number;
  const range =
    low !== null && high !== null
      ? t("{low} to {high}", { low, high })
      : low !== null
        ? t("{low} or more", { low })
        : high !== null
          ? t("up to {high}", { high })
          : t("a number");
  const words = target.steps ? t("A whole number from {range}.", { range }) : t("A number from {range}.", { range });
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true }, words);
  const input = h("input", {
    class: "number",
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    placeholder: range,
    "aria-label": `${task.question} ${range}`,
    oninput: read,
  });
  let typed = ""; // the digits typed so far; empty if the next digit begins a new number

  function read() {
    const value = parsed(input.value);
    const isWhole = !target.steps || Number.isInteger(value);
    const fits = value !== null && isWhole && (low === null || value >= low) && (high === null || value <= high);
    wrong.hidden = input.value.trim() === "" || fits;
    input.setAttribute("aria-invalid", String(!wrong.hidden));
    bench.dispatch({ type: "choose", target: target.id, value: fits ? value : null });
  }

  return {
    node: h("div", { class: "field" }, input, wrong),
    keys: [["0 – 9 . Backspace", t("type the number")]],
    nameOf: String,
    update(state) {
      const { value } = entered(state, target.id);
      if (parsed(input.value) !== value && (value !== null || wrong.hidden) && bench.focusedElement() !== input)
        input.value = value ?? "";
    },
    press(name) {
      if (!/^(?:[0-9.,-]|Backspace)$/.test(name)) return false;
      typed = name === "Backspace" ? (typed || input.value).slice(0, -1) : typed + name;
      input.value = typed;
      read();
      return true;
    },
  };
}

function parsed(text) {
  const words = text.trim().replace(",", ".");
  return words === "" || !Number.isFinite(Number(words)) ? null : Number(words);
}
