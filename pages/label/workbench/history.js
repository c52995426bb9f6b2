// Undo and redo: a copy of the server's stacks, so they are drawn immediately.

import { answerOf, content, here, isRequired, say, send, withAnswer, withMarks } from "./model.js";
import { TRAIL, toTask } from "./moving.js";
import { t } from "./texts.js";

export function undo(state) {
  return reverse(state, "undo", "redo", "before", t("Nothing to undo."));
}

export function redo(state) {
  return reverse(state, "redo", "undo", "after", t("Nothing to redo."));
}

function reverse(state, from, to, side, nothing) {
  if (state.restoring) return [say(state, t("Still restoring; the input was ignored."))];
  if (here(state)?.training) return [say(state, t("Answers to training items are not undone."))];
  const entry = state[from].at(-1);
  if (!entry) return [say(state, from === "undo" && state.more ? t("Older actions are being loaded.") : nothing)];
  if (!state.tasks[entry.task]) return [say(state, t("That item is being loaded; try again."))];
  const moved = { ...state, [from]: state[from].slice(0, -1), [to]: [...state[to], entry] };
  return APPLY[entry.type](moved, from, entry, side);
}

const APPLY = {
  label(state, type, entry, side) {
    const was = answerOf(state, entry.target).standing;
    const becomes = entry[side];
    // A withdrawn label stays entered as a draft.
    const draft = becomes === null ? content(entry.after) : null;
    let next = withAnswer(state, entry.target, {
      standing: becomes ? { ...becomes } : null,
      draft,
      version: `#${state.next}`,
      feedback: null,
    });
    next = say(toTask(next, entry.task, entry.target), type === "undo" ? t("Undone.") : t("Redone."));
    const counts = isRequired(state, entry.target) ? { labelled: (becomes ? 1 : 0) - (was ? 1 : 0) } : {};
    return send(next, { type, task: entry.task, target: entry.target, entry: entry.id }, counts);
  },
  skip(state, type, entry, side) {
    const { on } = entry[side];
    const next = say(
      toTask(withMarks(state, entry.task, { skipped: on }), entry.task),
      on ? t("Skipped again.") : t("Skip undone."),
    );
    return send(next, { type, task: entry.task, entry: entry.id }, { skipped: on ? 1 : -1 });
  },
  edit(state, type, entry) {
    const next = { ...toTask(state, entry.task, entry.target), restoring: entry.task };
    return send(next, { type, task: entry.task, entry: entry.id });
  },
};

export const unsent = (entries) => entries.filter((entry) => entry.id.startsWith("#"));

export function withoutEntry(state, seq) {
  const others = (entries) => entries.filter((entry) => entry.id !== `#${seq}`);
  return { ...state, undo: others(state.undo), redo: others(state.redo) };
}

export function pushed(state, entry) {
  const undo = [...state.undo, entry];
  return { ...state, undo: undo.slice(-TRAIL), redo: [], more: state.more || undo.length > TRAIL };
}
