import assert from "node:assert/strict";
import { test } from "node:test";

import {
  answerOf,
  blocked,
  changed,
  entered,
  focused,
  here,
  hereId,
  initial,
  phase,
  progress,
  same,
  wanted,
} from "../../../../pages/label/workbench/model.js";
import { reduce } from "../../../../pages/label/workbench/state.js";

const OPTIONS = [
  { key: "1", value: 1 },
  { key: "2", value: 2 },
  { key: "0", value: 0 },
];

function session(rules = {}) {
  return {
    annotator: { key: "a-1" },
    study: { id: 1 },
    rules: { reveal: true, evidence: true, reason: "optional", quick: false, ...rules },
    guidelines: { version: 3, read: 3, text: "Help." },
    progress: { labelled: 0, total: 100, skipped: 0, flagged: 0, drafts: 0 },
    history: { undo: [], redo: [], tasks: [], more: false },
  };
}

const target = (id, more = {}) => ({
  id,
  kind: "preference",
  group: "",
  required: true,
  options: OPTIONS,
  version: "0",
  standing: null,
  draft: null,
  reveal: null,
  ...more,
});
const task = (id, more = {}) => ({
  id,
  number: 1,
  panel: "choice",
  targets: [target(`g-${id}`)],
  columns: [],
  above: [],
  flagged: false,
  skipped: false,
  note: "",
  claim: "free",
  ...more,
});
const critique = (id) =>
  task(id, {
    panel: "aius",
    targets: [
      ...[1, 2, 3].map((n) => target(`${id}-p${n}`, { group: "precision" })),
      ...[1, 2].map((n) => target(`${id}-r${n}`, { group: "recall" })),
      target(`${id}-q`, { group: "rating", required: false }),
    ],
  });

/** A workbench that collects what it would send. */
class Bench {
  constructor({ rules, tasks = ["a", "b", "c", "d"].map((id) => task(id)), next = 1, complete = false } = {}) {
    this.sent = [];
    this.state = initial(next);
    this.do({ type: "opened", session: session(rules), next });
    this.do({ type: "tasks", tasks, complete });
  }

  do(event) {
    const { state, actions } = reduce(this.state, event);
    this.state = state;
    this.sent.push(...actions);
    return this;
  }

  press(value) {
    return this.do({
      type: "answer",
      target: (here(this.state)?.panel === "aius" ? focused(this.state) : here(this.state)?.targets[0])?.id ?? "none",
      value,
      seconds: 1,
      at: 1,
    });
  }

  enter() {
    return this.do({ type: "submit", seconds: 1, at: 1 });
  }

  /** The server's answer to an action that was sent. */
  ack(action, result = {}) {
    return this.do({
      type: "result",
      action,
      result: {
        status: "accepted",
        version: `v${action.seq}`,
        ...(["label", "skip"].includes(action.type) ? { entry: `e-${action.seq}` } : {}),
        ...result,
      },
    });
  }

  labels() {
    return this.sent
      .filter((one) => one.type === "label")
      .map(({ target: about, value, base }) => [about, value, base]);
  }
}

test("a digit enters a draft and Enter labels it", () => {
  const bench = new Bench().press(1);
  assert.deepEqual(
    bench.sent.map((one) => one.type),
    ["draft"],
  );
  assert.equal(answerOf(bench.state, "g-a").standing, null);
  bench.enter();
  assert.deepEqual(bench.labels(), [["g-a", 1, "0"]]);
  assert.equal(hereId(bench.state), "a");
});

test("a digit after the label is a change with a version of its own, however late the acknowledgement", () => {
  const bench = new Bench().press(1).enter().press(2);
  assert.deepEqual(bench.labels(), [
    ["g-a", 1, "0"],
    ["g-a", 2, "#2"],
  ]);
  const acknowledged = new Bench().press(1).enter();
  acknowledged.ack(acknowledged.sent.at(-1), { reveal: { stances: [] } }).press(2);
  assert.deepEqual(acknowledged.labels(), [
    ["g-a", 1, "0"],
    ["g-a", 2, "v2"],
  ]);
  assert.equal(entered(acknowledged.state, "g-a").value, 2);
});

