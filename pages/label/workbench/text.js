// Texts as Markdown or as they are, with marked passages. Every piece has its position in the source, so a selection can be
// turned into positions. Positions in requests count Unicode code points; positions in the browser count UTF-16 code units.

import { h } from "./dom.js";
import { markdown } from "./markdown.js";
import { t } from "./texts.js";

/** UTF-16 position of a code point position. */
export function toUnits(text, points) {
  let units = 0;
  for (let left = points; left > 0 && units < text.length; left -= 1) units += text.codePointAt(units) > 0xffff ? 2 : 1;
  return units;
}

/** Code point position of a UTF-16 position. */
export function toPoints(text, units) {
  let points = 0;
  for (let at = 0; at < units && at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) points += 1;
  return points;
}

/** The source of a block: the text that positions refer to. */
export function source(block) {
  return block.text ?? "";
}

/**
 * The pieces of `text` from `start` to `end`. `marks` are {start, end, class, title, after, onclick}; if some overlap, the
 * classes add up and the shortest mark is clicked. A mark with `words` shows these, one with `href` is a link of the page.
 */
export function pieces(text, marks, start = 0, end = text.length) {
  const inside = marks.filter((mark) => mark.start < end && mark.end > start);
  const cuts = [...new Set([start, end, ...inside.flatMap((mark) => [mark.start, mark.end])])]
    .filter((cut) => cut >= start && cut <= end)
    .sort((a, b) => a - b);
  const found = [];
  for (let place = 0; place + 1 < cuts.length; place += 1) {
    const [from, to] = [cuts[place], cuts[place + 1]];
    const here = inside.filter((mark) => mark.start <= from && mark.end >= to);
    found.push(piece(text.slice(from, to), from, here));
    found.push(...inside.filter((mark) => mark.after && mark.end === to).map((mark) => mark.after()));
  }
  return found;
}

function piece(words, at, marks) {
  if (!marks.length) return h("span", { "data-at": at }, words);
  const top = marks.reduce((best, mark) => (mark.end - mark.start < best.end - best.start ? mark : best));
  const title =
    marks
      .map((mark) => mark.title)
      .filter(Boolean)
      .join("\n") || null;
  const clicks = marks.filter((mark) => mark.onclick);
  return h(
    top.href ? "a" : top.words ? "span" : "mark",
    {
      class: [...new Set(marks.map((mark) => mark.class))].join(" "),
      "data-at": at,
      title,
      href: top.href,
      onclick: clicks.length ? (top.onclick ?? clicks[0].onclick) : null,
    },
    top.words ?? words,
  );
}

const RAW = "tiebreak-raw";
const LONGEST = 200_000; // a longer text is not formatted

/** Whether this annotator reads texts as they were written; `toggleRaw` changes it. */
export const isRaw = () => globalThis.localStorage?.getItem(RAW) === "true";
export const toggleRaw = () => localStorage.setItem(RAW, String(!isRaw()));

/** A block as an element. */
export function blockText(block, marks = []) {
  const words = source(block);
  if (!words.trim()) return h("p", { class: "empty" }, block.number ? t("(empty response)") : t("(empty)"));
  if (block.format === "markdown" && words.length <= LONGEST && !isRaw())
    return h(
      "div",
      { class: "text markdown", dir: "auto" },
      markdown(words, (from, to) => pieces(words, marks, from, to), block.images),
    );
  return h("div", { class: "text plain", dir: "auto" }, pieces(words, marks));
}

/** The selection inside a block element, in UTF-16 positions of its source, or null. */
export function selectedSpan(root, element) {
  const range = selectedRange(root);
  if (!range || range.collapsed || !element.contains(range.startContainer) || !element.contains(range.endContainer))
    return null;
  const covered = [...element.querySelectorAll("[data-at]")].filter((one) => range.intersectsNode(one));
  if (!covered.length) return null;
  const edge = (node, offset, otherwise) => {
    const leaf = (node.nodeType === 3 ? node.parentElement : node)?.closest?.("[data-at]");
    return leaf && node.nodeType === 3 && !leaf.dataset.length ? Number(leaf.dataset.at) + offset : otherwise;
  };
  const [first, last] = [covered[0], covered.at(-1)];
  const start = edge(range.startContainer, range.startOffset, Number(first.dataset.at));
  const end = edge(range.endContainer, range.endOffset, Number(last.dataset.at) + Number(last.dataset.length ?? last.textContent.length));
  return start < end ? { start, end } : null;
}

/** The selection inside a shadow root; browsers differ in the API. */
function selectedRange(root) {
  const selection = root.getSelection ? root.getSelection() : document.getSelection();
  const composed = selection?.getComposedRanges?.({ shadowRoots: [root] })?.[0];
  if (composed && !composed.collapsed) {
    const range = document.createRange();
    range.setStart(composed.startContainer, composed.startOffset);
    range.setEnd(composed.endContainer, composed.endOffset);
    return range;
  }
  return selection?.rangeCount ? selection.getRangeAt(0) : null;
}

/** The marks of the places where a judge wrote "Submission 1": chips with the item's own response numbers. */
export function referenceMarks(words, references, columns) {
  return (references ?? []).flatMap((one) => {
    const column = columns.find(({ id }) => id === one.column);
    const [start, end] = [toUnits(words, one.start), toUnits(words, one.end)];
    const written = { words: column?.title, title: t("written as “{words}”", { words: words.slice(start, end) }) };
    return column ? [{ start, end, class: `chip response-${column.number}`, ...written }] : [];
  });
}

/** A judge's text with the item's own response numbers if it wrote "Submission 1". */
export const judgeText = (words, references, columns) => pieces(words, referenceMarks(words, references, columns));

/** The coloured chip of a response. */
export function chip(column) {
  return h("span", { class: `chip response-${column.number}` }, column.title);
}
