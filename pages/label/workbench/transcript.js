// The steps of a transcript: a list of them at the left, their contents at the right. The label workbench and the page of a
// trace use it. Only the rows near the window are in the page, so ten thousand steps open and scroll as ten do. Texts are
// untrusted: they are inserted as text nodes, and images only if the server has checked them.

import { attribute, button, h, text } from "./dom.js";
import { markdown } from "./markdown.js";
import { language, nt, t } from "./texts.js";

/** [key on the page of a trace, key in the workbench, command, description] */
const KEYS = [
  ["j", "Shift+j", "next", t("next step of the transcript")],
  ["k", "Shift+k", "previous", t("previous step of the transcript")],
  ["e", "e", "error", t("next error of the transcript")],
  ["t", "t", "call", t("next tool call of the transcript")],
  ["/", "/", "search", t("search in the transcript; Enter: next place")],
  ["r", "r", "raw", t("raw texts of the transcript, as they are stored")],
];
/** The key of two transcripts that are shown together. */
const PARTING = ["p", "Shift+p", "parting", t("first step in which the two transcripts differ")];
/** The key of the page of a trace whose judges name different steps; label pages have none, as they show no opinions. */
const DISAGREEMENT = ["d", "", "disagreement", t("next step that only some judges name")];
/** Keys of the workbench if the item has a transcript: [key, command, description]. */
export const STEP_KEYS = [
  ...[...KEYS, PARTING].map(([, key, command, words]) => [key, command, words]),
  ["a", "answer", t("enter the step on the screen as the answer, if a step is asked for")],
];

const CHUNK = 50; // rows that are drawn together
const MARGIN = 1500; // pixels above and below the window in which rows are drawn
const SPINE_ROW = 28; // pixels; transcript.css has the same
const SHORT = 4000; // characters of a text that are shown at first
const FORMATTED = 20_000; // characters of a text up to which it is formatted
const NAMES = {
  tool_call: t("call"),
  tool_result: t("result"),
  error: t("error"),
  reasoning: t("reasoning"),
  data: t("data"),
  image: t("image"),
};
const FOLDED = new Set(["tool_call", "tool_result", "reasoning", "data"]);