test("Enter and then a digit goes to the new item, although nothing is acknowledged", () => {
  const bench = new Bench().press(1).enter().enter().press(2).enter().enter().press(0).enter();
  assert.deepEqual(bench.labels(), [
    ["g-a", 1, "0"],
    ["g-b", 2, "0"],
    ["g-c", 0, "0"],
  ]);
});

test("an answer to a target that is not on the screen is not applied", () => {
  const bench = new Bench();
  bench.do({ type: "answer", target: "g-b", value: 1, seconds: 1, at: 1 });
  assert.deepEqual(bench.sent, []);
  assert.match(bench.state.announcement.text, /another item/);
});

test("without a reveal one key labels and goes on where the study says so", () => {
  const bench = new Bench({ rules: { quick: true, reveal: false } }).press(1).press(2).press(0);
  assert.deepEqual(
    bench.labels().map(([id, value]) => [id, value]),
    [
      ["g-a", 1],
      ["g-b", 2],
      ["g-c", 0],
    ],
  );
  assert.equal(hereId(bench.state), "d");
});

test("the same answer again is not sent", () => {
  const bench = new Bench().press(1).enter().press(1);
  assert.equal(bench.labels().length, 1);
});

test("a reason added after the label is saved by Enter, with the same value", () => {
  const bench = new Bench().press(1).enter();
  bench.do({ type: "reason", target: "g-a", text: "It is true." });
  assert.ok(changed(bench.state, "g-a"));
  bench.enter();
  assert.deepEqual(bench.labels(), [
    ["g-a", 1, "0"],
    ["g-a", 1, "#2"],
  ]);
  assert.equal(bench.sent.at(-1).reason, "It is true.");
  assert.equal(hereId(bench.state), "b");
});

test("a reason added after the label is saved by itself, also from another item, but a changed value is not", () => {
  const keep = { type: "keep", target: "g-a", seconds: 1, at: 1 };
  const bench = new Bench().do(keep).press(1).do(keep).enter().do(keep);
  assert.equal(bench.labels().length, 1);
  bench.do({ type: "reason", target: "g-a", text: "It is true." }).do({ type: "advance" }).do(keep).do(keep);
  assert.deepEqual(bench.labels().slice(1), [["g-a", 1, "#2"]]);
  assert.equal(bench.sent.at(-1).reason, "It is true.");
  assert.equal(hereId(bench.state), "b");
  bench.do({ type: "back" }).do({ type: "choose", target: "g-a", value: 2 }).do(keep);
  assert.equal(bench.labels().length, 2);
});

test("a saved label is announced once: with its reveal, or by its number", () => {
  const bench = new Bench({ tasks: [task("a", { number: 7 }), task("b")] }).press(1).enter();
  const sent = bench.sent.find((one) => one.type === "label");
  bench.ack(sent, { reveal: { stances: [1] } });
  assert.deepEqual([bench.state.announcement.count, bench.state.heard.count], [1, 0]);
  const other = new Bench({ tasks: [task("a", { number: 7 }), task("b")] }).press(1).enter();
  other.ack(other.sent.find((one) => one.type === "label"));
  assert.deepEqual([other.state.announcement.count, other.state.heard], [0, { text: "Item 7 saved.", count: 1 }]);
});

test("a study that requires a reason refuses a label without one", () => {
  const bench = new Bench({ rules: { reason: "required", quick: true } }).press(1).enter();
  assert.deepEqual(bench.labels(), []);
  bench.do({ type: "reason", target: "g-a", text: "Because." }).enter();
  assert.equal(bench.labels().length, 1);
});

test("a reply for an item that was left changes nothing on the screen", () => {
  const bench = new Bench().press(1).enter().enter();
  bench.ack(
    bench.sent.find((one) => one.type === "label"),
    { reveal: { stances: [1] } },
  );
  assert.equal(hereId(bench.state), "b");
  assert.deepEqual(answerOf(bench.state, "g-a").reveal, { stances: [1] });
  assert.equal(answerOf(bench.state, "g-b").reveal, null);
});

