// A critique with its AIUs marked in place. Shared by the view of a trace and by the desk; both put it before their own.
const element = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const SIGNS = { true: "✓", false: "✗", null: "–" };
const sign = (value) => SIGNS[String(value ?? null)];
const state = (value) => (value === true ? "true" : value === false ? "false" : "open");

// `rows` are what is judged: {aiu, number, value}. A click on a mark calls pick(row).
function marked(segments, rows, here, pick) {
  const text = element("div", "text");
  const byAiu = new Map(rows.map((row) => [row.aiu, row]));
  const last = new Map();
  segments.forEach((segment, place) => segment.aius.forEach((aiu) => last.set(aiu, place)));
  segments.forEach((segment, place) => {
    const found = segment.aius.map((aiu) => byAiu.get(aiu)).filter(Boolean);
    if (!found.length) return text.append(segment.text);
    const row = found.find((one) => one.key === here) ?? found[found.length - 1];
    const mark = element("mark", `aiu ${row.differ ? "differ" : state(row.value)}${found.some((one) => one.key === here) ? " here" : ""}`, segment.text);
    if (found.length > 1) mark.classList.add("several");
    mark.title = found.map((one) => `${one.number} ${one.text}`).join("\n");
    mark.onclick = () => pick(row);
    text.append(mark);
    found.filter((one) => last.get(one.aiu) === place).forEach((one) => {
      const number = element("sup", `number ${state(one.value)}${one.key === here ? " here" : ""}`, `${one.number}${one.differ ? "≠" : one.value === null || one.value === undefined ? "" : sign(one.value)}`);
      number.onclick = () => pick(one);
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

function rationale(judge, names) {
  const box = element("div", "rationale");
  const said = judge.value === null ? `no judgement: ${judge.problem}` : names[String(judge.value)];
  box.append(element("div", "said", `${judge.name}: ${said}`));
  if (judge.evidence) box.append(element("div", "label", "Evidence"), element("div", "prose", judge.evidence));
  if (judge.reasoning) box.append(element("div", "label", judge.evidence ? "Reasoning" : "Reply"), element("div", "prose", judge.reasoning));
  return box;
}
