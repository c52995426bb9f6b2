// Moving between tasks, and between the targets of a task.

import { answerOf, finished, targetsOf, withFocus } from "./model.js";

export const TRAIL = 300; // tasks that can be visited again without asking the server

export function toNext(state) {
  const waiting = state.trail.findIndex((id, place) => place > state.at && !finished(state, id));
  const next = { ...state, restoring: null };
  if (waiting >= 0) return pausedIfNew({ ...next, at: waiting });
  if (!state.ready.length) return { ...next, at: state.trail.length };
  const [first, ...ready] = state.ready;
  return pausedIfNew(pruned({ ...next, trail: [...state.trail, first], at: state.trail.length, ready }));
}

export function pauseForGuidelines(state) {
  const { guidelines } = state.session;
  return guidelines && guidelines.text && guidelines.read < guidelines.version ? { ...state, pausing: true } : state;
}

const pausedIfNew = (state) => (state.session ? pauseForGuidelines(state) : state);

export function toTask(state, id, target) {
  const place = state.trail.indexOf(id);
  const ready = state.ready.filter((one) => one !== id);
  // A task from an earlier visit goes before the one on the screen, so the following tasks stay in order.
  const trail = place >= 0 ? state.trail : [...state.trail.slice(0, state.at), id, ...state.trail.slice(state.at)];
  const next = { ...state, trail, ready, at: place >= 0 ? place : state.at };
  return target ? withFocus(next, id, target) : next;
}

/** Forget the oldest visited tasks, so memory use is bounded. */
export function pruned(state) {
  if (state.trail.length <= TRAIL + TRAIL / 3) return state; // many at once: each removal copies the state
  const needed = new Set([...state.undo, ...state.redo, ...Object.values(state.pending)].map((one) => one.task));
  const leaving = state.trail
    .slice(0, state.trail.length - TRAIL)
    .filter((id) => !needed.has(id) && finished(state, id));
  if (!leaving.length) return state;
  const removed = new Set(leaving);
  const targets = new Set(leaving.flatMap((id) => targetsOf(state, id)));
  const keep = (map, out) => Object.fromEntries(Object.entries(map).filter(([id]) => !out.has(id)));
  return {
    ...state,
    trail: state.trail.filter((id) => !removed.has(id)),
    at: state.at - leaving.length,
    tasks: keep(state.tasks, removed),
    marks: keep(state.marks, removed),
    focus: keep(state.focus, removed),
    answers: keep(state.answers, targets),
  };
}

const END = "end:"; // the focus after the last AIU and after the last rating: answer keys are ignored there
export const endedGroup = (focus) =>
  typeof focus === "string" && focus.startsWith(END) ? focus.slice(END.length) : null;

export function firstOpen(state, id) {
  const targets = state.tasks[id].targets;
  return (
    (targets.find((target) => answerOf(state, target.id).standing === null && target.required) ?? targets[0])?.id ?? ""
  );
}

/** After an answer: the next unanswered target of the same type (AIUs or ratings), otherwise the end. */
export function stepFocus(state, task, target) {
  const at = task.targets.findIndex((one) => one.id === target);
  const rest = task.targets.slice(at + 1).filter((one) => one.required === task.targets[at].required);
  const next = rest.find((one) => answerOf(state, one.id).standing === null);
  return withFocus(state, task.id, next?.id ?? END + (rest.at(-1) ?? task.targets[at]).group);
}

/** For Enter: the next unanswered target after this one, otherwise the first one; ratings come last. */
export function followingOpen(state, task, focus) {
  const ended = endedGroup(focus);
  const at = ended === null ? task.targets.findIndex((one) => one.id === focus) : endOf(task, focus);
  const order = [...task.targets.slice(at + 1), ...task.targets.slice(0, Math.max(at, 0))];
  const open = order.filter((one) => answerOf(state, one.id).standing === null);
  const ratings = ended === "rating" || task.targets[at]?.group === "rating";
  return (open.find((one) => one.required) ?? (ratings ? undefined : open[0]))?.id ?? null;
}

export function endOf(task, focus) {
  const group = endedGroup(focus);
  return task.targets.findLastIndex((one) => one.group === group);
}
