// Key presses, and the commands that keys and buttons share.

import { commandOf, keyName, whileTyping } from "./keys.js";
import { answerOf, here, hereId, phase } from "./model.js";
import { STEP_KEYS } from "./transcript.js";
import { nt, t } from "./texts.js";

export class Keyboard {
  constructor(bench) {
    this.bench = bench;
    this.pressed = null; // when the key that is being handled was pressed
    this.ignored = 0; // answer keys and Enter, while the page was loading
  }

  handle(event) {
    this.pressed = event.timeStamp;
    this.#handle(event);
    this.pressed = null;
  }

  /** State how many keys came too early: the annotator may believe that they labelled. */
  sayIgnored() {
    if (this.ignored)
      this.bench.say(
        nt(
          "A key was pressed while the page was loading; it was ignored.",
          "{n} keys were pressed while the page was loading; they were ignored.",
          this.ignored,
        ),
      );
    this.ignored = 0;
  }

  #handle(event) {
    const inside = closeConnectionError(event.composedPath()[0]);
    if (event.defaultPrevented || event.isComposing || elsewhere(inside)) return;
    const name = keyName(event);
    const typing = writes(inside);
    if (typing ? !(whileTyping(name) || (name === "Enter" && inside.classList.contains("number"))) : acts(inside, name))
      return;
    if (event.repeat && !/Space$|^Arrow/.test(name)) return event.preventDefault();
    if (this.bench.screen || !this.bench.state.session) {
      if (this.bench.screen?.name === "loading" && /^([0-9]|Enter)$/.test(name)) this.ignored += 1;
      return;
    }
    if (typing ? this.#pressWhileTyping(name, inside) : this.#press(name)) event.preventDefault();
  }

  // After a submission from a text field, answer keys are active again.
  #pressWhileTyping(name, field) {
    const command = whileTyping(name) ?? "submit";
    if (command === "submit") this.bench.focusReading();
    return this.command(command, field);
  }

  #press(name) {
    if (name === "Ctrl+Enter" && here(this.bench.state)?.panel === "aius")
      return (this.bench.dispatch({ type: "advance" }), true);
    if (phase(this.bench.state) === "working" && this.bench.panel?.press(name)) return true;
    const command = commandOf(name);
    if (command) return this.command(command);
    if (this.#step(name)) return true;
    if (/^[0-9]$/.test(name))
      return (
        this.bench.say(
          phase(this.bench.state) === "working"
            ? t("{key} is not an answer here.", { key: name })
            : t("There is no item on the screen; the input was ignored."),
        ),
        true
      );
    return false;
  }

  /** Execute the command of a key in the transcript on the screen; false if there is none. */
  #step(name) {
    const transcript = this.bench.reading.transcript();
    const command = transcript && STEP_KEYS.find(([key]) => key === name)?.[1];
    if (command !== "answer") return Boolean(command) && transcript.command(command);
    const target = here(this.bench.state)?.targets.find((one) => one.steps);
    if (target && transcript.number) this.bench.dispatch({ type: "choose", target: target.id, value: transcript.number });
    return Boolean(target);
  }

  /** Execute the action of a key or a button; true if there is one. */
  command(name, inside) {
    const commands = {
      submit: () => this.bench.submit(),
      undo: () => this.bench.dispatch({ type: "undo" }),
      redo: () => this.bench.dispatch({ type: "redo" }),
      skip: () => this.bench.dispatch({ type: "skip" }),
      flag: () => this.bench.dispatch({ type: "flag" }),
      advance: () => this.bench.dispatch({ type: "advance" }),
      back: () => this.bench.dispatch({ type: "back" }),
      page: () => this.bench.reading.page(1),
      pageUp: () => this.bench.reading.page(-1),
      wider: () => this.bench.reading.widen(1),
      widerRight: () => this.bench.reading.widen(2),
      question: () => this.bench.reading.toggleQuestion(),
      differences: () => this.#differences(),
      disagreement: () => this.#disagreement(),
      why: () => this.bench.frame.showReason(this.bench.panel?.why),
      raw: () => this.bench.reading.toggleRaw(),
      note: () => hereId(this.bench.state) && this.bench.toggle("note"),
      guidelines: () => this.bench.toggle("guidelines"),
      keys: () => this.bench.toggle("keys"),
      close: () => this.#close(inside),
    };
    if (!commands[name]) return false;
    commands[name]();
    return true;
  }

  #differences() {
    const task = here(this.bench.state);
    if (!task) return;
    if (this.bench.reading.columns.childElementCount !== 2) return this.bench.say(t("There are no two texts to compare."));
    this.bench.say(
      this.bench.reading.toggleDifferences()
        ? t("Differences between the two texts are highlighted.")
        : t("Differences are no longer highlighted."),
    );
  }

  #disagreement() {
    if (this.bench.panel?.disagreement) return this.bench.panel.disagreement();
    if (!this.bench.reveal.next())
      this.bench.say(
        answerOf(this.bench.state, here(this.bench.state)?.targets[0]?.id).standing
          ? t("The judges do not disagree here.")
          : t("The judges are shown after your answer."),
      );
  }

  #close(inside) {
    if (inside && writes(inside)) return (inside.blur(), this.bench.focusReading());
    if (this.bench.sheet) return this.bench.toggle(this.bench.sheet);
    this.bench.reveal.open(null);
  }
}

/** Whether keys are text input here. */
export function writes(node) {
  if (!node?.tagName) return false;
  if (node.tagName === "INPUT") return !["range", "checkbox", "radio", "button"].includes(node.type);
  return ["TEXTAREA", "SELECT"].includes(node.tagName) || node.isContentEditable;
}

/** Whether the focused control handles the key itself. */
function acts(node, name) {
  const button = ["BUTTON", "A", "SUMMARY"].includes(node?.tagName);
  if (button) return name === "Enter" || name === "Space";
  return (
    node?.tagName === "INPUT" &&
    ((node.type === "checkbox" && name === "Space") ||
      (node.type === "range" && /^(Arrow(Left|Right)|Page|Home|End)/.test(name)))
  );
}

/** Close Streamlit's dialog about a lost connection, which takes the keys: the top line says it, and actions are stored. */
function closeConnectionError(node) {
  const dialog = node?.closest?.('[role="dialog"]');
  if (!/Connection error/.test(dialog?.textContent)) return node;
  dialog.querySelector('button[aria-label="Close"], button')?.click();
  return document.body;
}

/** Whether the event belongs to a dialog of the page around the workbench. */
const elsewhere = (node) => Boolean(node?.closest?.('[role="dialog"]'));