test("undo goes back any number and restores choice and reason; redo does it again", () => {
  const bench = new Bench();
  for (const value of [1, 2, 0]) {
    bench.press(value);
    bench
      .do({ type: "reason", target: here(bench.state).targets[0].id, text: `because ${value}` })
      .enter()
      .enter();
  }
  for (let count = 0; count < 3; count += 1) bench.do({ type: "undo" });
  assert.equal(hereId(bench.state), "a");
  assert.equal(answerOf(bench.state, "g-a").standing, null);
  assert.deepEqual(entered(bench.state, "g-a"), { value: 1, reason: "because 1", evidence: [] });
  for (let count = 0; count < 3; count += 1) bench.do({ type: "redo" });
  assert.equal(hereId(bench.state), "c");
  assert.deepEqual(
    [..."abc"].map((id) => answerOf(bench.state, `g-${id}`).standing.value),
    [1, 2, 0],
  );
  assert.deepEqual(bench.state.redo, []);
  bench.do({ type: "undo" }).do({ type: "undo" }).do({ type: "undo" }).do({ type: "undo" });
  assert.match(bench.state.announcement.text, /Nothing to undo/);
});

test("undo of a change restores the label before it", () => {
  const bench = new Bench().press(1).enter().press(2).do({ type: "undo" });
  assert.equal(answerOf(bench.state, "g-a").standing.value, 1);
  assert.equal(answerOf(bench.state, "g-a").draft, null);
  bench.press(0);
  assert.deepEqual(bench.labels().at(-1), ["g-a", 0, `#${bench.sent.find((one) => one.type === "undo").seq}`]);
});

test("an undo names the entry of its action until the server has named it", () => {
  const bench = new Bench().press(1).enter();
  const label = bench.sent.at(-1);
  bench.do({ type: "undo" });
  assert.equal(bench.sent.at(-1).entry, `#${label.seq}`);
  bench.ack(label);
  assert.equal(bench.state.redo[0].id, `e-${label.seq}`);
});

test("after an undo, Enter goes on where the annotator was", () => {
  const bench = new Bench().press(1).enter().enter().press(2).enter().enter();
  bench.do({ type: "undo" }).do({ type: "undo" });
  assert.equal(hereId(bench.state), "a");
  bench.press(2).enter().enter();
  assert.equal(hereId(bench.state), "b");
  bench.enter().enter();
  assert.equal(hereId(bench.state), "c");
});

test("skip goes on and can be undone", () => {
  const bench = new Bench().do({ type: "skip" });
  assert.equal(hereId(bench.state), "b");
  assert.equal(progress(bench.state).skipped, 1);
  bench.do({ type: "undo" });
  assert.equal(hereId(bench.state), "a");
  assert.equal(progress(bench.state).skipped, 0);
});

test("a stale label is replaced by what stands, with a notice", () => {
  const bench = new Bench().press(1).enter().enter();
  const label = bench.sent.find((one) => one.type === "label");
  bench.ack(label, {
    status: "stale",
    message: "You answered this in another window.",
    version: "v9",
    standing: { value: 2, reason: "", evidence: [] },
  });
  assert.equal(answerOf(bench.state, "g-a").standing.value, 2);
  assert.equal(answerOf(bench.state, "g-a").version, "v9");
  assert.equal(hereId(bench.state), "b");
  assert.match(bench.state.notices[0].text, /another window/);
  assert.deepEqual(bench.state.undo, []);
});

test("a rejected label stays entered as a draft", () => {
  const bench = new Bench().press(1).enter();
  bench.ack(bench.sent.at(-1), { status: "rejected", message: "Not on the scale.", version: "0", standing: null });
  assert.equal(answerOf(bench.state, "g-a").standing, null);
  assert.equal(entered(bench.state, "g-a").value, 1);
  assert.equal(progress(bench.state).labelled, 0);
  assert.deepEqual(
    bench.state.notices.map((one) => one.text),
    ["Not on the scale."],
  );
});

test("a surplus label stands and says so", () => {
  const bench = new Bench().press(1).enter();
  bench.ack(bench.sent.at(-1), { status: "surplus", claim: "full" });
  assert.equal(answerOf(bench.state, "g-a").standing.value, 1);
  assert.match(bench.state.notices[0].text, /extra label/);
});