/** A scrolling list whose rows exist only near its window. `estimate(index)` is the height of a row in pixels. */
class Rows {
  constructor(name, count, estimate, draw, properties = {}) {
    this.draw = draw;
    this.node = h("div", { class: name, tabindex: "0", onscroll: () => this.#scrolled(), ...properties });
    this.chunks = [];
    for (let first = 0; first < count; first += CHUNK) {
      const last = Math.min(first + CHUNK, count);
      const node = h("div", { class: "chunk", role: "presentation" });
      let height = 0;
      for (let index = first; index < last; index += 1) height += estimate(index);
      node.style.blockSize = `${height}px`;
      this.chunks.push({ node, first, last });
    }
    this.node.append(...this.chunks.map((chunk) => chunk.node));
    this.top = 0;
    new ResizeObserver(() => this.#resized()).observe(this.node);
  }

  // An element that was taken out of the page and put back has lost its place.
  #resized() {
    if (!this.node.clientHeight) return;
    this.show();
    this.node.scrollTop = this.top;
    this.show();
    if (this.awaited && this.#isStyled()) this.bring(...this.awaited);
  }

  // Back in the page, its stylesheet is loaded again: until then the list is as high as its rows, and all would be near.
  #isStyled() {
    return getComputedStyle(this.node).overflowY === "auto";
  }

  #scrolled() {
    this.top = this.node.scrollTop;
    this.show();
  }

  /** Draw the rows near the window and remove the others; again if the drawn ones are lower than estimated. */
  show() {
    if (!this.#isStyled()) return;
    for (let tries = 0; tries < 4; tries += 1) {
      const { scrollTop, clientHeight } = this.node;
      const near = ({ node: { offsetTop: top, offsetHeight: height } }) =>
        top + height > scrollTop - MARGIN && top < scrollTop + clientHeight + MARGIN;
      const changes = this.chunks.map((chunk) => [chunk, near(chunk), chunk.node.offsetHeight]);
      const missing = changes.filter(([chunk, isNear]) => isNear && !chunk.node.firstChild);
      changes.forEach(([chunk, isNear, height]) => !isNear && this.#empty(chunk, height));
      missing.forEach(([chunk]) => this.#fill(chunk));
      if (!missing.length) return;
    }
  }

  #fill({ node, first, last }) {
    for (let index = first; index < last; index += 1) node.append(this.draw(index));
    node.style.blockSize = "";
  }

  #empty({ node }, height) {
    if (!node.firstChild) return;
    node.style.blockSize = `${height}px`;
    node.replaceChildren();
  }

  /** The element of a row, which is drawn if it is not; null if there is no such row. */
  row(index, isWanted = true) {
    const chunk = this.chunks[Math.floor(index / CHUNK)];
    if (isWanted && chunk && !chunk.node.firstChild) this.#fill(chunk);
    return chunk?.node.children[index % CHUNK] ?? null;
  }

  redraw(index) {
    this.row(index, false)?.replaceWith(this.draw(index));
  }

  redrawAll() {
    for (const chunk of this.chunks) if (chunk.node.firstChild) (chunk.node.replaceChildren(), this.#fill(chunk));
    this.show();
  }

  /** Scroll this list only: the page around it does not move. */
  bring(index, place) {
    this.awaited = this.#isStyled() ? null : [index, place];
    if (this.awaited) return;
    const row = this.row(index);
    if (!row) return;
    const box = row.getBoundingClientRect();
    const frame = this.node.getBoundingClientRect();
    const [above, below] = [box.top - frame.top, box.bottom - frame.bottom];
    if (place === "start") this.node.scrollTop += above;
    else if (above < 0 || below > 0) this.node.scrollTop += above < 0 ? above : below;
    this.#scrolled();
    // Rows that are drawn now may differ from their estimate.
    if (place === "start") this.node.scrollTop += row.getBoundingClientRect().top - frame.top;
  }
}

export class Transcript {
  /**
   * Loads and draws the transcript at an address of this server. `keys` are those of the page: it has no others.
   * `disputed` are the numbers of the steps that only some judges name.
   */
  constructor(address, { keys = true, disputed = [] } = {}) {
    this.disputed = new Set(disputed);
    this.keys = disputed.length ? [...KEYS, DISAGREEMENT] : KEYS;
    this.step = 0; // the index of the step on the screen
    this.parts = [];
    this.outcomes = new Map();
    this.open = new Set();
    this.whole = new Set();
    this.raw = false;
    this.style = h("link", { rel: "stylesheet", href: new URL("transcript.css", import.meta.url).href });
    this.status = h("p", { class: "visually-hidden", role: "status" });
    this.found = h("span", { class: "found" });
    this.parted = h("span", {});
    this.other = null; // the transcript beside this one
    this.common = 0; // the number of steps with which both begin
    this.search = h("input", {
      type: "search",
      placeholder: t("Search"),
      "aria-label": t("Search in the transcript"),
      oninput: () => this.#find(0),
      onkeydown: (event) => this.#searching(event),
    });
    const words = this.keys.map(([page, bench, , description]) => [keys ? page : bench, description]);
    const hint = h("span", { class: "keys", title: words.map((pair) => pair.join(": ")).join("\n") }, hintOf(words));
    this.bar = h("div", { class: "bar" }, this.search, this.found, this.parted, hint);
    this.body = h("div", { class: "steps" }, h("p", { class: "state" }, t("Loading…")));
    this.node = h("div", { class: "transcript", tabindex: "-1" }, this.style, this.bar, this.body, this.status);
    if (keys) this.node.addEventListener("keydown", (event) => this.#pressed(event));
    this.loaded = this.#load(address);
  }

  async #load(address) {
    try {
      const reply = await fetch(address);
      const loaded = await reply.json();
      if (!reply.ok) throw new Error(loaded.message);
      this.#draw(loaded.parts);
    } catch (error) {
      this.body.replaceChildren(h("p", { class: "state", role: "alert" }, t("Not loaded: {problem}", { problem: error.message })));
    }
  }

  #draw(parts) {
    this.parts = parts;
    for (const part of parts)
      if (part.call && part.kind !== "tool_call" && !this.outcomes.has(part.call)) this.outcomes.set(part.call, part);
    const draw = (index) => this.#spineRow(index);
    this.spine = new Rows("spine", parts.length, () => SPINE_ROW, draw, {
      role: "listbox",
      "aria-label": t("Steps"),
      onkeydown: (event) => this.#arrows(event),
    });
    this.content = new Rows("content", parts.length, (index) => heightOf(parts[index]), (index) => this.#section(index), {
      role: "region",
      "aria-label": t("Contents of the steps"),
    });
    this.body.replaceChildren(this.spine.node, this.content.node);
    this.#count();
    if (this.asked) this.select(this.asked);
  }

  /** Show the transcript beside another one: both at the first step in which they differ. */
  placeBeside(other, common) {
    this.other = other;
    this.common = common;
    const isEqual = common === this.parts.length && common === other.parts.length;
    if (isEqual) return text(this.parted, t("the same steps in both"));
    this.parted.replaceChildren(
      button({ class: "more", onclick: () => this.command("parting") }, t("they part at step {number}", { number: common + 1 })),
    );
    if (!this.asked) this.#show(common + 1);
  }

  // ---- rows -------------------------------------------------------------------------------------------------------

  #spineRow(index) {
    const part = this.parts[index];
    const failed = part.kind === "error";
    return h(
      "div",
      {
        class: `step${failed ? " failed" : ""}`,
        role: "option",
        "aria-selected": index === this.step,
        "aria-setsize": this.parts.length,
        "aria-posinset": index + 1,
        onclick: () => this.select(part.number),
      },
      h("span", { class: "place" }, String(part.number)),
      h("span", { class: "kind" }, kindOf(part)),
      h("span", { class: "words", dir: "auto" }, lineOf(part)),
      h("span", { class: "time" }, failed ? "✗ " : "", duration(part.seconds)),
    );
  }

