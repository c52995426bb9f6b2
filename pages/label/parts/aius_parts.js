// The pieces of the desk for AIUs. Each is drawn from the row at hand and what the browser keeps.
const GROUPS = { aiu_precision: "Factual?", aiu_recall: "Covered?", likert: "Ratings" };
const NAMES = {
  aiu_precision: { true: "factual", false: "not factual" },
  aiu_recall: { true: "covered", false: "not covered" },
};
const EDITORS = {
  split: ["Split: one AIU a line, at least two", "split"],
  merge: ["Merge: the words of the one AIU that stays", "merge"],
  add: ["Add an AIU; what was selected in the text is its place", "add"],
  edit: ["Edit: labels of the old words stay with the old AIU", "edit"],
  note: ["A note to the study's owner", "note"],
};
const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

function options(row, choose) {
  const box = element("div", row.kind === "likert" ? "options seven" : "options");
  box.setAttribute("role", "radiogroup");
  box.setAttribute("aria-label", row.question);
  row.options.forEach((option) => {
    const button = element("button", "option");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", String(same(option.value, row.own)));
    const key = element("span", "key", option.key);
    key.style.background = option.colour;
    key.style.color = option.ink;
    button.append(key, element("span", "", option.label));
    button.onclick = () => choose(option.value);
    box.append(button);
  });
  return box;
}

function tools(commands, run) {
  const box = element("div", "tools");
  commands.forEach(({ key, label, on, able }) => {
    const button = element("button", on ? "tool on" : "tool");
    button.type = "button";
    button.disabled = !able;
    button.append(element("kbd", "", key.length === 1 ? key.toUpperCase() : { ArrowLeft: "←", ArrowRight: "→" }[key]), element("span", "", label));
    button.onclick = () => run(key);
    box.append(button);
  });
  return box;
}

function editor(kept, close, keep) {
  const [title] = EDITORS[kept.editor.what];
  const box = element("div", "now");
  const text = element("textarea");
  text.rows = kept.editor.what === "split" ? 4 : 3;
  text.value = kept.editor.text;
  text.setAttribute("aria-label", title);
  text.oninput = () => (kept.editor.text = text.value);
  text.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
  };
  box.append(element("div", "asked", title));
  (kept.editor.old ?? []).forEach((old) => box.append(element("div", "hint", old)));
  if (kept.editor.place) box.append(element("div", "hint", `Place: “${kept.editor.place.text}”`));
  const buttons = element("div", "tools");
  [["Ctrl+Enter", "keep", keep], ["Esc", "leave", close]].forEach(([key, label, act]) => {
    const button = element("button", "tool");
    button.type = "button";
    button.append(element("kbd", "", key), element("span", "", label));
    button.onclick = act;
    buttons.append(button);
  });
  box.append(text, buttons);
  return { box, text };
}

function list(rows, kept, go) {
  const box = element("div", "list");
  let group = "";
  rows.forEach((row) => {
    if (row.kind !== group) {
      group = row.kind;
      const here = rows.filter((one) => one.kind === group);
      box.append(element("div", "group", `${GROUPS[group]} ${here.filter((one) => one.own !== null).length} of ${here.length}`));
    }
    const line = element("button", `item${row.key === kept.here ? " here" : ""}${kept.picked.includes(row.key) ? " picked" : ""}`);
    line.type = "button";
    line.dataset.key = row.key;
    line.append(element("span", "place", row.number ? String(row.number) : ""), element("span", "words", row.text));
    if (row.notAtomic) line.append(element("span", "badge", "not atomic"));
    if (row.flagged) line.append(element("span", "badge", "⚑"));
    row.judges.forEach((judge) => {
      const one = chip(judge.value, `${judge.name}: ${judge.value === null ? judge.problem : NAMES[row.kind][String(judge.value)]}`);
      one.classList.add("judge");
      line.append(one);
    });
    if (row.kind === "likert") line.append(element("span", `chip ${row.own === null ? "open" : "rated"}`, row.own === null ? "–" : String(row.own)));
    else line.append(chip(row.own, row.own === null ? "not answered yet" : `you: ${NAMES[row.kind][String(row.own)]}`));
    line.onclick = () => go(row.key);
    box.append(line);
  });
  return box;
}

function keys(kept) {
  const sheet = element("dl", "sheet");
  sheet.hidden = !kept.sheet;
  [
    ["1 2", "yes, no; 1 to 7 for a rating"],
    ["Enter", "go on to what is not answered"],
    ["Ctrl+Enter", "next critique"],
    ["↑ ↓", "the AIU before, after"],
    ["← →", "previous, next critique"],
    ["P", "split"],
    ["M", "merge with the next, or what Space picked"],
    ["A", "add; select its place in the text first"],
    ["E", "edit"],
    ["X", "not atomic"],
    ["U", "undo: the last answer or edit"],
    ["S  F  N", "skip the critique, flag the AIU, note"],
    ["Esc", "leave a text field"],
    ["H", "show or hide the keys"],
  ].forEach(([key, what]) => {
    const term = element("dt");
    term.append(element("kbd", "", key));
    sheet.append(term, element("dd", "", what));
  });
  return sheet;
}

// What is selected in one of the texts: its place from letter to letter, as the server counts letters.
function selected(root) {
  const selection = root.getRootNode().getSelection?.() ?? document.getSelection();
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  const text = range.startContainer.parentElement?.closest(".text");
  if (!text || range.endContainer.parentElement?.closest(".text") !== text) return null;
  let letters = 0;
  const place = {};
  const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node.parentElement.closest("sup")) continue;
    if (node === range.startContainer) place.start = letters + [...node.data.slice(0, range.startOffset)].length;
    if (node === range.endContainer) place.end = letters + [...node.data.slice(0, range.endOffset)].length;
    letters += [...node.data].length;
  }
  if (place.start === undefined || place.end === undefined || place.start >= place.end) return null;
  return { critique: text.dataset.critique, at: [place.start, place.end], text: selection.toString().replace(/[0-9]+[✓✗≠–]?/g, "").slice(0, 80) };
}
