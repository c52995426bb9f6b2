// Markdown as inert elements, on the pages and in the workbench. HTML is shown as text, links as their text and address,
// images of other hosts are fetched by the server or shown as text, formulas are set by KaTeX as MathML and keep their
// source if it cannot. `leaf(start, end)` returns the nodes of a part of the source.

import { h } from "./dom.js";
import { t } from "./texts.js";

const FENCE = /^ {0,3}(```+|~~~+)\s*(\S*)/;
const HEADING = /^ {0,3}(#{1,6})\s+/;
const BULLET = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+/;
const QUOTE = /^ {0,3}> ?/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const DEEPEST = 12; // quotations and lists inside each other; the rest is a paragraph
const LONGEST = 20_000; // characters of a paragraph; a longer one is not formatted, which would take seconds
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** The elements of a Markdown text. `images` has the addresses on this server of the images that are shown. */
export function markdown(text, leaf, images = {}) {
  const lines = [];
  for (let at = 0; at <= text.length;) {
    const end = text.indexOf("\n", at) < 0 ? text.length : text.indexOf("\n", at);
    lines.push({ start: at, end, words: text.slice(at, end) });
    at = end + 1;
  }
  return blocks(lines, { text, leaf, images, depth: 0 });
}

function blocks(lines, outer) {
  const found = [];
  const context = { ...outer, depth: outer.depth + 1 };
  for (let at = 0; at < lines.length;) {
    const [node, next] = block(lines, at, context);
    if (node) found.push(node);
    at = next;
  }
  return found;
}

function block(lines, at, context) {
  const { words } = lines[at];
  if (!words.trim()) return [null, at + 1];
  if (FENCE.test(words)) return fence(lines, at, context);
  if (RULE.test(words)) return [h("hr"), at + 1];
  if (HEADING.test(words)) return heading(lines[at], at, context);
  if (context.depth < DEEPEST && QUOTE.test(words)) return quote(lines, at, context);
  if (context.depth < DEEPEST && BULLET.test(words)) return list(lines, at, context);
  if (words.includes("|") && lines[at + 1] && TABLE_RULE.test(lines[at + 1].words) && lines[at + 1].words.includes("-"))
    return table(lines, at, context);
  return paragraph(lines, at, context);
}

function fence(lines, at, { text, leaf }) {
  const [, mark, language] = FENCE.exec(lines[at].words);
  let end = at + 1;
  while (end < lines.length && !lines[end].words.trimStart().startsWith(mark)) end += 1;
  const inner = lines.slice(at + 1, end);
  const [from, to] = inner.length ? [inner[0].start, inner.at(-1).end] : [0, 0];
  const code = language && to - from < LONGEST ? highlighted(text.slice(from, to), from, leaf) : leaf(from, to);
  return [h("pre", { tabindex: "0" }, h("code", { dir: "ltr" }, code)), end + 1];
}

// Comments, strings, numbers and the keywords of common languages.
const TOKEN =
  /(?<comment>\/\/.*|#(?![0-9a-f]{3,8}\b).*|--\s.*|\/\*[^]*?\*\/)|(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`\n]*`)|(?<figure>\b\d[\w.]*)|(?<keyword>\b(?:and|async|await|break|case|catch|class|const|continue|def|del|do|elif|else|enum|except|export|false|False|finally|fn|for|from|func|function|if|impl|import|in|interface|is|lambda|let|match|new|nil|None|not|null|or|private|public|raise|return|select|self|static|struct|switch|this|throw|true|True|try|type|use|var|void|where|while|with|yield)\b)/g;

function highlighted(code, from, leaf) {
  const found = [];
  let at = 0;
  for (const match of code.matchAll(TOKEN)) {
    const [name] = Object.entries(match.groups).find(([, words]) => words !== undefined);
    const end = match.index + match[0].length;
    if (match.index > at) found.push(leaf(from + at, from + match.index));
    found.push(h("span", { class: `code-${name}` }, leaf(from + match.index, from + end)));
    at = end;
  }
  return at < code.length ? [...found, leaf(from + at, from + code.length)] : found;
}

function heading(line, at, context) {
  const [all, marks] = HEADING.exec(line.words);
  return [
    h("p", { class: `heading level-${marks.length}` }, inline(line.start + all.length, line.end, context)),
    at + 1,
  ];
}

function quote(lines, at, context) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end].words)) end += 1;
  const inner = lines.slice(at, end).map((line) => cut(line, QUOTE.exec(line.words)[0].length));
  return [h("blockquote", {}, blocks(inner, context)), end];
}

const cut = (line, width) => ({ start: line.start + width, end: line.end, words: line.words.slice(width) });

function list(lines, at, context) {
  const ordered = /^\s*\d/.test(lines[at].words);
  const depth = BULLET.exec(lines[at].words)[1].length;
  const items = [];
  let end = at;
  while (end < lines.length && belongs(lines, end, depth)) {
    const found = BULLET.exec(lines[end].words);
    if (found && found[1].length <= depth) items.push([cut(lines[end], found[0].length)]);
    else
      items
        .at(-1)
        .push(cut(lines[end], Math.min(lines[end].words.length - lines[end].words.trimStart().length, depth + 2)));
    end += 1;
  }
  const start = ordered ? Number.parseInt(lines[at].words, 10) : null;
  return [
    h(
      ordered ? "ol" : "ul",
      { start: start > 1 ? String(start) : null },
      items.map((inner) => h("li", {}, tight(inner, context))),
    ),
    end,
  ];
}

function belongs(lines, at, depth) {
  const { words } = lines[at];
  if (BULLET.test(words)) return BULLET.exec(words)[1].length >= depth;
  if (!words.trim())
    return (
      Boolean(lines[at + 1]) &&
      (BULLET.test(lines[at + 1].words) || /^\s{2,}\S/.test(lines[at + 1].words)) &&
      belongs(lines, at + 1, depth)
    );
  return /^\s{2,}\S/.test(words) || !(HEADING.test(words) || FENCE.test(words) || RULE.test(words));
}

function tight(lines, context) {
  const nodes = blocks(lines, context);
  return nodes.length === 1 && nodes[0].tagName === "P" ? [...nodes[0].childNodes] : nodes;
}

function table(lines, at, context) {
  let end = at + 2;
  while (end < lines.length && lines[end].words.includes("|") && lines[end].words.trim()) end += 1;
  const row = (line, tag) =>
    h(
      "tr",
      {},
      cells(line).map(([from, to]) => h(tag, {}, inline(from, to, context))),
    );
  const body = lines.slice(at + 2, end).map((line) => row(line, "td"));
  return [
    h(
      "div",
      { class: "table", tabindex: "0" },
      h("table", {}, h("thead", {}, row(lines[at], "th")), h("tbody", {}, body)),
    ),
    end,
  ];
}

function cells({ words, start }) {
  const found = [];
  let from = 0;
  for (let at = 0; at <= words.length; at += 1) {
    if (at < words.length && (words[at] !== "|" || words[at - 1] === "\\")) continue;
    found.push([from, at]);
    from = at + 1;
  }
  const outer = found.filter(([a, b], place) => words.slice(a, b).trim() || (place > 0 && place < found.length - 1));
  return outer
    .map(([a, b]) => {
      const inner = words.slice(a, b);
      return [
        start + a + (inner.length - inner.trimStart().length),
        start + b - (inner.length - inner.trimEnd().length),
      ];
    })
    .map(([a, b]) => [a, Math.max(a, b)]);
}

function paragraph(lines, at, context) {
  let end = at + 1;
  while (end < lines.length && lines[end].words.trim() && !startsBlock(lines[end].words)) end += 1;
  return [h("p", {}, inline(lines[at].start, lines[end - 1].end, context)), end];
}

const startsBlock = (words) =>
  FENCE.test(words) || HEADING.test(words) || QUOTE.test(words) || BULLET.test(words) || RULE.test(words);

// In order: verbatim text, then emphasis, links, and the few escapes that cannot be part of a formula.
const INLINE =
  /!\[(?<alt>[^\]\n]*)\]\(\s*(?<address>https:\/\/[^\s()<>]+|\w[\w./-]*\.(?:png|jpe?g|gif|webp)|data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+)(?:\s+"[^"\n]*")?\s*\)|(?<maths>\$\$[^$]+\$\$|\\\([^]+?\\\)|\\\[[^]+?\\\]|(?<![\w$\\])\$(?=[^\s\d])[^$\n]+?(?<=\S)\$(?![\w$])|(?<![\w$\\])\$\d[^$\n]*?[=^_\\][^$\n]*?(?<=\S)\$(?![\w$]))|(?<ticks>`+)(?<code>[^`]+?)\k<ticks>(?!`)|(?<strong>\*\*|__)(?=\S)(?<bold>[^]+?)(?<=\S)\k<strong>|(?<![\w*])(?<em>[*_])(?=[^\s*_])(?<light>[^*_\n]+?)(?<=\S)\k<em>(?![\w*])|\\(?<escaped>[*_`#>~|])/g;

function inline(start, end, context) {
  const { text, leaf } = context;
  if (end - start > LONGEST) return leaf(start, end);
  const words = text.slice(start, end);
  const found = [];
  let at = 0;
  for (const match of words.matchAll(INLINE)) {
    if (match.index > at) found.push(...leaf(start + at, start + match.index));
    found.push(...matched(match, start + match.index, context));
    at = match.index + match[0].length;
  }
  return at < words.length ? [...found, ...leaf(start + at, end)] : found;
}

function matched(match, start, context) {
  const { alt, address, maths, ticks, code, strong, bold, em, light } = match.groups;
  const end = start + match[0].length;
  if (address) {
    const src = address.startsWith("data:") ? address : context.images[address];
    if (!src || !(address.startsWith("data:") || Object.hasOwn(context.images, address))) return context.leaf(start, end);
    return [h("img", { class: "picture", src, alt: alt || t("image of the text"), loading: "eager" })];
  }
  if (maths) return [formula(maths, start, end, context)];
  if (code !== undefined) return [h("code", { dir: "ltr" }, context.leaf(start + ticks.length, end - ticks.length))];
  if (bold !== undefined) return [h("strong", {}, inline(start + strong.length, end - strong.length, context))];
  if (light !== undefined) return [h("em", {}, inline(start + em.length, end - em.length, context))];
  return context.leaf(start + 1, end);
}

let katex; // loaded with the first formula
const REFUSED = "#fe0001"; // KaTeX draws a command that it refuses alone, in this colour

/** A formula: its source until KaTeX has set it, and for good if it cannot set all of it or if a passage is marked. */
function formula(source, start, end, { leaf }) {
  const node = h("span", { class: "maths", dir: "ltr" }, leaf(start, end));
  const display = source.startsWith("$$") || source.startsWith("\\[");
  const width = display || source.startsWith("\\(") ? 2 : 1;
  if (typeof location === "undefined" || node.querySelector("mark")) return node;
  katex ??= import(new URL("katex.js", import.meta.url).href);
  katex
    .then(({ default: { render } }) => {
      const set = h("span", { class: "typeset", title: source, "data-at": start, "data-length": end - start });
      const limits = { trust: false, strict: "ignore", maxExpand: 200, maxSize: 20, errorColor: REFUSED };
      render(source.slice(width, -width), set, { output: "mathml", displayMode: display, ...limits });
      if (!set.querySelector(`[mathcolor="${REFUSED}"]`)) node.replaceChildren(set);
    })
    .catch(() => {}); // it is no formula
  return node;
}