  #section(index) {
    const part = this.parts[index];
    const heading = listed(t("Step {number}", part), kindOf(part), part.agent, part.name, duration(part.seconds), tokens(part));
    const failed = part.kind === "error";
    const section = h(
      "section",
      { class: `part${failed ? " failed" : ""}${index === this.step ? " here" : ""}`, "aria-label": heading },
      h("h4", {}, failed ? `✗ ${heading}` : heading),
    );
    section.append(FOLDED.has(part.kind) ? this.#folded(part) : this.#text(part));
    return section;
  }

  // The content exists only while it is open.
  #folded(part) {
    const inner = h("div", {});
    const fill = () => {
      const outcome = part.kind === "tool_call" ? this.outcomes.get(part.call) : null;
      inner.replaceChildren(this.#text(part), ...(outcome ? [h("h4", {}, `→ ${t("Step {number}", outcome)}`), this.#text(outcome)] : []));
    };
    const fold = h(
      "details",
      {
        open: this.open.has(part.number),
        ontoggle: () => {
          this.open[fold.open ? "add" : "delete"](part.number);
          if (fold.open && !inner.firstChild) fill();
        },
      },
      h("summary", { dir: "auto" }, this.#summary(part)),
      inner,
    );
    if (fold.open) fill();
    return fold;
  }

  #summary(part) {
    const outcome = part.kind === "tool_call" && this.outcomes.get(part.call);
    if (!outcome) return lineOf(part);
    const failed = outcome.kind === "error";
    const result = `${failed ? "✗" : "→"} ${clipped(outcome.content, 80)}`;
    return [lineOf(part), " ", h("span", { class: failed ? "failed" : null }, result)];
  }

  #text(part) {
    const { content = "" } = part;
    if (part.image && !this.raw) return h("img", { class: "picture", src: content, alt: t("image of step {number}", part) });
    if (!content.trim()) return h("p", { class: "empty" }, t("(empty)"));
    const shown = this.whole.has(part.number) ? content : content.slice(0, SHORT);
    const box = h("div", { class: "text" }, this.raw ? plain(shown) : rendered(part, shown, shown.length < content.length));
    if (shown.length < content.length) {
      const more = () => {
        this.whole.add(part.number);
        box.replaceWith(this.#text(part));
      };
      box.append(button({ class: "more", onclick: more }, t("Show all {n} characters", { n: content.length.toLocaleString(language) })));
    }
    return box;
  }

  // ---- steps ------------------------------------------------------------------------------------------------------

  /** The number of the step on the screen. */
  get number() {
    return this.parts[this.step]?.number ?? null;
  }

  /**
   * Show a step, opened; before the transcript has been loaded, as soon as it is. Up to the step in which they differ, the
   * transcript beside it shows the same one.
   */
  select(number) {
    this.#show(number);
    if (number <= this.common + 1) this.other?.#show(number);
  }

