// The words in which two texts differ: Myers' O(ND) difference algorithm over words.

const TOKEN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}_]+|[^\s]/gu;
const MAX_EDITS = 1500; // edits; texts with more are marked as entirely different

/** The words of a text: [{word, start, end}]. */
export function words(text) {
  return [...text.matchAll(TOKEN)].map((found) => ({
    word: found[0],
    start: found.index,
    end: found.index + found[0].length,
  }));
}

/** The spans that only one of the texts has: {a: [[start, end]], b: [[start, end]]}. */
export function differences(a, b) {
  const [left, right] = [words(a), words(b)];
  const common = commonWords(
    left.map((one) => one.word),
    right.map((one) => one.word),
  );
  return {
    a: unmatchedSpans(left, new Set(common.map(([place]) => place))),
    b: unmatchedSpans(right, new Set(common.map(([, place]) => place))),
  };
}

function unmatchedSpans(tokens, matched) {
  const found = [];
  tokens.forEach(({ start, end }, place) => {
    if (matched.has(place)) return;
    const joins = place > 0 && !matched.has(place - 1) && found.length;
    if (joins) found.at(-1)[1] = end;
    else found.push([start, end]);
  });
  return found;
}

/** The pairs of positions of a longest common subsequence. */
function commonWords(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1];
  const head = Array.from({ length: start }, (_, place) => [place, place]);
  const tail = Array.from({ length: a.length - endA }, (_, place) => [endA + place, endB + place]);
  const middle = shortestEdit(a.slice(start, endA), b.slice(start, endB)).map(([x, y]) => [x + start, y + start]);
  return [...head, ...middle, ...tail];
}

// `trace[edits][line + edits + 1]` is how far `a` is matched on diagonal `line` before that number of edits.
function shortestEdit(a, b) {
  const trace = [];
  let reach = new Int32Array(3);
  for (let edits = 0; edits <= Math.min(a.length + b.length, MAX_EDITS); edits += 1) {
    trace.push(reach);
    const next = new Int32Array(2 * edits + 5);
    for (let line = -edits; line <= edits; line += 2) {
      const at = line + edits + 1;
      let x = goesDown(reach, line, edits) ? reach[at + 1] : reach[at - 1] + 1;
      while (x < a.length && x - line < b.length && a[x] === b[x - line]) x += 1;
      next[at + 1] = x;
      if (x >= a.length && x - line >= b.length) return backtrack(trace, a.length, b.length);
    }
    reach = next;
  }
  return [];
}

const goesDown = (reach, line, edits) =>
  line === -edits || (line !== edits && reach[line + edits] < reach[line + edits + 2]);

function backtrack(trace, x, y) {
  const pairs = [];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits];
    const line = x - y;
    const before = goesDown(reach, line, edits) ? line + 1 : line - 1;
    const fromX = edits === 0 ? 0 : reach[before + edits + 1];
    const fromY = edits === 0 ? 0 : fromX - before;
    while (x > fromX && y > fromY) {
      [x, y] = [x - 1, y - 1];
      pairs.push([x, y]);
    }
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}
