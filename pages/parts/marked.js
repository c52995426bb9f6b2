// A critique with its AIUs highlighted in the text, shared by the view of a trace and the label page. The file is loaded
// before the script of either, which uses element, sign, state, marked, chip and rationale.
const element = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const SIGNS = { true: "✓", false: "✗", null: "–" };
const sign = (value) => SIGNS[String(value ?? null)];
const state = (value) => (value === true ? "true" : value === false ? "false" : "open");

const numberText = (row) => {
  if (row.differ) return `${row.number}≠`;
  return row.value === null || row.value === undefined ? String(row.number) : `${row.number}${sign(row.value)}`;
};

// `segments`: [{text, aius}]; an AIU may span several segments. `rows`: [{key, aiu, number, text, value, differ}],
// what is judged. `selected` is the key of a row; a click on a highlight calls onPick(row).
function marked(segments, rows, selected, onPick) {
  const text = element("div", "text");
  const rowByAiu = new Map(rows.map((row) => [row.aiu, row]));
  const lastSegment = new Map();
  segments.forEach((segment, index) => segment.aius.forEach((aiu) => lastSegment.set(aiu, index)));
  segments.forEach((segment, index) => {
    const segmentRows = segment.aius.map((aiu) => rowByAiu.get(aiu)).filter(Boolean);
    if (!segmentRows.length) return text.append(segment.text);
    const selectedRow = segmentRows.find((row) => row.key === selected);
    const row = selectedRow ?? segmentRows.at(-1);
    const mark = element("mark", `aiu ${row.differ ? "differ" : state(row.value)}`, segment.text);
    if (selectedRow) mark.classList.add("here");
    if (segmentRows.length > 1) mark.classList.add("several");
    mark.title = segmentRows.map((one) => `${one.number} ${one.text}`).join("\n");
    mark.onclick = () => onPick(row);
    text.append(mark);
    // The number of an AIU is written once, after its last segment.
    segmentRows
      .filter((one) => lastSegment.get(one.aiu) === index)
      .forEach((one) => {
        const number = element("sup", `number ${state(one.value)}${one.key === selected ? " here" : ""}`, numberText(one));
        number.onclick = () => onPick(one);
        text.append(number);
      });
  });
  return text;
}

function chip(value, label) {
  const node = element("span", `chip ${state(value)}`, sign(value));
  node.title = label;
  node.setAttribute("aria-label", label);
  return node;
}

// `names`: "true" and "false" -> how the value of a judgement is written.
function rationale(judge, names) {
  const box = element("div", "rationale");
  const value = judge.value === null ? `no judgement: ${judge.problem}` : names[String(judge.value)];
  box.append(element("div", "judgement", `${judge.name}: ${value}`));
  if (judge.evidence) box.append(element("div", "label", "Evidence"), element("div", "prose", judge.evidence));
  if (judge.reasoning) box.append(element("div", "label", "Reasoning"), element("div", "prose", judge.reasoning));
  return box;
}
