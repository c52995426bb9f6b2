// Untrusted Markdown can format and do nothing else, and every character that is no markup is shown.

import assert from "node:assert/strict";
import { test } from "node:test";

import { markdown } from "../../../../pages/label/workbench/markdown.js";

class Element {
  constructor(tag) {
    Object.assign(this, { tag, children: [], attributes: {}, className: "" });
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  append(...nodes) {
    this.children.push(...nodes);
  }
  get tagName() {
    return this.tag.toUpperCase();
  }
  get childNodes() {
    return this.children;
  }
  querySelector() {
    return null;
  }
}
globalThis.document = { createElement: (tag) => new Element(tag) };

const ALLOWED = "p ul ol li pre code strong em span div table thead tbody tr th td blockquote hr img".split(" ");
const BEACON = "https://beacon.example/x.png";
const OWN = "https://images.example.org/a.png";

/** The tags, the addresses of images and the words of a text. */
function drawn(text) {
  const found = { tags: new Set(), images: [], words: "" };
  const visit = (node) => {
    if (typeof node === "string") return (found.words += node);
    found.tags.add(node.tag);
    if (node.tag === "img") found.images.push(node.attributes.src);
    assert.ok(!Object.keys(node.attributes).some((name) => name.startsWith("on") || name === "href"));
    node.children.forEach(visit);
  };
  markdown(text, (start, end) => [text.slice(start, end)], { [OWN]: "/images/remote?url=1" }).forEach(visit);
  return found;
}

test("no text becomes HTML, a link or an image of another host", () => {
  let seed = 11;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  const pieces = ["![a](", BEACON, ")", "<img src=x onerror=alert(1)>", "`", "```", "$", "$$", "\n", "- ", "> ", "|", "|-|"];
  pieces.push("1. ", "*", "**", "# ", "[", "](", "javascript:alert(1)", "data:text/html,x", "<script>", "x", " ", "\\");
  for (let round = 0; round < 3_000; round += 1) {
    const text = Array.from({ length: random(25) }, () => pieces[random(pieces.length)]).join("");
    const { tags, images } = drawn(text);
    assert.ok([...tags].every((tag) => ALLOWED.includes(tag)), text);
    assert.deepEqual(images, [], text);
  }
});

test("images of this server and of the text itself are shown", () => {
  const { images } = drawn(`![a](${OWN}) ![b](${BEACON}) ![c](data:image/png;base64,iVBO=) ![d](data:image/svg+xml;base64,x)`);
  assert.deepEqual(images, ["/images/remote?url=1", "data:image/png;base64,iVBO="]);
});

test("code keeps its words, and its tokens are marked", () => {
  const { tags, words } = drawn('```python\ndef f(x):  # twice\n    return "a" * 2\n```');
  assert.equal(words, 'def f(x):  # twice\n    return "a" * 2');
  assert.ok(tags.has("span"));
});

test("amounts are no formulas", () => {
  assert.ok(!drawn("between $5 and $10, or $3").tags.has("span"));
  assert.ok(drawn("the root $x^2 = 4$ and $2^n$").tags.has("span"));
});

test("a hostile text takes no more than seconds", () => {
  for (const text of ["[", "*a ", "$a ", "`", "> ", "- ", "\\(", "__a ", "|a"].map((one) => one.repeat(60_000))) {
    const begun = performance.now();
    drawn(text);
    assert.ok(performance.now() - begun < 5_000, text.slice(0, 3));
  }
});
