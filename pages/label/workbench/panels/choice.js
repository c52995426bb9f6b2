// Which response is better: one key per option.

import { entered } from "../model.js";
import { form } from "./form.js";
import { optionGroup } from "./options.js";
import { t } from "../texts.js";

export function choicePanel(bench, task) {
  return form(bench, task, task.targets[0], optionField(bench, task, task.targets[0]));
}

/** A field of options for one target. */
export function optionField(bench, task, target, className) {
  const answer = (value) => bench.answer(target.id, value);
  const enter = (value) => bench.dispatch({ type: "choose", target: target.id, value });
  const group = optionGroup({
    label: task.question,
    options: target.options,
    pick: (value, byArrow) => (byArrow ? enter(value) : answer(value)),
    className,
  });
  return {
    node: group.node,
    keys: [[target.options.map((option) => option.key).join(" "), t("choose; after the reveal: change")]],
    nameOf: (value) => target.options.find((option) => option.value === value)?.short ?? String(value),
    update: (state) => group.update(entered(state, target.id).value),
    press(name) {
      const option = group.optionOf(name);
      if (option) answer(option.value);
      return Boolean(option);
    },
  };
}
