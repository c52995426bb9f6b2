// Panels that can be opened next to the item: the keys, the guidelines, a note.

import { button, h, kbd } from "./dom.js";
import { COMMON, printed } from "./keys.js";
import { blockText } from "./text.js";
import { t, within } from "./texts.js";

/** The list of keys, those of the panel first, then those of a transcript. */
export function keySheet(panelKeys, stepKeys, { quick, onQuick, close }) {
  const rows = [...panelKeys, ...[...stepKeys, ...COMMON].map(([key, , words]) => [printed(key), words])];
  const box = h("input", { type: "checkbox", checked: quick, onchange: () => onQuick(box.checked) });
  return h(
    "section",
    { class: "sheet", "aria-label": t("Keys") },
    heading(t("Keys"), "H", close),
    h("label", { class: "setting" }, box, ` ${t("Submit on digit, without Enter")}`),
    h(
      "dl",
      {},
      rows.map(([keys, words]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, words)]),
    ),
  );
}

/** The guidelines of the study, with the criterion that is judged. */
export function guidelineSheet(guidelines, criterion, { close }) {
  return h(
    "section",
    { class: "sheet guidelines", "aria-label": t("Guidelines") },
    heading(t("Guidelines"), "G", close),
    guidelineText(guidelines),
    criterion ? criterionText(criterion) : null,
  );
}

/** The guidelines in place of the item, to be confirmed. */
export function guidelinePage(guidelines, confirm) {
  return h(
    "section",
    { class: "page", "aria-label": t("Guidelines") },
    h("h2", {}, guidelines.read ? t("The guidelines have changed") : t("Guidelines")),
    h("p", { class: "state" }, t("Version {version}. The button Guidelines shows them again.", { version: guidelines.version })),
    guidelineText(guidelines),
    button({ class: "submit", onclick: confirm }, h("span", {}, t("I have read them: continue")), kbd("Enter")),
  );
}

function guidelineText(guidelines) {
  return guidelines?.text
    ? blockText({ format: guidelines.format ?? "markdown", text: guidelines.text })
    : h("p", { class: "empty" }, t("This study has no guidelines."));
}

function criterionText({ name, definition, rubric = [] }) {
  return h(
    "div",
    { class: "criterion" },
    h("h3", { dir: "auto" }, name),
    definition ? h("p", { dir: "auto" }, definition) : null,
    rubric.length
      ? h(
          "ol",
          {},
          rubric.map((line) => h("li", { dir: "auto" }, line)),
        )
      : null,
  );
}

/** A note to the study's owner. `save(text)` closes it. */
export function noteSheet(text, { save, close }) {
  const area = h("textarea", {
    rows: "4",
    maxlength: "20000",
    "aria-label": t("Note to the study's owner"),
    dir: "auto",
  });
  area.value = text;
  area.addEventListener("keydown", (event) => {
    const done =
      event.key === "Escape"
        ? close
        : event.key === "Enter" && (event.ctrlKey || event.metaKey)
          ? () => save(area.value.trim())
          : null;
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
    done();
  });
  const node = h(
    "section",
    { class: "sheet", "aria-label": t("Note") },
    heading(t("Note to the study's owner"), "N", close),
    area,
    h(
      "div",
      { class: "row" },
      button({ class: "tool", onclick: () => save(area.value.trim()) }, kbd("Ctrl+Enter"), ` ${t("save")}`),
      button({ class: "tool", onclick: close }, kbd("Esc"), ` ${t("leave")}`),
    ),
  );
  return { node, focus: () => area.focus() };
}

function heading(words, key, close) {
  return h(
    "div",
    { class: "sheethead" },
    h("h2", {}, words),
    button(
      { class: "tool", onclick: close },
      kbd(key),
      ` ${t("close")} `,
      h("span", { class: "visually-hidden" }, within(words)),
    ),
  );
}
