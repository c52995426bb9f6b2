// The reading side: the question above, the texts side by side, and the marked passages.

import { attribute, button, h, kbd } from "./dom.js";
import { differences } from "./diff.js";
import { answerOf, entered, focused, here } from "./model.js";
import { Transcript, align } from "./transcript.js";
import { blockText, chip, isRaw, selectedSpan, source, toggleRaw, toPoints, toUnits } from "./text.js";
import { t } from "./texts.js";

const SIGNS = new Map([
  [true, "✓"],
  [false, "✗"],
]);

// The share of the window's height that a question may have before it is collapsed.
const LONGEST = 1 / 3;

export class Reading {
  constructor(bench) {
    this.bench = bench;
    this.above = h("div", { class: "above" });
    this.tabs = h("div", {
      class: "tabs",
      role: "tablist",
      "aria-label": t("Texts"),
      onkeydown: (event) => this.#arrows(event),
    });
    this.columns = h("div", { class: "columns" });
    this.node = h(
      "section",
      { class: "reading", tabindex: "0", "aria-label": t("Item"), onpointerup: () => this.#selected() },
      this.above,
      this.tabs,
      this.columns,
    );
    this.view = fresh();
    this.drawn = {};
    this.transcripts = new Map(); // address -> its view, which is kept while the item is
    this.follows = false; // whether to scroll the AIU on the screen into view, as its text may be outside the window
    new ResizeObserver(() => this.follows && this.reveal("mark.aiu.here")).observe(this.node);
    // The first item is drawn before fonts and the side panel are, so the text can become longer than its box later.
    this.resized = new ResizeObserver(() => this.#measure());
  }

  update(state) {
    const task = here(state);
    const columns = task ? [...task.columns, ...hiddenColumns(state, task)] : [];
    const claim = task?.panel === "aius" ? (focused(state)?.claim ?? null) : null;
    const moved = this.drawn.task === task?.id && claim && claim.aiu !== this.claim;
    this.claim = claim?.aiu;
    this.follows = moved || (this.follows && this.drawn.task === task?.id);
    if (moved && columns.some((block) => block.id === claim.block)) this.view.tab = claim.block;
    if (this.drawn.task !== task?.id) {
      this.view = { ...fresh(), wide: this.view.wide };
      this.node.scrollTop = 0;
      this.drawn = {};
      this.transcripts.clear();
    }
    const signature = JSON.stringify([task?.id, columns.map((one) => one.id), this.view, isRaw(), this.#markings(state, task)]);
    if (signature === this.drawn.signature && task === this.drawn.object) return;
    this.drawn = { task: task?.id, object: task, signature };
    this.#draw(state, task, columns);
    if (moved) this.reveal("mark.aiu.here");
  }

  #draw(state, task, columns) {
    this.elements = new Map();
    attribute(this.node, "data-columns", columns.length);
    attribute(this.node, "data-wide", this.view.wide);
    if (!task) return (this.above.replaceChildren(), this.tabs.replaceChildren(), this.columns.replaceChildren());
    const marks = this.#marks(state, task, columns);
    this.above.replaceChildren(
      ...task.above.map((block, place) => this.#aboveBlock(block, marks.get(block.id) ?? [], place)),
    );
    const loaded = this.transcripts.size;
    this.columns.replaceChildren(...columns.map((block) => this.#column(block, marks.get(block.id) ?? [])));
    const pair = columns.map((block) => this.transcripts.get(block.transcript));
    if (this.transcripts.size > loaded && pair.length === 2 && pair[0] && pair[1] && pair[0] !== pair[1]) align(...pair);
    this.#drawTabs(columns);
    this.resized.disconnect();
    for (const body of this.above.querySelectorAll(".blockabove.first .blockbody")) this.resized.observe(body);
    this.#measure();
  }

  #aboveBlock(block, marks, place) {
    const tail = block.fold === "end" && !this.view.open; // of a long dialogue, the last turns
    const open = this.view.open || !block.fold || tail;
    const body = blockText(block, marks);
    this.elements.set(block.id, body);
    body.classList.add("blockbody");
    const card = h(
      "div",
      { class: `blockabove${place === 0 ? " first" : ""}${this.view.open ? " open" : ""}`, "data-block": block.id },
      h("h3", {}, block.title),
      picture(block),
    );
    if (!open)
      return (card.append(button({ class: "more", onclick: () => this.toggleQuestion() }, `${t("Show")} `, kbd("Q"))), card);
    if (tail) {
      card.classList.remove("first");
      card.append(
        button({ class: "more", onclick: () => this.toggleQuestion() }, `${t("Show all")} `, kbd("Q")),
        h("div", { class: "tail" }, body),
      );
      return card;
    }
    card.append(this.#material(block, body));
    return card;
  }

  #column(block, marks) {
    const body = blockText(block, marks);
    this.elements.set(block.id, body);
    const shown = this.view.tab === null || this.view.tab === block.id;
    const title = block.number ? h("h3", {}, chip(block)) : h("h3", {}, block.title);
    return h(
      "article",
      {
        class: `column${block.number ? ` number-${block.number}` : ""}`,
        id: `column-${block.id}`,
        "data-block": block.id,
        "data-active": shown,
        "aria-label": block.title,
      },
      title,
      picture(block),
      this.#material(block, body),
    );
  }

  /** The text of a block; of a transcript its steps, and folded below them the text that judges read. */
  #material({ transcript, step }, body) {
    if (!transcript) return body;
    if (!this.transcripts.has(transcript)) {
      this.transcripts.set(transcript, new Transcript(transcript, { keys: false }));
      if (step) this.transcripts.get(transcript).select(step);
    }
    const judged = h("details", { class: "judged" }, h("summary", {}, t("As the judges read it")), body);
    return h("div", {}, this.transcripts.get(transcript).node, judged);
  }

  /** The transcript that has the focus, otherwise the first that is on the screen; null if there is none. */
  transcript() {
    const shown = [...this.transcripts.values()].filter(({ node }) => node.checkVisibility());
    return shown.find(({ node }) => node.contains(this.bench.focusedElement())) ?? shown[0] ?? null;
  }

  // On a narrow screen one column is shown at a time.
  #drawTabs(columns) {
    if (this.view.tab === null && columns.length) this.view.tab = columns[0].id;
    this.tabs.hidden = columns.length < 2;
    this.tabs.replaceChildren(
      ...columns.map((block) =>
        button(
          {
            class: `tab${block.number ? ` response-${block.number}` : ""}`,
            role: "tab",
            id: `tab-${block.id}`,
            "aria-selected": this.view.tab === block.id,
            "aria-controls": `column-${block.id}`,
            tabindex: this.view.tab === block.id ? "0" : "-1",
            onclick: () => this.show(block.id),
          },
          block.title,
        ),
      ),
    );
    for (const column of this.columns.children)
      attribute(column, "data-active", column.dataset.block === this.view.tab);
  }

  #arrows(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const tabs = [...this.tabs.children];
    const to = (tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true") + by + tabs.length) % tabs.length;
    this.show(tabs[to].id.slice("tab-".length));
    this.tabs.children[to].focus();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Collapse a long question. The limit is independent of the responses, so nothing moves when another is shown. */
  #measure() {
    for (const card of this.above.querySelectorAll(".blockabove.first")) {
      const body = card.querySelector(".blockbody");
      if (!body || card.querySelector(".more:not(.measured)")) continue;
      const long = body.scrollHeight > innerHeight * LONGEST;
      const folded = long && !this.view.open;
      card.classList.toggle("folded", folded);
      const shown = card.querySelector(".more.measured");
      if (!long) shown?.remove();
      else if (!shown)
        card.append(
          button(
            { class: "more measured", "aria-expanded": String(this.view.open), onclick: () => this.toggleQuestion() },
            `${folded ? t("Show all") : t("Show less")} `,
            kbd("Q"),
          ),
        );
    }
  }

  // ---- marks -----------------------------------------------------------------------------------------------------

  /** The inputs of the marks, to detect changes. */
  #markings(state, task) {
    if (!task) return null;
    const target = focused(state) ?? task.targets[0];
    const shown = target ? answerOf(state, target.id) : {};
    const values =
      task.panel === "aius" ? task.targets.map((one) => answerOf(state, one.id).standing?.value ?? null) : null;
    return [
      target?.id,
      target ? entered(state, target.id).evidence : [],
      Boolean(shown.standing && shown.reveal),
      this.bench.turnShown?.(),
      values,
    ];
  }

  #marks(state, task, columns) {
    const blocks = [...task.above, ...columns];
    const marks = new Map(blocks.map((block) => [block.id, []]));
    const add = (block, mark) => marks.get(block)?.push(mark);
    if (task.panel === "aius") this.#claimMarks(state, task, add);
    const target = focused(state) ?? task.targets[0];
    if (!target) return marks;
    for (const span of entered(state, target.id).evidence)
      add(span.block, { ...units(blocks, span), class: "own", title: t("your evidence") });
    for (const passage of this.bench.passages(state, target))
      add(passage.block, {
        ...units(blocks, passage),
        class: `passage${passage.current ? " current" : ""}`,
        title: passage.title,
      });
    if (this.view.differ && columns.length === 2) this.#differences(columns, add);
    return marks;
  }

  #differences([left, right], add) {
    const found = differences(source(left), source(right));
    found.a.forEach(([start, end]) => add(left.id, { start, end, class: "differs" }));
    found.b.forEach(([start, end]) => add(right.id, { start, end, class: "differs" }));
  }

