// AIUs of a critique, one after the other. A key labels the AIU on the screen and goes to the next one. After the last AIU,
// answer keys are ignored until Enter opens the ratings, so a key meant for an AIU never answers a rating.

import { attribute, button, h, kbd, text } from "../dom.js";
import { answerOf, focused, marksOf } from "../model.js";
import { endedGroup } from "../moving.js";
import { feedback, opinionList } from "../reveal.js";
import { selectedSpan, source, toPoints } from "../text.js";
import { optionGroup } from "./options.js";
import { t, within } from "../texts.js";

const GROUPS = { precision: t("Is it factual?"), recall: t("Does the critique cover it?"), rating: t("Ratings") };
const ENDED = {
  precision: t("All AIUs are answered."),
  recall: t("All AIUs are answered."),
  rating: t("All ratings are given."),
};
const SIGNS = new Map([
  [true, "✓"],
  [false, "✗"],
]);
const TITLES = {
  split: t("Split: one AIU per line, at least two"),
  merge: t("Merge: the text of the merged AIU"),
  add: t("Add an AIU; text selected in the critique becomes its passage"),
  edit: t("Edit: existing labels stay with the previous AIU"),
};

export function aiusPanel(bench, task) {
  const now = h("div", { class: "now" });
  const last = h("div", { class: "last", role: "group", "aria-label": t("Your last answer") });
  const list = h("div", { class: "claims" });
  const editorBox = h("div", { class: "editor", hidden: true });
  const onward = button(
    { class: "submit", "aria-keyshortcuts": "Control+Enter", onclick: () => bench.dispatch({ type: "advance" }) },
    h("span"),
    kbd("Ctrl+Enter"),
  );
  const edits = h("div", { class: "edits", role: "group", "aria-label": t("Edit the AIU") });
  // On a phone the edits are collapsed to leave space for the text and the answer.
  const menu = button({ class: "tool editmenu", "aria-expanded": false, onclick: () => openMenu(!isOpen()) }, t("Edit AIU"));
  const row = h("div", { class: "onward" }, menu, onward);
  const node = h("div", { class: "panel aius" }, now, editorBox, edits, row);
  const isOpen = () => menu.getAttribute("aria-expanded") === "true";
  const openMenu = (open) => {
    attribute(menu, "aria-expanded", open);
    attribute(edits, "data-open", open);
  };
  let [drawn, answered, editing, group] = [null, null, null, null];
  const chosen = new Set(); // ids of AIUs to merge; without any, an AIU is merged with the next one

  const aiu = () => focused(bench.state)?.claim ?? null;
  const edit = (type) => {
    const change = started(type, bench, task, aiu(), chosen);
    if (!change) return;
    editing = change;
    drawEditor();
  };
  const COMMANDS = [
    ["p", t("split"), () => edit("split")],
    ["m", t("merge"), () => edit("merge")],
    ["a", t("add"), () => edit("add")],
    ["e", t("edit"), () => edit("edit")],
    ["r", t("remove"), () => remove()],
    ["c", t("choose to merge"), () => choose()],
    [
      "x",
      t("not atomic"),
      () =>
        aiu() &&
        bench.dispatch({
          type: "edit",
          task: task.id,
          target: focused(bench.state).id,
          change: { type: "not_atomic", aiu: aiu().aiu, on: aiu().atomic !== false },
        }),
    ],
    ["t", t("take AIUs of a run"), () => adopt()],
  ];
  function adopt() {
    if (!task.adopts) return bench.say(t("No run has AIUs that are missing here."));
    bench.dispatch({ type: "edit", task: task.id, change: { type: "adopt" } });
  }

  function remove() {
    if (!aiu()) return bench.say(t("Choose an AIU first."));
    bench.dispatch({
      type: "edit",
      task: task.id,
      target: focused(bench.state).id,
      change: { type: "remove", aiu: aiu().aiu },
    });
    bench.say(t("Removed. Undo (U) brings it back."));
  }

  function choose() {
    if (!aiu()) return bench.say(t("Choose an AIU first."));
    if (!chosen.delete(aiu().aiu)) chosen.add(aiu().aiu);
    bench.say(t("{n} chosen; merge (M) joins them.", { n: chosen.size }));
    bench.dispatch({ type: "step", by: 1 });
    drawList(bench.state);
  }

  edits.append(
    ...COMMANDS.map(([key, label, run]) =>
      button(
        {
          class: "tool",
          "aria-keyshortcuts": key.toUpperCase(),
          "data-claim": "at".includes(key) ? null : "",
          onclick: () => {
            if (key !== "c") openMenu(false);
            run();
          },
        },
        kbd(key.toUpperCase()),
        ` ${label}`,
      ),
    ),
  );

  function drawEditor() {
    editorBox.hidden = !editing;
    now.hidden = Boolean(editing);
    if (!editing) return editorBox.replaceChildren();
    const area = h("textarea", {
      rows: editing.type === "split" ? "4" : "3",
      "aria-label": TITLES[editing.type],
      dir: "auto",
    });
    area.value = editing.text;
    const close = () => {
      editing = null;
      drawEditor();
      bench.focusReading();
    };
    const save = () => {
      const change = completed(editing, area.value);
      if (!change)
        return bench.say(
          editing.type === "split" ? t("A split needs at least two lines.") : t("Enter the text of the AIU."),
        );
      chosen.clear();
      bench.dispatch({ type: "edit", task: task.id, target: focused(bench.state)?.id, change });
      close();
    };
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    editorBox.replaceChildren(
      h("p", { class: "asked" }, TITLES[editing.type]),
      ...(editing.old ?? []).map((old) => h("p", { class: "old", dir: "auto" }, old)),
      editing.at ? h("p", { class: "asked", dir: "auto" }, t("Passage: “{words}”", { words: editing.text })) : "",
      area,
      h(
        "div",
        { class: "row" },
        button({ class: "tool", onclick: save }, kbd("Ctrl+Enter"), ` ${t("save")}`),
        button({ class: "tool", onclick: close }, kbd("Esc"), ` ${t("leave")}`),
      ),
    );
    area.focus();
  }

  function drawNow(state) {
    const target = focused(state);
    if (!target) {
      const ended = endedGroup(state.focus[task.id]);
      const left = task.targets.filter((one) => answerOf(state, one.id).standing === null);
      const next = left.find((one) => one.required) ?? (ended === "rating" ? null : left[0]);
      group = null;
      const words = ENDED[ended] ?? "";
      const open = next
        ? button(
            { class: "submit", onclick: () => bench.submit() },
            h("span", {}, next.group === "rating" ? t("Next: ratings") : t("Next: {group}", { group: GROUPS[next.group] })),
            kbd("Enter"),
          )
        : null;
      return now.replaceChildren(words ? h("p", { class: "ended" }, words) : "", missing(), open ?? "");
    }
    const options = target.options;
    group = optionGroup({
      label: target.question || GROUPS[target.group],
      options,
      arrowsPick: false,
      className: target.group === "rating" ? "levels" : "",
      pick: (value) => bench.answer(target.id, value),
    });
    const title = target.claim
      ? h(
          "p",
          { class: "claim", dir: "auto" },
          h("span", { class: "place" }, String(target.claim.number)),
          target.claim.text,
        )
      : h("p", { class: "claim" }, target.question);
    now.replaceChildren(
      h("h2", { class: "question" }, GROUPS[target.group] ?? target.question),
      title,
      target.definition ? h("p", { class: "asked", dir: "auto" }, target.definition) : "",
      ...badges(state, target),
      group.node,
      missing(),
    );
    group.update(answerOf(state, target.id).standing?.value);
  }

  const missingTexts = () => ({ texts: within(task.missing.join(` ${t("or the")} `)) });
  const missing = () =>
    task.missing?.length
      ? h(
          "p",
          { class: "asked" },
          (task.adopts
            ? t("No AIUs have been extracted from the {texts} yet: press A to add them, or T to use those of a run.", missingTexts())
            : t("No AIUs have been extracted from the {texts} yet: press A to add them, or start a MetaCritique run.", missingTexts())
          ),
        )
      : "";

  function drawLast(state) {
    const here = focused(state);
    const shown = here && answerOf(state, here.id).standing ? here : task.targets.find((one) => one.id === answered);
    const { standing, reveal, feedback: known } = shown ? answerOf(state, shown.id) : {};
    if (!standing || !(known || reveal?.opinions?.length)) return last.replaceChildren();
    const name = shown.claim ? t("AIU {number}", shown.claim) : shown.question;
    const content = known
      ? feedback(shown, known)
      : opinionList(
          reveal.opinions,
          (value) => valueName(shown, value),
          (value) => valueClass(value),
        );
    last.replaceChildren(h("h3", {}, `${name} · ${t("you: {answer}", { answer: valueName(shown, standing.value) })}`), content);
  }

  function drawList(state) {
    const place = list.scrollTop;
    let title = "";
    const lines = [];
    for (const target of task.targets) {
      if (target.group !== title) {
        title = target.group;
        const own = task.targets.filter((one) => one.group === title);
        const answers = own.map((one) => answerOf(state, one.id));
        const counted = `${GROUPS[title]} ${t("{done} of {total}", { done: answers.filter((one) => one.standing).length, total: own.length })}`;
        const compared = answers.some((one) => one.standing && one.reveal?.opinions?.length);
        lines.push(h("h3", {}, h("span", {}, counted), compared ? h("span", {}, t("judges, you")) : null));
      }
      lines.push(line(bench, state, target, chosen.has(target.claim?.aiu)));
    }
    list.replaceChildren(...lines);
    list.scrollTop = place;
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  return {
    node,
    lower: h("div", { class: "lowerpanel" }, last, list),
    keys: [
      ["1 2", t("yes, no; 1 to 7 for a rating")],
      ["Enter", t("next without an answer, or the next group")],
      ["Ctrl+Enter", t("next critique")],
      ["↑ ↓", t("the AIU before, after")],
      ...COMMANDS.map(([key, label]) => [key.toUpperCase(), label]),
    ],
    update(state) {
      const known = (one) => [answerOf(state, one.id), marksOf(state, one.id)];
      const signature = [task, state.focus[task.id], task.targets.flatMap(known)];
      if (
        drawn &&
        signature[0] === drawn[0] &&
        signature[1] === drawn[1] &&
        signature[2].every((one, at) => one === drawn[2][at])
      )
        return;
      drawn = signature;
      const open = task.targets.filter((one) => one.required && answerOf(state, one.id).standing === null).length;
      attribute(onward, "data-open", open > 0);
      text(onward.firstChild, open ? t("Next critique · {n} open", { n: open }) : t("Next critique"));
      edits.hidden = menu.hidden = task.training || focused(state)?.group === "rating";
      edits.lastChild.hidden = !task.adopts;
      const claims = task.targets.some((one) => one.claim);
      for (const node of edits.querySelectorAll("[data-claim]")) node.hidden = !claims;
      drawNow(state);
      drawLast(state);
      drawList(state);
    },
    press(name) {
      if (name === "ArrowUp" || name === "ArrowDown")
        return (bench.dispatch({ type: "step", by: name === "ArrowUp" ? -1 : 1 }), true);
      const command = COMMANDS.find(([key]) => key === name);
      if (command)
        return (task.training ? bench.say(t("The AIUs of a training item cannot be edited.")) : command[2](), true);
      if (!/^[0-9]$/.test(name)) return false;
      const target = focused(bench.state);
      const option = target && group?.optionOf(name);
      if (!option)
        return (
          bench.say(
            target
              ? t("This key is not an answer here.")
              : t("There is no question here; the input was ignored. Continue with Next (Enter)."),
          ),
          true
        );
      answered = target.id;
      bench.answer(target.id, option.value);
      return true;
    },
    disagreement() {
      const state = bench.state;
      const at = task.targets.findIndex((one) => one.id === state.focus[task.id]);
      const order = [...task.targets.slice(at + 1), ...task.targets.slice(0, at + 1)];
      const differs = order.find((one) => disputed(answerOf(state, one.id)));
      if (!differs) return bench.say(t("No judge disagrees with your answers here."));
      bench.dispatch({ type: "goto", target: differs.id });
    },
    target: () => focused(bench.state),
    /** The same critique with other targets: unsaved text is preserved. */
    renew(changedTask) {
      task = changedTask;
    },
  };
}

const disputed = ({ standing, reveal }) =>
  Boolean(standing) && (reveal?.opinions ?? []).some((one) => one.value !== null && one.value !== standing.value);
const valueClass = (value) => (value === true ? "true" : value === false ? "false" : value === null ? "undecided" : "level");
const valueName = (target, value) =>
  value === null
    ? t("no judgement")
    : within(target.options.find((one) => one.value === value)?.label ?? String(value));

const badges = (state, target) => [
  target.claim?.atomic === false ? h("span", { class: "badge" }, t("not atomic")) : "",
  marksOf(state, target.id).flagged ? h("span", { class: "badge" }, t("⚑ flagged")) : "",
];

function line(bench, state, target, chosen) {
  const { standing, reveal } = answerOf(state, target.id);
  const here = state.focus[bench.taskId()] === target.id;
  const own = standing ? (SIGNS.get(standing.value) ?? String(standing.value)) : "–";
  const judges = standing ? (reveal?.opinions ?? []) : [];
  return button(
    {
      class: "claimline",
      "aria-current": here ? "true" : null,
      onclick: () => bench.dispatch({ type: "goto", target: target.id }),
    },
    h("span", { class: "place" }, target.claim ? String(target.claim.number) : ""),
    h("span", { class: "words", dir: "auto" }, target.claim?.text ?? target.question),
    chosen ? h("span", { class: "badge" }, t("to merge")) : null,
    badges(state, target),
    judges.map((one) =>
      h(
        "span",
        {
          class: `chip small judge ${valueClass(one.value)}`,
          title: `${one.judge}: ${valueName(target, one.value)}`,
          "aria-label": `${one.judge}: ${valueName(target, one.value)}`,
          role: "img",
        },
        SIGNS.get(one.value) ?? (one.value === null ? "–" : String(one.value)),
      ),
    ),
    h(
      "span",
      {
        class: `chip small ${standing ? valueClass(standing.value) : "open"}`,
        role: "img",
        "aria-label": standing ? t("you: {answer}", { answer: valueName(target, standing.value) }) : t("not answered yet"),
      },
      own,
    ),
  );
}

/** The initial state of an editor, or null if the key has no function. */
function started(type, bench, task, claim, chosen) {
  if (type === "add") return { type, ...placeOf(bench, task, claim) };
  if (!claim && !(type === "merge" && chosen.size > 1)) return (bench.say(t("Choose an AIU first.")), null);
  if (type !== "merge") return { type, aiu: claim.aiu, text: claim.text };
  const claims = task.targets.map((one) => one.claim).filter(Boolean);
  const merged = chosen.size > 1 ? claims.filter((one) => chosen.has(one.aiu)) : withNext(claims, claim);
  if (merged.length < 2) return (bench.say(t("There is no AIU after this one.")), null);
  if (merged.some((one) => one.block !== merged[0].block))
    return (bench.say(t("Only AIUs of one critique can be merged.")), null);
  const texts = merged.map((one) => one.text);
  return { type, aius: merged.map((one) => one.aiu), text: texts.join(" "), old: texts };
}

function withNext(claims, claim) {
  const own = claims.filter((one) => one.block === claim.block);
  const at = own.findIndex((one) => one.aiu === claim.aiu);
  return own.slice(at, at + 2);
}

function placeOf(bench, task, claim) {
  for (const block of task.columns) {
    const element = bench.blockElement(block.id);
    const span = element && selectedSpan(bench.shadowRoot, element);
    if (!span) continue;
    const words = source(block);
    return {
      block: block.id,
      text: words.slice(span.start, span.end).trim(),
      at: [toPoints(words, span.start), toPoints(words, span.end)],
    };
  }
  return { block: claim?.block ?? task.columns[0]?.id, text: "", at: null };
}

/** The change in an editor, or null if required text is missing. */
export function completed({ type, aiu, aius, block, at }, words) {
  const lines = words
    .split("\n")
    .map((one) => one.trim())
    .filter(Boolean);
  if (!lines.length || (type === "split" && lines.length < 2)) return null;
  const whole = lines.join(" ");
  return {
    split: { type, aiu, into: lines },
    merge: { type, aius, text: whole },
    add: { type, block, text: whole, at: at ?? null },
    edit: { type, aiu, text: whole },
  }[type];
}