test("progress counts what is not acknowledged once", () => {
  const bench = new Bench().press(1).enter().press(2);
  assert.equal(progress(bench.state).labelled, 1);
  for (const action of bench.sent.filter((one) => one.type === "label"))
    bench.do({
      type: "result",
      action,
      result: { status: "accepted", version: "v", entry: "e" },
      progress: { labelled: 1, total: 100, skipped: 0, flagged: 0 },
    });
  assert.equal(progress(bench.state).labelled, 1);
});

test("when the prefetch runs dry, keys are ignored, and the next item appears when it arrives", () => {
  const bench = new Bench({ tasks: [task("a")] }).press(1).enter().enter();
  assert.equal(phase(bench.state), "waiting");
  assert.ok(blocked(bench.state));
  const sent = bench.sent.length;
  bench.do({ type: "answer", target: undefined, value: 1, seconds: 1, at: 1 });
  assert.equal(bench.sent.length, sent);
  bench.do({ type: "tasks", tasks: [task("b")], complete: true, now: 77 });
  assert.equal(hereId(bench.state), "b");
  assert.equal(bench.state.arrived, 77);
  bench.press(1).enter().enter();
  assert.equal(phase(bench.state), "finished");
});

test("more tasks are asked for before they run out, without those whose labels are not sent yet", () => {
  const many = Array.from({ length: 30 }, (_, place) => task(`t${place}`));
  const bench = new Bench({ tasks: many, rules: { quick: true, reveal: false } });
  assert.equal(wanted(bench.state), null);
  for (let count = 0; count < 6; count += 1) bench.press(1);
  const { have, count } = wanted(bench.state);
  assert.equal(count, 30);
  assert.ok(have.includes("t0") && have.includes("t6") && have.includes("t29"));
  bench.do({ type: "tasks", tasks: [task("t0"), task("t40")] });
  assert.ok(!bench.state.ready.includes("t0") && bench.state.ready.includes("t40"));
});

test("the last AIU is followed by nothing: a rating is never answered by a key meant for an AIU", () => {
  const bench = new Bench({ tasks: [critique("k"), critique("l")] });
  for (let count = 0; count < 11; count += 1) bench.press(true);
  assert.deepEqual(
    bench.labels().map(([id]) => id),
    ["k-p1", "k-p2", "k-p3", "k-r1", "k-r2"],
  );
  assert.equal(focused(bench.state), null);
  bench.enter();
  assert.equal(focused(bench.state).group, "rating");
  bench.press(5).press(5);
  assert.equal(bench.labels().length, 6);
  bench.enter();
  assert.equal(hereId(bench.state), "l");
});

test("a flag marks the AIU on the screen, and after the last AIU the critique", () => {
  const claims = critique("k").targets.map((one) => (one.required ? { ...one, claim: { aiu: one.id } } : one));
  const bench = new Bench({ tasks: [{ ...critique("k"), targets: claims }] }).press(true).do({ type: "flag" });
  assert.deepEqual([bench.sent.at(-1).target, bench.sent.at(-1).on], ["k-p2", true]);
  for (let count = 0; count < 4; count += 1) bench.press(true);
  bench.do({ type: "flag" });
  assert.equal(bench.sent.at(-1).target, undefined);
});

test("a mark of an AIU is painted at once, and does not stop the keys", () => {
  const claims = critique("k").targets.map((one) => ({ ...one, claim: { aiu: `u-${one.id}`, atomic: true } }));
  const bench = new Bench({ tasks: [{ ...critique("k"), targets: claims }] });
  bench.do({ type: "edit", task: "k", target: "k-p1", change: { type: "not_atomic", aiu: "u-k-p1", on: true } });
  assert.equal(here(bench.state).targets[0].claim.atomic, false);
  assert.equal(bench.state.undo.at(-1).type, "edit");
  bench.press(true);
  assert.equal(bench.labels().length, 1);
});

test("an answer to an AIU that somebody has edited brings the critique as it is now", () => {
  const bench = new Bench({ tasks: [critique("k")] }).press(true);
  const targets = [target("k-new", { group: "precision" }), ...critique("k").targets.slice(1)];
  bench.do({
    type: "result",
    action: bench.sent.at(-1),
    result: { status: "rejected", message: "This AIU was changed.", task: { ...critique("k"), targets } },
  });
  assert.equal(here(bench.state).targets[0].id, "k-new");
  assert.equal(focused(bench.state).id, "k-p2");
  assert.equal(bench.state.notices.length, 1);
});

