// The state of the workbench: its shape, its selectors, and elementary changes. All functions are pure.

import { t } from "./texts.js";

const ASK_BELOW = 25; // more tasks are requested when fewer targets are ahead, so at least 20 are in the browser
const ASK_FOR = 30;

/** Whether two JSON values are equal, regardless of the order of their keys. */
export function same(a, b) {
  return JSON.stringify(sorted(a ?? null)) === JSON.stringify(sorted(b ?? null));
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

/** The state before the first reply. `next` is the number of the next action. */
export function initial(next = 1) {
  return {
    session: null,
    tasks: {},
    answers: {},
    marks: {},
    ready: [],
    trail: [],
    at: 0,
    focus: {},
    complete: false,
    progress: { labelled: 0, total: 0, skipped: 0, flagged: 0, drafts: 0 },
    undo: [],
    redo: [],
    more: false,
    restoring: null,
    pausing: false,
    next,
    pending: {},
    notices: [],
    announcement: { text: "", count: 0 },
    heard: { text: "", count: 0 },
    arrived: 0,
  };
}

export const hereId = (state) => state.trail[state.at] ?? null;
export const here = (state) => state.tasks[hereId(state)] ?? null;
export const targetsOf = (state, id) => (state.tasks[id]?.targets ?? []).map((target) => target.id);
export const answerOf = (state, target) => state.answers[target] ?? EMPTY;
export const marksOf = (state, task) => state.marks[task] ?? UNMARKED;
export const EMPTY = { standing: null, draft: null, version: "0", reveal: null, feedback: null };
const UNMARKED = { flagged: false, skipped: false, note: "", claim: "free" };

/** The entered value of a target: the draft, otherwise the current label, otherwise null. */
export function entered(state, target) {
  const { draft, standing } = answerOf(state, target);
  return { value: null, reason: "", evidence: [], ...(draft ?? standing ?? {}) };
}

/** Whether the entered value differs from the current label. */
export function changed(state, target) {
  const { standing, draft } = answerOf(state, target);
  return Boolean(draft) && (!standing || !same(content(draft), content(standing)));
}

/** Whether every required target of a task has a label, or the task is skipped. */
export function finished(state, id) {
  const task = state.tasks[id];
  if (!task || marksOf(state, id).skipped) return true;
  return labelled(state, id);
}

/** A critique without AIUs has no required target: it is finished when it is skipped, or labelled once it has some. */
export function labelled(state, id) {
  const required = state.tasks[id].targets.filter((target) => target.required);
  return required.length > 0 && required.every((target) => answerOf(state, target.id).standing !== null);
}

/** The target of answer keys, or null: at the end of a group of AIUs there is none. */
export function focused(state) {
  const task = here(state);
  if (!task) return null;
  const id = state.focus[task.id];
  return task.targets.find((target) => target.id === id) ?? null;
}

/** The reason why no answer can be entered now, or an empty text. */
export function blocked(state) {
  if (!state.session) return t("Still loading.");
  if (state.pausing) return t("Confirm the guidelines first (Enter).");
  if (state.restoring) return t("Still restoring; the input was ignored.");
  if (!here(state)) return t("There is no item on the screen; the input was ignored.");
  return "";
}

/** loading | guidelines | working | waiting | finished */
export function phase(state) {
  if (!state.session) return "loading";
  if (state.pausing) return "guidelines";
  if (here(state)) return "working";
  return state.complete && !state.ready.length ? "finished" : "waiting";
}

/** The request for more tasks, or null if there are enough. */
export function wanted(state) {
  const ahead = state.ready.reduce((sum, id) => sum + targetsOf(state, id).length, 0);
  if (state.complete || (ahead >= ASK_BELOW && state.ready.length >= 3)) return null;
  const unsent = Object.values(state.pending).map((action) => action.task);
  const have = [...new Set([...state.ready, ...visited(state), ...unsent].filter(Boolean))];
  // A training that was not passed is repeated when the page is loaded, not under the feedback of its last answer.
  return { have, count: ASK_FOR, again: state.trail.length === 0 };
}

/** Progress with the unsent labels counted. */
export function progress(state) {
  const pending = Object.values(state.pending);
  const add = (name) => pending.reduce((sum, action) => sum + (action.delta?.[name] ?? 0), 0);
  const { labelled, total, skipped, flagged } = state.progress;
  return {
    ...state.progress,
    total,
    labelled: Math.max(0, Math.min(labelled + add("labelled"), total)),
    skipped: Math.max(0, skipped + add("skipped")),
    flagged: Math.max(0, flagged + add("flagged")),
  };
}

export function content({ value = null, reason: why = "", evidence: spans = [] }) {
  return { value, reason: why, evidence: spans };
}

/** What an answer says about the screen: the order of the texts under which it was entered, if there are several. */
const orderOf = ({ shown }) => (shown?.length ? { shown } : {});

export function send(state, action, delta) {
  const order = REPLACES_DRAFT.has(action.type) ? orderOf(state.tasks[action.task] ?? {}) : {};
  const numbered = { seq: state.next, ...action, ...order };
  const outdated = ([, one]) => REPLACES_DRAFT.has(action.type) && one.type === "draft" && one.target === action.target;
  const pending = {
    ...Object.fromEntries(Object.entries(state.pending).filter((one) => !outdated(one))),
    [state.next]: { task: action.task ?? "", target: action.target ?? "", type: action.type, delta },
  };
  return [{ ...state, next: state.next + 1, pending }, [numbered]];
}

const REPLACES_DRAFT = new Set(["draft", "label"]);

/** Tell a screen reader what the screen shows without words. */
export function heard(state, text) {
  return { ...state, heard: { text, count: state.heard.count + 1 } };
}

export function say(state, text) {
  return { ...state, announcement: { text, count: state.announcement.count + 1 } };
}

export function noticed(state, action, text) {
  const id = `${action.type === "draft" ? "label" : action.type}:${action.target || action.task}`;
  const others = state.notices.filter((one) => one.id !== id);
  return say({ ...state, notices: [...others, { id, text, task: action.task, target: action.target }] }, text);
}

export function withAnswer(state, target, part) {
  return { ...state, answers: { ...state.answers, [target]: { ...answerOf(state, target), ...part } } };
}

export function withMarks(state, task, part) {
  return { ...state, marks: { ...state.marks, [task]: { ...marksOf(state, task), ...part } } };
}

export function withFocus(state, task, target) {
  return { ...state, focus: { ...state.focus, [task]: target } };
}

export function taskOf(state, target) {
  const task = here(state);
  if (task?.targets.some((one) => one.id === target)) return task.id;
  return Object.values(state.tasks).find((one) => one.targets.some((other) => other.id === target))?.id ?? "";
}

/** The visited tasks that the server must not send again: in the queue of open tasks, the unfinished ones. */
export function visited(state) {
  return state.session?.tab && state.session.tab !== "todo"
    ? state.trail
    : state.trail.filter((id) => !finished(state, id));
}

export function isRequired(state, target) {
  return state.tasks[taskOf(state, target)]?.targets.find((one) => one.id === target)?.required ?? true;
}
