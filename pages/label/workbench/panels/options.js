// A group of options: keys, mouse, and arrow keys inside the group, as in ARIA's radio group pattern.

import { attribute, button, h } from "../dom.js";

/**
 * `pick(value, byArrow)` is called for a click or Space, and with `arrowsPick` for the arrow keys; an arrow key enters a value
 * without labelling.
 */
export function optionGroup({ label, options, pick, arrowsPick = true, className = "" }) {
  const radios = options.map((option) =>
    button(
      {
        class: option.label === option.key ? "option bare" : "option",
        role: "radio",
        "aria-label": option.label,
        "aria-checked": "false",
        "aria-keyshortcuts": option.key,
        "data-colour": option.colour,
        tabindex: "-1",
        title: option.title ?? null,
        onclick: () => pick(option.value, false),
      },
      h("span", { class: `key ${option.colour}`, "aria-hidden": "true" }, option.key),
      h("span", { class: "long" }, option.label),
      option.short === option.key
        ? null
        : h("span", { class: "short", "aria-hidden": "true" }, option.short ?? option.label),
    ),
  );
  const node = h(
    "div",
    { class: `options ${className}`, role: "radiogroup", "aria-label": label, onkeydown: arrows },
    radios,
  );
  attribute(radios[0], "tabindex", "0");

  function arrows(event) {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const at = radios.indexOf(event.target);
    if (!by || at < 0) return;
    const to = (at + by + radios.length) % radios.length;
    radios[to].focus();
    if (arrowsPick) pick(options[to].value, true);
    else radios.forEach((radio, place) => attribute(radio, "tabindex", place === to ? "0" : "-1"));
    event.preventDefault();
    event.stopPropagation();
  }

  return {
    node,
    update(value) {
      const at = options.findIndex((option) => option.value === value);
      radios.forEach((radio, place) => {
        attribute(radio, "aria-checked", place === at);
        attribute(radio, "tabindex", place === Math.max(at, 0) ? "0" : "-1");
      });
    },
    optionOf: (key) => options.find((option) => option.key === key),
  };
}
