// The judges' opinions next to the item: the grid of stances, each judge's reason in a line, one turn in full.

import { attribute, button, h, kbd } from "./dom.js";
import { blockText, judgeText, referenceMarks } from "./text.js";
import { linkCitations } from "./transcript.js";
import { t } from "./texts.js";

/** The cells in which a judge differs or changes its opinion: [{grid, judge, turn}], round by round. */
export function disagreements(stances) {
  const found = [];
  stances.forEach((grid, gridPlace) => {
    for (let stage = 0; stage < grid.stages.length; stage += 1) {
      const turns = grid.judges.map((judge, place) => ({
        judge: place,
        turn: judge.turns.findIndex((turn) => turn.stage === stage),
        of: judge,
      }));
      const values = turns
        .map(({ of, turn }) => of.turns[turn]?.value)
        .filter((value) => value !== undefined && value !== null);
      const usual = mostFrequent(values);
      for (const { of, judge, turn } of turns) {
        const one = of.turns[turn];
        if (one && one.value !== null && (one.changed || one.value !== usual))
          found.push({ grid: gridPlace, judge, turn });
      }
    }
  });
  return found;
}

function mostFrequent(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

export class Reveal {
  constructor(bench) {
    this.bench = bench;
    this.node = h("section", { class: "reveal", "aria-label": t("The judges"), tabindex: "-1" });
    this.cell = null;
    this.drawn = null;
  }

  /** Draw the details of a target: its reveal and the feedback of a training task. */
  update(task, answer) {
    const shown = task && answer?.standing ? answer : null;
    const signature = JSON.stringify([
      task?.id,
      task?.shown,
      shown?.standing?.value,
      Boolean(shown?.reveal),
      shown?.feedback ?? null,
      this.cell,
    ]);
    if (signature === this.drawn) return;
    if (this.task !== task?.id) this.cell = null;
    [this.drawn, this.task, this.reveal] = [signature, task?.id, shown?.reveal ?? null];
    attribute(this.node, "hidden", shown && (shown.reveal || shown.feedback) ? null : "");
    if (!shown) return this.node.replaceChildren();
    const stances = this.reveal?.stances ?? [];
    this.node.replaceChildren(
      ...[
        feedback(task.targets[0], shown.feedback, task.columns),
        ...stances.map((grid, place) => this.#grid(grid, place, task)),
        this.reveal?.weights?.length ? weightTable(this.reveal.weights) : null,
        this.reveal?.opinions?.length
          ? opinionList(
              this.reveal.opinions,
              (value) => optionOf(task, value)?.label ?? String(value),
              (value) => optionOf(task, value)?.colour ?? "level",
              { columns: task.columns, short: (value) => optionOf(task, value)?.short },
            )
          : null,
      ].filter(Boolean),
    );
  }

  #grid(grid, place, task) {
    const columns = [...task.columns, ...(this.reveal.columns ?? [])];
    const stages = grid.stages.map((stage) => h("th", { scope: "col" }, stage));
    const rows = grid.judges.map((judge, judgePlace) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", dir: "auto" }, judge.name),
        grid.stages.map((_, stage) => {
          const turn = judge.turns.findIndex((one) => one.stage === stage);
          return h(
            "td",
            {},
            turn < 0
              ? h("span", { class: "none" }, "·")
              : this.#stance(task, judge, judge.turns[turn], { grid: place, judge: judgePlace, turn }),
          );
        }),
      ),
    );
    const shown = task.shown?.[0] === 2 ? "&shown=2,1" : ""; // the trace has the item's own order, and says so
    const open = this.cell?.grid === place ? this.#turn(grid, columns) : null;
    return h(
      "div",
      { class: "grid" },
      h(
        "h3",
        {},
        h("span", {}, [grid.protocol, grid.run].filter(Boolean).join(" · ")),
        grid.href ? h("a", { href: grid.href + shown, target: "_blank", rel: "noopener" }, `${t("trace")} ↗`) : null,
      ),
      grid.outcome || grid.verdicts?.length ? h("p", { class: "outcome" }, outcome(grid, task)) : null,
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "visually-hidden" }, t("Judge"))), stages)),
          h("tbody", {}, rows),
        ),
      ),
      open,
      h(
        "ul",
        { class: "reasons" },
        grid.judges.map((judge, judgePlace) => this.#reason(task, judge, judgePlace, place, columns)),
      ),
      disagreements([grid]).length
        ? button({ class: "tool", onclick: () => this.next() }, kbd("D"), ` ${t("next disagreement")}`)
        : null,
    );
  }

  #stance(task, judge, turn, cell) {
    const here = JSON.stringify(cell) === JSON.stringify(this.cell);
    const words = turn.value === null ? `${t("no verdict")}${turn.problem ? `: ${turn.problem}` : ""}` : nameOf(task, turn);
    const label = `${judge.name}: ${words}${turn.changed ? `, ${t("changed its mind")}` : ""}`;
    return button(
      {
        class: `stance ${valueClass(task, turn)}${turn.changed ? " changed" : ""}`,
        "aria-label": label,
        "aria-pressed": here,
        title: label,
        onclick: () => this.open(here ? null : cell),
      },
      turn.value === null ? "–" : nameOf(task, turn),
      turn.changed ? h("span", { class: "star", "aria-hidden": "true" }, "*") : null,
    );
  }

  #turn(grid, columns) {
    const judge = grid.judges[this.cell.judge];
    const turn = judge.turns[this.cell.turn];
    return h(
      "div",
      { class: "turnshown" },
      h("h4", {}, `${judge.name} · ${grid.stages[turn.stage]}`),
      turn.problem ? h("p", { class: "problem" }, turn.problem) : null,
      linkCitations(
        blockText(
          { format: "markdown", text: turn.text ?? "" },
          referenceMarks(turn.text ?? "", turn.references, columns),
        ),
        this.bench.reading.transcript(),
      ),
    );
  }

  #reason(task, judge, judgePlace, gridPlace, columns) {
    const at = judge.turns.length - 1;
    const turn = judge.turns[at];
    if (!turn) return null;
    const cell = { grid: gridPlace, judge: judgePlace, turn: at };
    const words = turn.reason || turn.problem || "";
    return h(
      "li",
      {},
      button(
        {
          class: "reasonline",
          onclick: () => this.open(JSON.stringify(this.cell) === JSON.stringify(cell) ? null : cell),
        },
        h(
          "span",
          { class: `chip small ${valueClass(task, turn)}` },
          turn.value === null ? "–" : nameOf(task, turn),
        ),
        h(
          "span",
          { class: "words", dir: "auto" },
          h("b", {}, `${judge.name} `),
          judgeText(words, turn.reasonReferences ?? within(turn, words), columns),
        ),
      ),
    );
  }

  /** Open a cell of the grid: its turn in full, its quotations in the texts. */
  open(cell) {
    this.cell = cell;
    this.drawn = null;
    this.bench.redraw();
    if (!cell) return;
    this.node.querySelector(".turnshown")?.scrollIntoView({ block: "nearest" });
    this.bench.reading.reveal("mark.passage.current");
  }

  /** Go to the next disagreement, round by round; false if there is none. */
  next() {
    const places = disagreements(this.reveal?.stances ?? []);
    if (!places.length) return false;
    const at = places.findIndex((one) => JSON.stringify(one) === JSON.stringify(this.cell));
    this.open(places[(at + 1) % places.length]);
    return true;
  }

  /** Quotations to mark in the texts; those of the open turn are emphasised. */
  passages(reveal) {
    return (reveal?.stances ?? []).flatMap((grid, gridPlace) =>
      grid.judges.flatMap((judge, judgePlace) =>
        judge.turns.flatMap((turn, turnPlace) =>
          (turn.passages ?? []).map((span) => ({
            ...span,
            title: t("quoted by {judge}, {stage}", { judge: judge.name, stage: grid.stages[turn.stage] }),
            current: this.cell?.grid === gridPlace && this.cell.judge === judgePlace && this.cell.turn === turnPlace,
          })),
        ),
      ),
    );
  }
}

