// The frame of the item: the top bar, notices, the right column, and the screens without an item.

import { attribute, button, h, kbd, text } from "./dom.js";
import { guidelinePage, guidelineSheet, keySheet, noteSheet } from "./sheets.js";
import { STEP_KEYS } from "./transcript.js";
import { focused, here, hereId, marksOf, phase, progress } from "./model.js";
import { nt, t } from "./texts.js";

const TOOLS = [
  ["undo", "U", t("undo")],
  ["skip", "S", t("skip")],
  ["flag", "F", t("flag")],
  ["note", "N", t("note")],
  ["why", "W", t("why")],
  ["redo", "⇧U", t("redo")],
  ["back", "K", t("previous")],
  ["advance", "J", t("next")],
];

/** The address of the first page; the modules of the workbench are in assets/workbench/ under it. */
const FIRST_PAGE = new URL("../../", import.meta.url).href;

export class Frame {
  constructor(bench) {
    this.bench = bench;
    this.study = h("a", { class: "study" });
    this.item = h("span", { class: "item", dir: "auto" });
    this.marks = h("span", { class: "itemmarks" });
    this.count = h("span", { class: "count" });
    this.saving = h("span", { class: "saving" });
    this.bar = h(
      "div",
      { class: "progress", role: "progressbar", "aria-label": t("Labelled"), "aria-valuemin": "0" },
      h("div"),
    );
    const open = (name, key, words) =>
      button(
        { class: "tool", "aria-keyshortcuts": key, onclick: () => bench.toggle(name) },
        h("span", { class: "long" }, words),
        " ",
        kbd(key),
      );
    this.openers = { guidelines: open("guidelines", "G", t("Guidelines")), keys: open("keys", "H", t("Keys")) };
    const line = h(
      "header",
      { class: "line" },
      this.study,
      this.item,
      this.marks,
      h("span", { class: "space" }),
      this.count,
      this.saving,
      this.openers.guidelines,
      this.openers.keys,
      this.bar,
    );
    this.notices = h("div", { class: "notices" });
    this.answer = h("div", { class: "answer" });
    this.lower = h(
      "div",
      { class: "lower", tabindex: "0", role: "group", "aria-label": t("Judges, guidelines, keys") },
      bench.reveal.node,
    );
    this.announcement = h("p", { class: "announcement", role: "status", "aria-live": "polite" });
    this.heard = h("p", { class: "visually-hidden heard", role: "status", "aria-live": "polite" });
    this.connection = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
    this.tools = Object.fromEntries(
      TOOLS.map(([name, key, words]) => [
        name,
        button(
          {
            class: "tool",
            "data-command": name,
            "aria-keyshortcuts": key.replace("⇧", "Shift+"),
            onclick: () => bench.keyboard.command(name),
          },
          kbd(key),
          " ",
          h("span", {}, words),
        ),
      ]),
    );
    this.side = h(
      "section",
      { class: "side", "aria-label": t("Your answer") },
      this.answer,
      this.lower,
      this.announcement,
      h("div", { class: "tools", role: "group", "aria-label": t("Item") }, Object.values(this.tools)),
    );
    this.center = h("div", { class: "center", tabindex: "-1" });
    this.body = h("div", { class: "body" }, bench.reading.node, this.side);
    this.node = h("div", { class: "workbench" }, line, this.notices, this.body, this.center, this.heard, this.connection);
  }

  /** Mount the panel of a task in the right column. */
  mount(panel) {
    this.panel = panel;
    this.side.removeAttribute("data-why");
    this.answer.replaceChildren(...(panel ? [panel.node] : []));
    this.drawnSheet = undefined;
  }

