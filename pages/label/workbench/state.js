// The state machine of the workbench: pure functions from a state and an event to the next state and the actions to send.
//
// Two invariants: an action names the target that is on the screen at the time of the event, and only an event of the
// annotator changes the target on the screen; a reply does so only if the screen is empty.

import { historyArrived, opened, tasksArrived } from "./arriving.js";
import { pushed, redo, undo } from "./history.js";
import {
  answerOf,
  blocked,
  changed,
  content,
  entered,
  focused,
  here,
  isRequired,
  marksOf,
  same,
  say,
  send,
  taskOf,
  withAnswer,
  withFocus,
  withMarks,
} from "./model.js";
import { endOf, followingOpen, stepFocus, toNext, toTask } from "./moving.js";
import { result } from "./replies.js";
import { t } from "./texts.js";

/** The next state and the actions to send. `event.type` names one of the functions below. */
export function reduce(state, event) {
  const handle = EVENTS[event.type];
  if (!handle) throw new Error(`unknown event ${event.type}`);
  const [next, actions = []] = handle(state, event);
  return { state: next, actions };
}

const EVENTS = {
  opened,
  tasks: tasksArrived,
  history: historyArrived,
  choose,
  answer,
  reason,
  evidence,
  submit,
  keep,
  advance,
  back,
  visit,
  goto,
  step,
  skip,
  flag,
  note,
  undo,
  redo,
  edit,
  read,
  result,
  dismiss,
  say: (state, { text }) => [say(state, text)],
  claimed: (state, { task, claim }) => [state.tasks[task] ? withMarks(state, task, { claim }) : state],
  recheck: (state) => [{ ...state, complete: false }],
  progressed: (state, event) => [{ ...state, progress: event.progress ?? state.progress }],
};

/** Enter a value without labelling. */
function choose(state, { target, value }) {
  return enter(state, target, { value });
}

function reason(state, { target, text }) {
  return enter(state, target, { reason: text });
}

function evidence(state, { target, spans }) {
  return enter(state, target, { evidence: spans });
}

function enter(state, target, part) {
  const stop = blocked(state) || trained(state, target);
  if (stop) return [say(state, stop)];
  const draft = { ...content(entered(state, target)), ...part };
  const task = taskOf(state, target);
  const { version } = answerOf(state, target);
  const next = withAnswer(state, target, { draft });
  return send(next, { type: "draft", task, target, base: version, ...draft });
}

/** The reason why a training item cannot be answered, or an empty text: its first answer counts. */
function trained(state, target) {
  const done = state.tasks[taskOf(state, target)]?.training && answerOf(state, target).standing !== null;
  return done ? t("This is a training item: the first answer counts. Continue with Next (Enter).") : "";
}

/** An answer key: a draft before the label, unless one key is enough; a change of the label after it. */
function answer(state, { target, value, seconds, at }) {
  const stop = blocked(state) || trained(state, target);
  if (stop) return [say(state, stop)];
  const task = here(state);
  if (!task.targets.some((one) => one.id === target)) return [say(state, t("That answer belongs to another item."))];
  const { standing } = answerOf(state, target);
  if (ONE_KEY.has(task.panel)) return labelAndStep(state, task, target, value, seconds, at);
  if (standing && same(standing.value, value) && !changed(state, target))
    return [say(state, t("This is already your answer."))];
  const reasonMissing = needsReason(state, { ...entered(state, target), value });
  if (!standing && (!state.session.rules.quick || reasonMissing)) return choose(state, { target, value });
  const [next, actions] = label(state, target, { ...content(entered(state, target)), value }, seconds, at);
  if (standing || state.session.rules.reveal || task.training) return [next, actions];
  return [toNext(next), actions];
}

const ONE_KEY = new Set(["aius"]);

function labelAndStep(state, task, target, value, seconds, at) {
  if (state.focus[task.id] !== target) return [say(state, t("There is no question here; the input was ignored."))];
  const { standing } = answerOf(state, target);
  if (standing && same(standing.value, value)) return [stepFocus(state, task, target)];
  const [next, actions] = label(state, target, { ...content(entered(state, target)), value }, seconds, at);
  return [stepFocus(next, task, target), actions];
}

/** Enter: save the entered value as a label, or the changes of the current label, and continue. */
function submit(state, { seconds, at }) {
  if (state.pausing) return read(state);
  const task = here(state);
  if (!task) return [state];
  if (task.panel === "aius") return enterOnAius(state, task);
  const stop = blocked(state);
  if (stop) return [say(state, stop)];
  const missing = task.targets.find((target) => target.required && entered(state, target.id).value === null);
  if (missing)
    return [
      say(
        state,
        task.panel === "weights" ? t("Move a slider first, or choose equal weights (E).") : t("Choose an answer first."),
      ),
    ];
  const first = task.targets.some((target) => target.required && answerOf(state, target.id).standing === null);
  const open = task.targets.filter((target) => changed(state, target.id) && entered(state, target.id).value !== null);
  if (open.some((target) => needsReason(state, entered(state, target.id))))
    return [say(state, t("This study requires a reason."))];
  let next = state;
  const actions = [];
  for (const target of open) {
    const [after, sent] = label(next, target.id, content(entered(next, target.id)), seconds, at);
    next = after;
    actions.push(...sent);
  }
  const stays = first && (state.session.rules.reveal || task.training);
  return [stays ? next : toNext(next), actions];
}

