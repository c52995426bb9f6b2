import assert from "node:assert/strict";
import { test } from "node:test";

import { differences, words } from "../../../../pages/label/workbench/diff.js";
import { commandOf, keyName, printed } from "../../../../pages/label/workbench/keys.js";
import { equal, rebalanced } from "../../../../pages/label/workbench/panels/weights.js";
import { completed } from "../../../../pages/label/workbench/panels/aius.js";
import { disagreements } from "../../../../pages/label/workbench/reveal.js";
import { toPoints, toUnits } from "../../../../pages/label/workbench/text.js";
import { IDLE, Stopwatch } from "../../../../pages/label/workbench/timing.js";

const key = (name, more = {}) => ({
  key: name,
  code: "",
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

test("keys have one name on every keyboard", () => {
  assert.equal(keyName(key("s")), "s");
  assert.equal(keyName(key("S")), "s"); // caps lock
  assert.equal(keyName(key("U", { shiftKey: true })), "Shift+u");
  assert.equal(keyName(key("Enter", { metaKey: true })), "Ctrl+Enter");
  assert.equal(keyName(key("س", { code: "KeyS" })), "s");
  assert.equal(keyName(key("١", { code: "Digit1" })), "1");
  assert.equal(keyName(key("[", { ctrlKey: true, altKey: true })), "[");
  assert.equal(keyName(key(" ", { shiftKey: true })), "Shift+Space");
  assert.equal(keyName(key("1", { code: "Numpad1" })), "1");
});

test("keys with Ctrl or Alt are left to the browser", () => {
  for (const one of [key("s", { ctrlKey: true }), key("f", { metaKey: true }), key("ArrowLeft", { altKey: true })])
    assert.equal(commandOf(keyName(one)), null);
  assert.equal(commandOf("u"), "undo");
  assert.equal(commandOf("Shift+u"), "redo");
  assert.equal(printed("Shift+u"), "Shift + U");
});

test("the differences of two texts are the words that only one has", () => {
  const [a, b] = ["The quick brown fox jumps.", "The slow brown fox sleeps."];
  const found = differences(a, b);
  assert.deepEqual(
    found.a.map(([start, end]) => a.slice(start, end)),
    ["quick", "jumps"],
  );
  assert.deepEqual(
    found.b.map(([start, end]) => b.slice(start, end)),
    ["slow", "sleeps"],
  );
  assert.deepEqual(differences("same words", "same words"), { a: [], b: [] });
  assert.deepEqual(differences("", "new words").b.length, 1);
});

test("what is left after removing the differences is the same in both texts", () => {
  let seed = 7;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 200; round += 1) {
    const make = () => Array.from({ length: random(40) }, () => "abcde"[random(5)]).join(" ");
    const [a, b] = [make(), make()];
    const { a: left, b: right } = differences(a, b);
    const rest = (text, spans) =>
      words(text)
        .filter((one) => !spans.some(([start, end]) => one.start >= start && one.end <= end))
        .map((one) => one.word);
    assert.deepEqual(rest(a, left), rest(b, right));
  }
});

test("very different long texts are compared in reasonable time", () => {
  const text = (from) => Array.from({ length: 4000 }, (_, place) => `w${from + place}`).join(" ");
  const begun = performance.now();
  const found = differences(text(0), text(100000));
  assert.ok(found.a.length);
  assert.ok(performance.now() - begun < 3000);
});

test("positions count code points on the wire and units in the browser", () => {
  const text = "a😀b😀c";
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((points) => toUnits(text, points)),
    [0, 1, 3, 4, 6, 7],
  );
  assert.deepEqual(
    [0, 1, 3, 4, 6, 7].map((units) => toPoints(text, units)),
    [0, 1, 2, 3, 4, 5],
  );
});

test("weights always sum to 100, and a locked weight stays", () => {
  let seed = 3;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 300; round += 1) {
    const count = 2 + random(7);
    let weights = equal(count);
    const locked = weights.map((_, place) => place === 1 && round % 2 === 0);
    const fixed = weights[1];
    for (let move = 0; move < 10; move += 1) {
      const place = random(count);
      if (!locked[place]) weights = rebalanced(weights, place, random(1300) / 10 - 15, locked);
      assert.ok(Math.abs(weights.reduce((sum, one) => sum + one, 0) - 100) < 1e-6, weights.join());
      assert.ok(weights.every((one) => one >= 0 && one <= 100));
      if (locked[1]) assert.equal(weights[1], fixed);
    }
  }
});

test("disagreements are the turns that stand apart or change, round by round", () => {
  const turn = (stage, value, changed = false) => ({ stage, value, changed });
  const grid = {
    stages: ["first", "round 1"],
    judges: [
      { turns: [turn(0, 1), turn(1, 1)] },
      { turns: [turn(0, 2), turn(1, 1, true)] },
      { turns: [turn(0, 1), turn(1, null)] },
    ],
  };
  assert.deepEqual(disagreements([grid]), [
    { grid: 0, judge: 1, turn: 0 },
    { grid: 0, judge: 1, turn: 1 },
  ]);
});

test("an edit without its words is not sent", () => {
  assert.equal(completed({ type: "split", aiu: "1" }, "one line"), null);
  assert.deepEqual(completed({ type: "split", aiu: "1" }, " a \n\n b "), { type: "split", aiu: "1", into: ["a", "b"] });
  assert.equal(completed({ type: "edit", aiu: "1" }, "  "), null);
  assert.deepEqual(completed({ type: "add", block: "c" }, "x"), { type: "add", block: "c", text: "x", at: null });
});

test("idle time is cut", () => {
  const watch = new Stopwatch(0);
  watch.touch(4_000);
  watch.touch(4_000 + 10 * IDLE);
  assert.equal(watch.seconds(5_000 + 10 * IDLE), 4 + IDLE / 1000 + 1);
  watch.hide(6_000 + 10 * IDLE);
  assert.equal(watch.seconds(10_000_000), 4 + IDLE / 1000 + 2);
  watch.touch(20_000_000);
  assert.equal(watch.seconds(20_001_000), 4 + IDLE / 1000 + 3);
});