  update(state, task) {
    const screen = this.bench.screen ?? { working: null }[phase(state)] ?? { name: phase(state) };
    const shown = task ? null : screen;
    attribute(this.body, "hidden", shown ? "" : null);
    attribute(this.center, "hidden", shown ? null : "");
    if (shown) this.#screen(shown, state);
    else if (this.drawnScreen) {
      this.drawnScreen = null;
      this.center.replaceChildren(); // hidden buttons would be found by their names
    }
    attribute(this.node, "data-panel", task?.panel ?? null);
    this.#line(state, task);
    this.#notices(state);
    this.#sheet(state, task);
    this.#announce(state);
  }

  // ---- the top bar -------------------------------------------------------------------------------------------------

  #line(state, task) {
    const { session } = state;
    const marks = task ? marksOf(state, task.id) : {};
    const flagged = marks.flagged || marksOf(state, focused(state)?.id).flagged;
    text(this.study, session ? `‹ ${session.study.name}` : "");
    attribute(this.study, "href", session?.study.home ?? null);
    text(
      this.item,
      task ? listed(t("Item {number}", task), task.scenario, task.training && t("training")) : (session?.title ?? ""),
    );
    text(
      this.marks,
      listed(
        flagged && t("⚑ flagged"),
        marks.skipped && t("skipped"),
        marks.note && `✎ ${t("note")}`,
        marks.claim === "full" && t("already completed by others"),
      ),
    );
    this.#progress(state);
    const saving = this.#saving();
    text(this.saving, saving.words);
    attribute(this.saving, "data-state", saving.state);
    for (const [name, opener] of Object.entries(this.openers))
      attribute(opener, "aria-expanded", this.bench.sheet === name);
    attribute(this.tools.flag, "aria-pressed", Boolean(flagged));
    attribute(this.tools.skip, "aria-pressed", Boolean(marks.skipped));
    attribute(this.tools.undo, "aria-disabled", state.undo.length || state.more ? null : "true");
    attribute(this.tools.redo, "aria-disabled", state.redo.length ? null : "true");
  }

  #progress(state) {
    const { labelled, total, skipped, flagged, training } = progress(state);
    const words = listed(
      training?.required && t("training"),
      t("{done} of {total}", { done: labelled, total }),
      skipped && t("{n} skipped", { n: skipped }),
      flagged && t("{n} flagged", { n: flagged }),
    );
    text(this.count, state.session ? words : "");
    attribute(this.bar, "aria-valuemax", total);
    attribute(this.bar, "aria-valuenow", labelled);
    this.bar.firstChild.style.inlineSize = `${(100 * labelled) / Math.max(total, 1)}%`;
  }

  #saving() {
    const { outbox, trouble } = this.bench;
    if (!outbox) return { state: "idle", words: "" };
    const count = outbox.waiting;
    if (outbox.problem || trouble) return { state: "trouble", words: outbox.problem || trouble };
    if (outbox.stopped) return count ? { state: "trouble", words: t("{n} stored here", { n: count }) } : { state: "idle", words: "" };
    if (!outbox.stored && count) return { state: "trouble", words: t("{n} not saved; do not close this window", { n: count }) };
    if (outbox.failures > 1) return { state: "trouble", words: t("offline · {n} stored here", { n: count }) };
    return count ? { state: "saving", words: t("{n} saving", { n: count }) } : { state: "saved", words: t("saved") };
  }

  // ---- notices -----------------------------------------------------------------------------------------------------

  #notices(state) {
    if (this.drawnNotices === state.notices) return;
    this.drawnNotices = state.notices;
    this.notices.replaceChildren(
      ...state.notices.map((notice) =>
        h(
          "div",
          { class: "notice", role: "alert" },
          h(
            "span",
            {},
            state.tasks[notice.task] ? `${t("Item {number}", state.tasks[notice.task])}: ${notice.text}` : notice.text,
          ),
          state.tasks[notice.task] ? button({ class: "tool", onclick: () => this.#goTo(notice) }, t("Show item")) : null,
          button(
            {
              class: "tool",
              "aria-label": t("Dismiss"),
              onclick: () => this.bench.dispatch({ type: "dismiss", id: notice.id }),
            },
            "×",
          ),
        ),
      ),
    );
  }

  #goTo(notice) {
    this.bench.dispatch({ type: "visit", task: notice.task, target: notice.target });
    this.bench.dispatch({ type: "dismiss", id: notice.id });
  }

  // ---- the right column below the answer ---------------------------------------------------------------------------

  #sheet(state, task) {
    const { sheet } = this.bench;
    const key = JSON.stringify([sheet, task?.id, state.session?.guidelines?.version, this.bench.quick]);
    if (key === this.drawnSheet) return;
    this.drawnSheet = key;
    attribute(this.side, "data-sheet", sheet);
    const close = () => this.bench.toggle(sheet);
    this.opened = sheet ? this.#opened(sheet, state, close) : null;
    this.lower.replaceChildren(
      ...(this.opened ? [this.opened.node] : [this.bench.reveal.node, this.panel?.lower].filter(Boolean)),
    );
    this.lower.scrollTop = 0;
  }

  #opened(sheet, state, close) {
    if (sheet === "keys")
      return {
        node: keySheet(this.panel?.keys ?? [], this.bench.reading.transcript() ? STEP_KEYS : [], {
          quick: this.bench.quick,
          onQuick: (on) => this.bench.setQuick(on),
          close,
        }),
      };
    if (sheet === "guidelines")
      return { node: guidelineSheet(state.session?.guidelines, here(state)?.criterion, { close }) };
    const id = hereId(state);
    const save = (words) => {
      this.bench.dispatch({ type: "note", task: id, text: words });
      close();
    };
    return noteSheet(marksOf(state, id).note, { save, close });
  }

  /** On a phone the reason is collapsed until it is opened. */
  showReason(area) {
    if (!area) return;
    this.side.setAttribute("data-why", "");
    area.focus();
  }

  focusSheet() {
    queueMicrotask(() => this.opened?.focus?.());
  }

  // ---- screens without an item -------------------------------------------------------------------------------------

  #screen(screen, state) {
    const key = JSON.stringify([
      screen,
      this.bench.outbox?.waiting && screen.name === "stopped",
      progress(state),
      state.session?.guidelines?.version,
    ]);
    if (key === this.drawnScreen) return;
    this.drawnScreen = key;
    this.center.replaceChildren(...SCREENS[screen.name](this.bench, screen, state));
  }

  // ---- announcements for screen readers ----------------------------------------------------------------------

  #announce(state) {
    const { words, state: connection } = this.#saving();
    const message = connection === "trouble" ? words : this.troubled ? t("All changes are saved again.") : "";
    if (connection !== "saving") {
      text(this.connection, message);
      this.troubled = connection === "trouble";
    }
    if (this.heardCount !== state.heard.count) this.heard.replaceChildren(h("span", {}, state.heard.text));
    this.heardCount = state.heard.count;
    if (this.announced === state.announcement.count) {
      if (this.announcedAt !== hereId(state)) this.announcement.replaceChildren();
      this.announcedAt = hereId(state);
      return;
    }
    [this.announced, this.announcedAt] = [state.announcement.count, hereId(state)];
    // The same sentence twice is announced twice.
    this.announcement.replaceChildren(h("span", {}, state.announcement.text));
    clearTimeout(this.fading);
    this.fading = setTimeout(() => this.announcement.replaceChildren(), 6000);
  }
}