/** The references of a turn that fall into its one-line reason, if the reason is the beginning of the text. */
function within(turn, words) {
  const length = [...words].length;
  return (turn.text ?? "").startsWith(words) ? (turn.references ?? []).filter((one) => one.end <= length) : [];
}

const valueClass = (task, { value }) => (value === null ? "undecided" : (optionOf(task, value)?.colour ?? "level"));

/** The name of a value by the task's options: a judge's 2 is "1" if response 2 is shown first. */
const nameOf = (task, { value, short }) => optionOf(task, value)?.short ?? short;

function outcome({ outcome: words, verdicts = [] }, task) {
  const names = verdicts.map((one) => nameOf(task, one)).join(", ");
  return [words, names].filter(Boolean).join(": ");
}

/** The feedback after an answer to a training item: whether it is correct, the known answer and its reason. */
export function feedback(target, found, columns = []) {
  if (!found) return null;
  const expected = expectedName(target, found.expected);
  const head = found.correct ? `✓ ${t("Correct: {expected}", { expected })}` : `✗ ${t("Not correct. Expected: {expected}", { expected })}`;
  const passed =
    found.passed === true
      ? t("You have passed the training.")
      : found.passed === false
        ? t("You have not passed the training yet.")
        : "";
  return h(
    "div",
    { class: `feedback ${found.correct ? "correct" : "incorrect"}`, role: "note" },
    h("h3", {}, head),
    h("p", { dir: "auto" }, judgeText(found.text ?? "", found.references, columns)),
    passed ? h("p", {}, passed) : null,
  );
}