  #show(number) {
    this.asked = number;
    const part = this.parts[number - 1];
    if (!part) return;
    const before = this.step;
    this.step = number - 1;
    this.open.add(number);
    for (const index of [before, this.step]) {
      this.spine.redraw(index);
      this.content.redraw(index);
    }
    this.spine.bring(this.step, "nearest");
    this.content.bring(this.step, "start");
    this.#highlight();
    text(this.status, `${t("Step {number} of {total}", { number, total: this.parts.length })}, ${kindOf(part)}, ${lineOf(part)}`);
  }

  /** Execute a command of STEP_KEYS; false if it is none. */
  command(name) {
    const commands = {
      next: () => this.select(Math.min(this.step + 2, this.parts.length)),
      previous: () => this.select(Math.max(this.step, 1)),
      error: () => this.#nextOf((part) => part.kind === "error", t("The transcript has no errors.")),
      call: () => this.#nextOf((part) => part.kind === "tool_call", t("The transcript has no tool calls.")),
      disagreement: () => this.#nextOf((part) => this.disputed.has(part.number), t("The transcript has no steps that only some judges name.")),
      parting: () => this.other && this.select(Math.min(this.common + 1, this.parts.length)),
      search: () => this.search.focus(),
      raw: () => this.#toggleRaw(),
    };
    if (!commands[name]) return false;
    if (this.parts.length) commands[name]();
    return true;
  }

  // After the last one, the first one.
  #nextOf(matches, none) {
    const { parts } = this;
    const ahead = [...parts.slice(this.step + 1), ...parts.slice(0, this.step + 1)].find(matches);
    if (ahead) this.select(ahead.number);
    else text(this.status, none);
  }

  #toggleRaw() {
    this.raw = !this.raw;
    attribute(this.node, "data-raw", this.raw);
    this.content.redrawAll();
    this.select(this.number);
    text(this.status, this.raw ? t("The texts are shown as they are stored.") : t("The texts are formatted."));
  }

  // ---- search -----------------------------------------------------------------------------------------------------

  #find(by) {
    const sought = this.search.value.toLowerCase();
    this.folded ??= this.parts.map((part) => [part.name, part.agent, part.content].join("\n").toLowerCase());
    this.hits = sought ? this.folded.flatMap((words, index) => (words.includes(sought) ? [index] : [])) : [];
    if (!this.hits.length) {
      this.#highlight();
      return this.#count();
    }
    const after = this.hits.filter((index) => (by < 0 ? index < this.step : index >= this.step + by));
    const hit = after.at(by < 0 ? -1 : 0) ?? this.hits.at(by < 0 ? -1 : 0);
    this.select(hit + 1);
    this.#count(this.hits.indexOf(hit) + 1);
  }

  #count(place) {
    const errors = this.parts.filter((part) => part.kind === "error").length;
    const all = listed(t("{n} steps", { n: this.parts.length }), errors && nt("{n} error", "{n} errors", errors));
    text(this.found, this.search.value ? (place ? t("{number} of {total}", { number: place, total: this.hits.length }) : t("not found")) : all);
  }

  /** Mark the places of the searched words in the step on the screen. */
  #highlight() {
    if (!globalThis.CSS?.highlights) return;
    const ranges = [];
    const sought = this.search.value.toLowerCase();
    const walker = document.createTreeWalker(this.content.row(this.step), NodeFilter.SHOW_TEXT);
    while (sought && walker.nextNode()) {
      const words = walker.currentNode.data.toLowerCase();
      for (let at = words.indexOf(sought); at >= 0; at = words.indexOf(sought, at + sought.length)) {
        const range = new Range();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, Math.min(at + sought.length, walker.currentNode.length));
        ranges.push(range);
      }
    }
    CSS.highlights.set("transcript", new Highlight(...ranges));
  }

  // ---- keys -------------------------------------------------------------------------------------------------------

  #searching(event) {
    const by = event.key === "Enter" ? (event.shiftKey ? -1 : 1) : 0;
    if (by) this.#find(by);
    else if (event.key === "Escape") this.spine.node.focus({ preventScroll: true });
    else return event.stopPropagation(); // no shortcut of the page
    event.preventDefault();
    event.stopPropagation();
  }

  #arrows(event) {
    const to = { ArrowDown: "next", ArrowUp: "previous" }[event.key];
    if (!to) return;
    this.command(to);
    event.preventDefault();
    event.stopPropagation();
  }

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = this.other ? [...this.keys, PARTING] : this.keys;
    const found = keys.find(([key]) => key === event.key.toLowerCase());
    if (!found) return;
    this.command(found[2]);
    event.preventDefault();
    event.stopPropagation(); // the page has a function of its own for R
  }
}