const listed = (...parts) => parts.filter(Boolean).join(" · ");

const message = (title, ...rest) => [h("div", { class: "message" }, h("h2", {}, title), ...rest)];

const STOPPED_TITLES = {
  signed_out: t("You are signed out"),
  other_annotator: t("Another annotator is signed in"),
  deleted: t("This study was deleted"),
  archived: t("This study is archived"),
  removed: t("You cannot label here any more"),
  forbidden: t("You cannot label here"),
};

const SENT = {
  signed_out: t("sent when you sign in again"),
  deleted: t("sent when the study is restored and you open it again"),
  archived: t("being sent"),
  removed: t("sent when you are a member again and open this study again"),
  forbidden: t("sent when you may label again and open this study again"),
};

const SCREENS = {
  loading: (_, { text: words }) => message(t("Loading…"), words ? h("p", {}, words) : null),
  waiting: () =>
    message(t("Waiting for items"), h("p", {}, t("The next items are being loaded. Your answers are saved."))),
  elsewhere: (bench) =>
    message(
      t("Open in another window"),
      h("p", {}, t("You are labelling in another window of this browser. It continues here when that window is closed.")),
      button({ class: "submit", onclick: () => bench.continueHere() }, h("span", {}, t("Continue here"))),
    ),
  taken: (bench) =>
    message(
      t("Continued in another window"),
      h("p", {}, t("This window has stopped. No input is lost: the other window sends unsaved actions.")),
      button({ class: "submit", onclick: () => bench.continueHere() }, h("span", {}, t("Continue here"))),
    ),
  stopped: (bench, { code, text: words }) =>
    message(
      STOPPED_TITLES[code] ?? t("This page cannot be shown"),
      h("p", {}, words),
      bench.outbox?.waiting
        ? h(
            "p",
            {},
            nt(
              "{n} unsent action is stored in this browser and {sent}.",
              "{n} unsent actions are stored in this browser and {sent}.",
              bench.outbox.waiting,
              { sent: SENT[code] ?? SENT.signed_out },
            ),
          )
        : code === "archived"
          ? h("p", {}, t("What you have entered is saved."))
          : null,
      code in SENT && code !== "signed_out" ? h("a", { class: "submit", href: FIRST_PAGE }, t("Other studies")) : null,
      code === "signed_out" ? h("a", { class: "submit", href: atItem(bench.taskId()) }, t("Sign in")) : null,
    ),
  finished: (_, __, state) => {
    const { labelled, total, skipped, training, nothing } = progress(state);
    if (training?.passed === false) return trainingFailed(training, state);
    const left = total - labelled - skipped;
    return message(
      total ? (left > 0 ? t("End of the queue") : t("Done")) : t("Nothing to label"),
      h("p", {}, total ? t("You have labelled {done} of {total}.", { done: labelled, total }) : NOTHING[nothing]()),
      left > 0 ? h("a", { class: "submit", href: location.href }, t("Go to the {n} unlabelled items", { n: left })) : null,
      skipped ? h("a", { class: "submit", href: withTab("skipped") }, t("Review the {n} skipped items", { n: skipped })) : null,
      h("p", {}, h("a", { href: state.session.study.home }, t("Back to the study"))),
    );
  },
  guidelines: (bench, _, state) => [guidelinePage(state.session.guidelines, () => bench.submit())],
};

const NOTHING = {
  empty: () => t("This queue is empty."),
  unassigned: () => t("Nothing in this queue is assigned to you."),
  complete: () => t("Others have given all labels that are wanted here."),
};

const trainingFailed = ({ right, total, needed }, state) =>
  message(
    t("You have not passed the training yet"),
    h("p", {}, t("{right} of {total} answers were correct; {needed} are required.", { right, total, needed })),
    h("p", {}, t("Read the guidelines again, then repeat the training.")),
    h("a", { class: "submit", href: location.href }, t("Repeat the training")),
    h("p", {}, h("a", { href: state.session.study.home }, t("Back to the study"))),
  );

/** The address of this page with an item. Without a session it leads to the sign-in, and from there to the item. */
function atItem(id) {
  const query = new URLSearchParams(location.search);
  if (id) {
    ["on", "part", "of"].forEach((name) => query.delete(name)); // they name the item that the page was opened with
    query.set("item", id);
  }
  return `${location.pathname}?${query}`;
}

function withTab(tab) {
  const query = new URLSearchParams(location.search);
  query.set("tab", tab);
  return `?${query}`;
}
