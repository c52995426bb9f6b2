// The keyboard shortcuts. One table serves the handler and the list of keys.

import { t } from "./texts.js";

const NAMES = { " ": "Space", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };

/** Keys of every panel: [key, command, description]. */
export const COMMON = [
  ["Enter", "submit", t("submit; after the reveal: confirm and continue")],
  ["Ctrl+Enter", "submit", t("submit, also from a text field")],
  ["u", "undo", t("undo (repeatable)")],
  ["Shift+u", "redo", t("redo")],
  ["s", "skip", t("skip this item")],
  ["f", "flag", t("flag this item")],
  ["n", "note", t("note to the study's owner")],
  ["j", "advance", t("next item, without an answer")],
  ["k", "back", t("previous item")],
  ["Space", "page", t("scroll down a page")],
  ["Shift+Space", "pageUp", t("scroll up a page")],
  ["[", "wider", t("widen response 1; again: equal width")],
  ["]", "widerRight", t("widen response 2; again: equal width")],
  ["x", "differences", t("highlight the differences between the responses")],
  ["d", "disagreement", t("next disagreement of the judges")],
  ["q", "question", t("expand the question")],
  ["v", "raw", t("show texts as they were written; again: formatted")],
  ["w", "why", t("write a reason")],
  ["g", "guidelines", t("guidelines")],
  ["h", "keys", t("these keys")],
  ["Escape", "close", t("leave a text field, close a panel")],
];

/** The name of the key of an event: `s`, `Shift+u`, `Ctrl+Enter`; letters and digits by physical position on other keyboards. */
export function keyName(event) {
  const { key } = event;
  if (key === "[" || key === "]") return key; // AltGr on many keyboards
  if (key === "?") return "h";
  const base = NAMES[key] === "Space" ? "Space" : key.length === 1 ? letter(event) : key;
  const control = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  const alt = event.altKey ? "Alt+" : "";
  const shift = event.shiftKey && (base.length > 1 || /[a-z]/.test(base)) ? "Shift+" : "";
  return `${control}${alt}${shift}${base}`;
}

/** A Latin letter or digit, regardless of the script of the keyboard. */
function letter({ key, code = "" }) {
  const small = key.toLowerCase();
  if (small.charCodeAt(0) < 128) return small;
  const place = /^(?:Key([A-Z])|Digit([0-9]))$/.exec(code);
  return place ? (place[1] ?? place[2]).toLowerCase() : small;
}

/** The command of a key among the common ones, or null. */
export function commandOf(name) {
  return COMMON.find(([key]) => key === name)?.[1] ?? null;
}

/** Keys with a function in text fields. */
export function whileTyping(name) {
  return { "Ctrl+Enter": "submit", Escape: "close" }[name] ?? null;
}

/** The display name of a key. */
export function printed(key) {
  return key
    .split("+")
    .map((part) => NAMES[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join(" + ");
}