test("a critique without AIUs stays to be done until it is skipped", () => {
  const empty = { ...critique("k"), targets: [] };
  const bench = new Bench({ tasks: [empty, critique("l")] }).do({ type: "advance" });
  assert.equal(hereId(bench.state), "l");
  assert.ok(wanted({ ...bench.state, complete: false }).have.includes("k"));
});

test("going back to a claim and pressing another digit changes that claim", () => {
  const bench = new Bench({ tasks: [critique("k")] }).press(true).press(true);
  bench.do({ type: "goto", target: "k-p1" }).press(false);
  assert.deepEqual(
    bench.labels().map(([id, value]) => [id, value]),
    [
      ["k-p1", true],
      ["k-p2", true],
      ["k-p1", false],
    ],
  );
  assert.equal(focused(bench.state).id, "k-p3");
});

test("undo of claims goes back claim by claim, across critiques", () => {
  const bench = new Bench({ tasks: [critique("k"), critique("l")] })
    .press(true)
    .press(true)
    .do({ type: "advance" })
    .press(false);
  bench.do({ type: "undo" });
  assert.equal(focused(bench.state).id, "l-p1");
  bench.do({ type: "undo" });
  assert.equal(hereId(bench.state), "k");
  assert.equal(focused(bench.state).id, "k-p2");
});

test("weights and their ratings are labelled together, each with a version of its own", () => {
  const weights = task("w", {
    panel: "weights",
    targets: [target("w-w", { group: "weights" }), target("w-q", { group: "quality", required: false })],
  });
  const bench = new Bench({ tasks: [weights, task("b")] });
  bench.enter();
  assert.match(bench.state.announcement.text, /slider/);
  bench
    .do({ type: "choose", target: "w-w", value: { a: 40, b: 60 } })
    .do({ type: "choose", target: "w-q", value: 4 })
    .enter();
  assert.deepEqual(bench.labels(), [
    ["w-w", { a: 40, b: 60 }, "0"],
    ["w-q", 4, "0"],
  ]);
  bench.do({ type: "choose", target: "w-w", value: { a: 50, b: 50 } });
  assert.equal(bench.labels().length, 2);
  assert.ok(changed(bench.state, "w-w"));
  bench.enter();
  assert.deepEqual(bench.labels().at(-1)[1], { a: 50, b: 50 });
  assert.equal(hereId(bench.state), "b");
});

test("an edit waits for its reply, and the keys with it", () => {
  const bench = new Bench({ tasks: [critique("k")] });
  bench
    .do({ type: "edit", task: "k", target: "k-p1", change: { type: "split", aiu: "1", into: ["a", "b"] } })
    .press(true);
  assert.deepEqual(bench.labels(), []);
  const changedTask = {
    ...critique("k"),
    targets: [
      target("k-p1a", { group: "precision" }),
      target("k-p1b", { group: "precision" }),
      ...critique("k").targets.slice(1),
    ],
  };
  bench.ack(bench.sent.at(-1), { task: changedTask, focus: "k-p1a", entry: "e-1" });
  assert.equal(focused(bench.state).id, "k-p1a");
  bench.press(true);
  assert.equal(bench.labels()[0][0], "k-p1a");
  assert.deepEqual(
    bench.state.undo.map((entry) => entry.type),
    ["edit", "label"],
  );
});

test("changed guidelines are shown before the next item, and digits are ignored meanwhile", () => {
  const bench = new Bench().press(1).enter();
  bench.do({
    type: "result",
    action: bench.sent.at(-1),
    result: { status: "accepted", version: "v", entry: "e" },
    guidelines: { version: 4, text: "New." },
  });
  assert.equal(phase(bench.state), "working");
  bench.enter();
  assert.equal(phase(bench.state), "guidelines");
  const labels = bench.labels().length;
  bench.press(2);
  assert.equal(bench.labels().length, labels);
  bench.enter();
  assert.equal(bench.sent.at(-1).type, "read");
  assert.equal(phase(bench.state), "working");
  bench.press(2).enter();
  assert.equal(bench.sent.at(-1).guidelines, 4);
});