function expectedName(target, value) {
  if (value !== null && typeof value === "object")
    return Object.entries(value)
      .map(([name, weight]) => `${name} ${Math.round(weight * 10) / 10} %`)
      .join(", ");
  return target.options?.find((option) => option.value === value)?.label ?? String(value);
}

function weightTable(weights) {
  return h(
    "div",
    { class: "grid" },
    h("h3", {}, t("Weights of the judges")),
    h(
      "ul",
      { class: "reasons" },
      weights.map((one, place) =>
        h(
          "li",
          {},
          h("span", { class: "judgemark" }, String(place + 1)),
          h(
            "span",
            {},
            h("b", { dir: "auto" }, one.judge),
            " ",
            Object.entries(one.weights)
              .map(([name, weight]) => `${name} ${Math.round(weight)} %`)
              .join(" · "),
          ),
        ),
      ),
    ),
  );
}

const optionOf = (task, value) => task.targets[0].options?.find((option) => option.value === value);

/** Opinions without rounds: one per judge, with reason and evidence. `columns` are the texts that reasons refer to. */
export function opinionList(opinions, named, toneOf, { columns = [], short = () => undefined } = {}) {
  return h(
    "ul",
    { class: "opinions" },
    opinions.map((one) =>
      h(
        "li",
        {},
        h(
          "p",
          {},
          h(
            "span",
            { class: `chip small ${toneOf(one.value)}` },
            sign(one.value) ?? short(one.value) ?? String(one.value),
          ),
          h("b", { dir: "auto" }, ` ${one.judge}: `),
          one.value === null ? one.problem || t("no verdict") : named(one.value),
        ),
        one.reason ? h("p", { class: "words", dir: "auto" }, judgeText(one.reason, one.references, columns)) : null,
        one.evidence ? h("blockquote", { dir: "auto" }, one.evidence) : null,
      ),
    ),
  );
}

const sign = (value) => ({ true: "✓", false: "✗", null: "–" })[String(value)];
