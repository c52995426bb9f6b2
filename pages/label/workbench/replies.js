// The effects of replies to actions. None of them moves the screen to another target.

import { learn } from "./arriving.js";
import { unsent, withoutEntry } from "./history.js";
import { answerOf, content, heard, hereId, noticed, say, withAnswer, withFocus, withMarks } from "./model.js";
import { endedGroup, firstOpen } from "./moving.js";
import { t } from "./texts.js";

export function result(state, { action, result: reply, progress: counts, guidelines }) {
  const pending = { ...state.pending };
  delete pending[action.seq];
  let next = { ...state, pending, progress: counts ?? state.progress };
  next =
    reply.status === "accepted" || reply.status === "surplus"
      ? accepted(next, action, reply)
      : refused(next, action, reply);
  if (guidelines && guidelines.version > (next.session.guidelines?.version ?? 0)) {
    next = {
      ...next,
      session: { ...next.session, guidelines: { ...guidelines, read: next.session.guidelines?.read ?? 0 } },
    };
  }
  return [next];
}

function accepted(state, action, reply) {
  let next = resolved(state, action.seq, reply);
  if (action.target && next.answers[action.target]) {
    const { version, reveal, feedback } = answerOf(next, action.target);
    next = withAnswer(next, action.target, {
      version: version === `#${action.seq}` && reply.version ? reply.version : version,
      reveal: reply.reveal ?? reveal,
      feedback: reply.feedback ?? feedback,
    });
  }
  if (reply.feedback?.passed) next = { ...next, complete: false }; // the queue itself is open now
  if (reply.claim) next = withMarks(next, action.task, { claim: reply.claim });
  if (reply.task) next = replaced(next, action, reply);
  if (action.type === "label" && !reply.entry) next = withoutEntry(next, action.seq); // it was equal to the current label
  if (next.restoring === action.task) next = { ...next, restoring: null };
  if (reply.status === "surplus")
    // One notice for a critique, regardless of the number of its AIUs.
    return noticed(next, { ...action, target: "" }, t("Stored as an extra label: others had completed this item."));
  if ((reply.reveal || reply.feedback) && hereId(next) === action.task) return say(next, spoken(reply));
  return action.type === "label" ? heard(next, t("Item {number} saved.", { number: next.tasks[action.task]?.number ?? "" })) : next;
}

const spoken = (reply) =>
  reply.feedback
    ? reply.feedback.correct
      ? t("Correct.")
      : t("Not the expected answer.")
    : t("Saved. The judges' opinions are shown.");

/** The new ids of an acknowledged action, in place of its number. */
function resolved(state, seq, { entry }) {
  if (!entry) return state;
  const name = (one) => (one.id === `#${seq}` ? { ...one, id: entry } : one);
  return { ...state, undo: state.undo.map(name), redo: state.redo.map(name) };
}

/** A task whose targets have changed. */
function replaced(state, action, reply) {
  const next = learn({ ...state, focus: { ...state.focus } }, reply.task);
  const focus = next.focus[reply.task.id];
  const still = reply.task.targets.some((target) => target.id === focus) || (!reply.focus && endedGroup(focus));
  return still ? next : withFocus(next, reply.task.id, reply.focus ?? firstOpen(next, reply.task.id));
}

function refused(state, action, reply) {
  let next = withoutEntry(state, action.seq);
  if (state.restoring === action.task) next = { ...next, restoring: null };
  if (action.type === "undo" || action.type === "redo")
    next = { ...next, restoring: null, undo: unsent(next.undo), redo: unsent(next.redo), more: true };
  if (reply.task) next = replaced(next, action, reply);
  if (action.target && "standing" in reply) next = withAnswer(next, action.target, standingAgain(state, action, reply));
  if (action.type === "draft" && reply.status === "stale")
    return reply.standing ? noticed(next, action, reply.message) : next;
  return noticed(next, action, reply.message ?? t("The server did not accept this."));
}

/** The state after a refusal. A refused value stays entered; a stale one does not, so it is not sent again by mistake. */
function standingAgain(state, action, reply) {
  const now = answerOf(state, action.target);
  const later = now.version !== `#${action.seq}` && now.version.startsWith("#");
  if (later) return {};
  const draft = reply.status === "rejected" && action.type === "label" ? content(action) : null;
  return {
    standing: reply.standing ?? null,
    version: reply.version ?? now.version,
    reveal: reply.reveal ?? now.reveal,
    draft,
  };
}