test("a newer draft replaces the pending one, and a label replaces both", () => {
  const bench = new Bench().press(1).press(2);
  assert.equal(Object.values(bench.state.pending).filter((one) => one.type === "draft").length, 1);
  bench.enter();
  assert.deepEqual(
    Object.values(bench.state.pending).map((one) => one.type),
    ["label"],
  );
});

test("the drafts of the server come back as drafts, not as labels", () => {
  const bench = new Bench({
    tasks: [task("a", { targets: [target("g-a", { draft: { value: 2, reason: "so far", evidence: [] } })] })],
  });
  assert.deepEqual(entered(bench.state, "g-a"), { value: 2, reason: "so far", evidence: [] });
  assert.equal(answerOf(bench.state, "g-a").standing, null);
});

test("a refused undo makes the workbench load the history again", () => {
  const bench = new Bench().press(1).enter().do({ type: "undo" });
  bench.ack(bench.sent.at(-1), {
    status: "stale",
    message: "Undone in another window.",
    version: "v1",
    standing: null,
  });
  assert.ok(bench.state.more);
  bench.do({
    type: "history",
    history: {
      undo: [{ id: "e-1", type: "label", task: "a", target: "g-a", before: null, after: { value: 1 } }],
      redo: [],
      tasks: [],
      more: false,
    },
  });
  assert.equal(bench.state.undo.length, 1);
});

test("a day of labelling does not fill the memory", () => {
  const bench = new Bench({
    tasks: Array.from({ length: 900 }, (_, place) => task(`t${place}`)),
    rules: { quick: true, reveal: false },
  });
  for (let count = 0; count < 899; count += 1) {
    bench.press(1);
    bench.ack(bench.sent.at(-1));
  }
  assert.ok(Object.keys(bench.state.tasks).length < 700);
  assert.equal(hereId(bench.state), "t899");
});

test("the order of keys does not matter when values are compared", () => {
  assert.ok(same({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }));
  assert.ok(!same(true, 1) && same(undefined, null));
});

test("the first answer to a training item counts, is not undone, and stays for its feedback", () => {
  const training = ["a", "b"].map((id) => task(id, { training: true }));
  const bench = new Bench({ tasks: training, rules: { reveal: false }, complete: true });
  assert.equal(wanted(new Bench({ tasks: [] }).state).again, true);
  bench.press(1).enter();
  assert.equal(hereId(bench.state), "a");
  assert.deepEqual(bench.state.undo, []);
  const wrong = { correct: false, expected: 2, text: "because", passed: null };
  bench.ack(bench.sent.at(-1), { entry: null, feedback: wrong });
  assert.deepEqual(answerOf(bench.state, "g-a").feedback, wrong);
  const { length } = bench.sent;
  bench.press(2);
  assert.equal(bench.sent.length, length);
  assert.match(bench.state.announcement.text, /first answer counts/);
  bench.do({ type: "undo" });
  assert.match(bench.state.announcement.text, /training items are not undone/);
  assert.equal(bench.sent.length, length);
  bench.enter();
  assert.equal(hereId(bench.state), "b");
});

test("a training that is passed opens the queue; one that is not ends the visit", () => {
  const one = () => new Bench({ tasks: [task("a", { training: true })], complete: true }).press(1).enter();
  const passed = one();
  passed.ack(passed.sent.at(-1), { entry: null, feedback: { correct: true, expected: 1, text: "", passed: true } });
  assert.equal(wanted(passed.state).again, false);
  const failed = one();
  failed.ack(failed.sent.at(-1), { entry: null, feedback: { correct: false, expected: 2, text: "", passed: false } });
  assert.equal(wanted(failed.state), null);
  assert.equal(phase(failed.enter().state), "finished");
});

test("a draft and a label carry the order of the texts that was on the screen, and actions without a value do not", () => {
  const bench = new Bench({ tasks: [task("a", { shown: [2, 1] }), task("b")] });
  bench.press(2).enter().do({ type: "flag" }).enter().press(1);
  assert.deepEqual(
    bench.sent.map(({ type, task: about, shown }) => [type, about, shown]),
    [
      ["draft", "a", [2, 1]],
      ["label", "a", [2, 1]],
      ["flag", "a", undefined],
      ["draft", "b", undefined],
    ],
  );
});