/** Place two transcripts beside each other, as soon as both have been loaded. */
export async function align(one, other) {
  await Promise.all([one.loaded, other.loaded]);
  const same = ["kind", "role", "name", "content"];
  let common = 0;
  const isSame = (a, b) => a && b && same.every((field) => a[field] === b[field]);
  while (isSame(one.parts[common], other.parts[common])) common += 1;
  one.placeBeside(other, common);
  other.placeBeside(one, common);
}

const CITED = /\[\d+(?:, ?\d+)*\]/;

/** Make the steps that a judge's words cite, `[12]` or `[3, 9]`, buttons that show them; mark those that do not exist. */
export function linkCitations(node, transcript) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (transcript?.parts.length && walker.nextNode()) if (CITED.test(walker.currentNode.data)) texts.push(walker.currentNode);
  for (const one of texts)
    one.replaceWith(
      ...one.data.split(/(\[\d+(?:, ?\d+)*\])/).flatMap((words) =>
        CITED.test(words) ? words.split(/(\d+)/).map((number) => citation(number, transcript)) : [words],
      ),
    );
  return node;
}

function citation(words, transcript) {
  if (!/^\d+$/.test(words)) return words;
  if (transcript.parts[Number(words) - 1])
    return button({ class: "citation", onclick: () => transcript.select(Number(words)) }, words);
  return h("span", { class: "citation missing" }, t("{step} (no such step)", { step: words }));
}

const hintOf = (words) =>
  words
    .map(([key, description]) => `${key.replace("Shift+", "⇧").toUpperCase()} ${short(description)}`)
    .join(" · ");
/** A description without the words after the first clause, and without the transcript, which is in view. */
const short = (words) => words.split(t(" of the transcript"))[0].split(";")[0].replace(t(" in the transcript"), "");
const listed = (...words) => words.filter(Boolean).join(" · ");
const kindOf = (part) => (part.kind === "text" ? part.role || t("text") : (NAMES[part.kind] ?? part.kind));
const tokens = (part) => (part.tokens ? t("{n} tokens", { n: part.tokens }) : "");
const clipped = (words = "", most = 160) => {
  const line = words.slice(0, 2 * most).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};

function lineOf(part) {
  if (part.kind === "tool_call") return `${part.name || "tool"}(${argumentsOf(part.content)})`;
  return clipped(part.kind === "image" ? part.content?.split(",")[0] : part.content);
}

/** `city=Rome, days=3`; what is no object as it is. */
function argumentsOf(content = "") {
  const value = content.length < FORMATTED ? parsed(content) : null;
  if (!value || Array.isArray(value)) return clipped(content);
  const written = Object.entries(value).map(([key, one]) => `${key}=${typeof one === "string" ? one : JSON.stringify(one)}`);
  return clipped(written.join(", "));
}

/** The object or list in a JSON text; null for anything else. */
function parsed(content) {
  if (!/^\s*[[{]/.test(content)) return null;
  try {
    return JSON.parse(content);
  } catch {
    return null;
  }
}

function duration(seconds) {
  if (!seconds) return "";
  if (seconds >= 60) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${Number(seconds.toPrecision(2))} s`;
}

const heightOf = (part) =>
  58 + (FOLDED.has(part.kind) ? 0 : 22 * Math.min(40, Math.ceil((part.content?.length ?? 0) / 90)));

const plain = (words) => h("pre", { dir: "auto" }, words);

/** JSON indented, a diff with its lines marked, a text of Markdown; anything long as it is. */
function rendered(part, words, isPart) {
  const value = isPart || words.length > FORMATTED ? null : parsed(words);
  if (value) return plain(JSON.stringify(value, null, 2));
  if (/^(?:diff --git|@@ -\d|--- \S)/m.test(words)) return diff(words);
  if (part.kind !== "text" || words.length > FORMATTED) return plain(words);
  return h("div", { class: "markdown", dir: "auto" }, markdown(words, (start, end) => [words.slice(start, end)]));
}

const diff = (words) =>
  h(
    "pre",
    {},
    words.split("\n").map((line) => h("span", { class: { "+": "added", "-": "removed" }[line[0]] ?? null }, `${line}\n`)),
  );