/** Save the reason that was added to a label, also when another item is on the screen; a value is saved by Submit only. */
function keep(state, { target, seconds, at }) {
  const { standing } = answerOf(state, target);
  const draft = entered(state, target);
  if (!standing || trained(state, target) || needsReason(state, draft)) return [state];
  if (!changed(state, target) || !same(standing.value, draft.value)) return [state];
  return label(state, target, content(draft), seconds, at);
}

function needsReason(state, draft) {
  return state.session.rules.reason === "required" && !String(draft.reason ?? "").trim();
}

function enterOnAius(state, task) {
  const now = state.focus[task.id] ?? "";
  const open = followingOpen(state, task, now);
  return open ? [withFocus(state, task.id, open)] : [toNext(state)];
}

function label(state, target, draft, seconds, at) {
  const task = taskOf(state, target);
  const { standing, version } = answerOf(state, target);
  const entry = {
    id: `#${state.next}`,
    type: "label",
    task,
    target,
    before: standing ? content(standing) : null,
    after: draft,
  };
  const action = {
    type: "label",
    task,
    target,
    base: version,
    ...draft,
    seconds: Math.round((seconds ?? 0) * 10) / 10,
    guidelines: state.session.guidelines?.version ?? 0,
    at,
  };
  const answered = withAnswer(state, target, {
    standing: { ...draft },
    draft: null,
    version: `#${state.next}`,
    feedback: null,
  });
  const next = state.tasks[task].training ? answered : pushed(answered, entry);
  const { skipped } = marksOf(state, task);
  const counts = { labelled: standing === null && isRequired(state, target) ? 1 : 0, skipped: skipped ? -1 : 0 };
  return send(skipped ? withMarks(next, task, { skipped: false }) : next, action, counts);
}

/** Go to the next unfinished task, without labelling. */
function advance(state) {
  return state.pausing ? read(state) : [toNext(state)];
}

/** Go to the task that was on the screen before. */
function back(state) {
  if (state.at === 0) return [say(state, t("This is the first item of this visit."))];
  return [{ ...state, at: state.at - 1, restoring: null }];
}

/** Go to a task that is in the browser. */
function visit(state, { task, target }) {
  return [state.tasks[task] ? toTask(state, task, target) : state];
}

/** Go to another target of the same task. */
function goto(state, { target }) {
  const task = here(state);
  return [task ? withFocus(state, task.id, target) : state];
}

/** Go to the previous or next target of the task. */
function step(state, { by }) {
  const task = here(state);
  if (!task) return [state];
  const place = task.targets.findIndex((target) => target.id === state.focus[task.id]);
  const last = task.targets.length - 1;
  const to = place < 0 ? endOf(task, state.focus[task.id]) + (by > 0 ? 1 : 0) : place + by;
  return [withFocus(state, task.id, task.targets[Math.max(0, Math.min(to, last))]?.id)];
}

function skip(state) {
  const task = here(state);
  if (!task || blocked(state)) return [say(state, blocked(state) || t("There is no item on the screen."))];
  const on = !marksOf(state, task.id).skipped;
  let next = withMarks(state, task.id, { skipped: on });
  next = pushed(next, {
    id: `#${state.next}`,
    type: "skip",
    task: task.id,
    target: "",
    before: { on: !on },
    after: { on },
  });
  const [sent, actions] = send(next, { type: "skip", task: task.id, on }, { skipped: on ? 1 : -1 });
  return [on ? toNext(sent) : sent, actions];
}

/** Flag the AIU on the screen, or the task if it is not a critique. */
function flag(state) {
  const task = here(state);
  if (!task) return [say(state, t("There is no item on the screen."))];
  const target = focused(state)?.claim ? focused(state).id : "";
  const on = !marksOf(state, target || task.id).flagged;
  return send(
    say(withMarks(state, target || task.id, { flagged: on }), on ? t("Flagged.") : t("Flag removed.")),
    { type: "flag", task: task.id, ...(target ? { target } : {}), on },
    { flagged: on ? 1 : -1 },
  );
}

function note(state, { task, text }) {
  if (text === marksOf(state, task).note) return [state];
  return send(say(withMarks(state, task, { note: text }), text ? t("Note saved.") : t("Note removed.")), {
    type: "note",
    task,
    text,
  });
}

// The task is unchanged until the reply has its new targets: their ids are the server's. A mark changes no target.
function edit(state, { task, target = "", change }) {
  if (blocked(state)) return [say(state, blocked(state))];
  const entry = { id: `#${state.next}`, type: "edit", task, target, before: null, after: null };
  const next = pushed(change.type === "not_atomic" ? marked(state, task, change) : { ...state, restoring: task }, entry);
  return send(next, { type: "edit", task, target, change });
}

function marked(state, task, { aiu, on }) {
  const mark = (target) => (target.claim?.aiu === aiu ? { ...target, claim: { ...target.claim, atomic: !on } } : target);
  const changedTask = { ...state.tasks[task], targets: state.tasks[task].targets.map(mark) };
  return { ...state, tasks: { ...state.tasks, [task]: changedTask } };
}

function read(state) {
  if (!state.pausing) return [state];
  const { guidelines } = state.session;
  const session = { ...state.session, guidelines: { ...guidelines, read: guidelines.version } };
  return send({ ...state, session, pausing: false }, { type: "read", guidelines: guidelines.version });
}

function dismiss(state, { id }) {
  return [{ ...state, notices: state.notices.filter((one) => one.id !== id) }];
}