  #claimMarks(state, task, add) {
    const blocks = task.columns;
    for (const target of task.targets) {
      const { claim } = target;
      if (!claim?.spans?.length) continue;
      const value = answerOf(state, target.id).standing?.value ?? null;
      const valueClass = value === true ? "true" : value === false ? "false" : "open";
      const now = state.focus[task.id] === target.id;
      claim.spans.forEach(([start, end], place) => {
        const after = () =>
          h("sup", { class: `claimnumber ${valueClass}${now ? " here" : ""}` }, `${claim.number}${SIGNS.get(value) ?? ""}`);
        add(claim.block, {
          ...units(blocks, { block: claim.block, start, end }),
          class: `aiu ${valueClass}${now ? " here" : ""}`,
          title: `${claim.number} ${claim.text}`,
          after: place === claim.spans.length - 1 ? after : null,
          onclick: () => this.bench.dispatch({ type: "goto", target: target.id }),
        });
      });
    }
  }

  // ---- keyboard and mouse -----------------------------------------------------------------------------------

  show(id) {
    this.view.tab = id;
    this.#redraw();
  }

  toggleQuestion() {
    this.view.open = !this.view.open;
    this.#redraw();
  }

  toggleRaw() {
    toggleRaw();
    this.bench.say(isRaw() ? t("Texts are shown as they were written.") : t("Texts are formatted."));
    this.#redraw();
  }

  toggleDifferences() {
    this.view.differ = !this.view.differ;
    this.#redraw();
    return this.view.differ;
  }

  /** Widen one of two columns; if tabs are shown, select it. */
  widen(number) {
    const tabs = [...this.tabs.children];
    if (tabs.length && this.tabs.offsetParent)
      return this.show(tabs[Math.min(number, tabs.length) - 1].id.slice("tab-".length));
    this.view.wide = this.view.wide === number ? 0 : number;
    this.#redraw();
  }

  page(by) {
    this.node.scrollBy({ top: by * (this.node.clientHeight - 48), behavior: "instant" });
  }

  /** Scroll a marked passage into view unless it is visible. */
  reveal(selector) {
    this.node.querySelector(selector)?.scrollIntoView({ block: "nearest" });
  }

  #redraw() {
    this.update(this.bench.state);
  }

  /** A selection becomes evidence of the label, if the study asks for evidence. */
  #selected() {
    const { state } = this.bench;
    const task = here(state);
    if (!task || !state.session.rules.evidence) return;
    const target = focused(state) ?? task.targets[0];
    const blocks = task.panel === "aius" ? task.above : [...task.above, ...task.columns];
    for (const block of blocks) {
      const element = this.elements.get(block.id);
      const span = element && selectedSpan(this.bench.shadowRoot, element);
      if (span && span.end - span.start > 1 && target) return this.#mark(target, block, trimmed(source(block), span));
    }
  }

  #mark(target, block, { start, end }) {
    if (start >= end) return; // only white space
    const words = source(block);
    const span = { block: block.id, start: toPoints(words, start), end: toPoints(words, end) };
    const others = entered(this.bench.state, target.id).evidence.filter(
      (one) => one.block !== span.block || one.end <= span.start || one.start >= span.end,
    );
    this.bench.dispatch({ type: "evidence", target: target.id, spans: [...others, span] });
    document.getSelection()?.removeAllRanges();
    this.bench.say(t("Marked as evidence."));
  }
}

const fresh = () => ({ tab: null, open: false, wide: 0, differ: false });

/** Texts that were hidden until the label. */
function hiddenColumns(state, task) {
  return task.targets.flatMap((target) => {
    const { standing, reveal } = answerOf(state, target.id);
    return standing ? (reveal?.columns ?? []) : [];
  });
}

function trimmed(words, { start, end }) {
  const part = words.slice(start, end);
  return { start: start + (part.length - part.trimStart().length), end: end - (part.length - part.trimEnd().length) };
}

function units(blocks, { block, start, end }) {
  const words = source(blocks.find((one) => one.id === block) ?? { text: "" });
  return { start: toUnits(words, start), end: toUnits(words, end) };
}

function picture({ image }) {
  return image
    ? h("img", { class: "picture", src: image.url, alt: image.alt || t("image of the item"), loading: "eager" })
    : null;
}
