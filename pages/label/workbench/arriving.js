// Replies to requests: the session, tasks, older history.

import { unsent } from "./history.js";
import { EMPTY, hereId, marksOf, noticed, visited } from "./model.js";
import { firstOpen, pauseForGuidelines, toNext } from "./moving.js";
import { t } from "./texts.js";

export function opened(state, { session, next }) {
  const fresh = { ...state, session, next: next ?? state.next, progress: session.progress };
  const [withHistory] = historyArrived(fresh, { history: session.history });
  return [pauseForGuidelines(withHistory)];
}

/** Tasks of a reply; `linked` is false if the page was opened with an item that the annotator cannot label. */
export function tasksArrived(state, { tasks, complete, progress: counts, linked = true, now = 0 }) {
  const busy = new Set([
    ...state.ready,
    ...visited(state),
    ...Object.values(state.pending).map((action) => action.task),
  ]);
  const fresh = tasks.filter((task) => !busy.has(task.id));
  let next = fresh.reduce(learn, { ...state, complete, progress: counts ?? state.progress });
  next = { ...next, ready: [...next.ready, ...fresh.map((task) => task.id)] };
  if (!linked && !Object.keys(state.tasks).length)
    next = noticed(
      next,
      { type: "link", task: "", target: "" },
      t("The item of the link is not among yours: others have completed it, or it is not assigned to you."),
    );
  if (hereId(next) === null && next.ready.length) return [{ ...toNext(next), arrived: now }];
  return [next];
}

/** Add a task from a reply; unacknowledged input takes precedence over the reply. */
export function learn(state, task) {
  const unsent = new Set(Object.values(state.pending).map((action) => action.target));
  const answers = { ...state.answers };
  for (const target of task.targets) {
    if (unsent.has(target.id)) continue;
    const { standing = null, draft = null, version = "0", reveal = null, feedback = null } = target;
    answers[target.id] = {
      ...EMPTY,
      ...answers[target.id],
      standing,
      draft,
      version,
      reveal: reveal ?? answers[target.id]?.reveal ?? null,
      feedback: feedback ?? answers[target.id]?.feedback ?? null,
    };
  }
  const marks = { flagged: task.flagged, skipped: task.skipped, note: task.note, claim: task.claim };
  const next = { ...state, answers, tasks: { ...state.tasks, [task.id]: task } };
  if (![...Object.values(state.pending)].some((action) => action.task === task.id && !action.target))
    next.marks = { ...state.marks, ...flagsOf(state, task, unsent), [task.id]: marks };
  return next.focus[task.id] === undefined
    ? { ...next, focus: { ...next.focus, [task.id]: firstOpen(next, task.id) } }
    : next;
}

/** Flags of single AIUs; unacknowledged ones take precedence over the reply. */
function flagsOf(state, task, unsent) {
  const known = task.targets.filter((target) => target.claim && !unsent.has(target.id));
  return Object.fromEntries(known.map(({ id, flagged }) => [id, { ...marksOf(state, id), flagged: Boolean(flagged) }]));
}

/** The stacks from the server, or with `older` the entries below those that are here. Unsent entries stay on top. */
export function historyArrived(state, { history, older = false }) {
  if (!history) return [state];
  const next = (history.tasks ?? []).filter((task) => !state.tasks[task.id]).reduce(learn, state);
  return [
    {
      ...next,
      undo: [...history.undo, ...(older ? state.undo : unsent(state.undo))],
      redo: older ? state.redo : [...history.redo, ...unsent(state.redo)],
      more: Boolean(history.more),
    },
  ];
}
