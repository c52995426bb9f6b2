// The answer panel of kinds with a Submit button: the question, a field for the answer, a reason, evidence.

import { attribute, button, h, kbd, text } from "../dom.js";
import { answerOf, changed, entered } from "../model.js";
import { source } from "../text.js";
import { t } from "../texts.js";

const PAUSE = 2000; // milliseconds without typing after which a reason that is added to a label is saved

/** `field` is {node, keys, press(name), update(state), nameOf(value)}; `target` is the target that has the reason. */
export function form(bench, task, target, field) {
  const { reason: reasons, evidence: marksEvidence } = bench.state.session.rules;
  const label = h("span");
  const submit = button(
    { class: "submit", "aria-keyshortcuts": "Enter", onclick: () => bench.submit() },
    label,
    kbd("Enter"),
  );
  let pause;
  const keep = () => {
    clearTimeout(pause);
    bench.keep(target.id);
  };
  const write = () => {
    bench.dispatch({ type: "reason", target: target.id, text: why.value });
    clearTimeout(pause);
    pause = setTimeout(keep, PAUSE);
  };
  const why = h("textarea", {
    class: "reason",
    rows: "2",
    maxlength: "20000",
    "aria-label": reasons === "required" ? t("Why? (required)") : t("Why? (optional)"),
    "aria-keyshortcuts": "W",
    placeholder: reasons === "required" ? t("Why? (required)") : t("Why? (optional)"),
    dir: "auto",
    oninput: write,
    onblur: keep,
  });
  const chips = h("ul", { class: "evidence", "aria-label": t("Evidence") });
  const state = h("p", { class: "state" });
  const node = h(
    "div",
    { class: `panel ${task.panel}` },
    h("h2", { class: "question", dir: "auto" }, task.question),
    field.node,
    submit,
    state,
    reasons === "none" ? null : why,
    marksEvidence ? chips : null,
  );

  const drawEvidence = (spans) =>
    chips.replaceChildren(
      ...spans.map((span, place) =>
        h(
          "li",
          {},
          h("span", { dir: "auto" }, excerpt(task, span)),
          button(
            {
              class: "remove",
              "aria-label": t("Remove evidence {number}", { number: place + 1 }),
              onclick: () =>
                bench.dispatch({
                  type: "evidence",
                  target: target.id,
                  spans: spans.filter((_, other) => other !== place),
                }),
            },
            "×",
          ),
        ),
      ),
    );

  let drawn = null;
  return {
    node,
    keys: field.keys,
    press: field.press,
    update(now) {
      const here = entered(now, target.id);
      const { standing, version } = answerOf(now, target.id);
      const open = task.targets.some((one) => changed(now, one.id));
      field.update(now);
      const kept = task.training ? t("Next") : t("Keep {answer}", { answer: field.nameOf(standing?.value) });
      text(label, standing ? (open ? t("Save and continue") : kept) : t("Submit"));
      attribute(submit, "aria-disabled", here.value === null ? "true" : null);
      text(
        state,
        standing
          ? open
            ? t("Changed, not saved yet.")
            : version.startsWith("#")
              ? t("Saving…")
              : task.training
                ? t("Saved. This is training: the first answer counts.")
                : t("Saved. Another answer changes it; both are stored.")
          : "",
      );
      why.hidden = task.training && standing !== null;
      if (bench.focusedElement() !== why && why.value !== here.reason) why.value = here.reason;
      if (drawn !== here.evidence) drawEvidence((drawn = here.evidence));
    },
    why,
    target: () => target,
  };
}

function excerpt(task, span) {
  const block = [...task.columns, ...task.above].find((one) => one.id === span.block);
  if (!block) return "";
  const words = [...source(block)].slice(span.start, span.end).join("").replace(/\s+/g, " ");
  return `${block.number ? `${block.number}: ` : ""}${words.length > 80 ? `${words.slice(0, 79)}…` : words}`;
}
