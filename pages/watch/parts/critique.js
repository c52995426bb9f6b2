// One critique as its judges see it: the text with its AIUs highlighted, and for each AIU the judgements with their
// rationales. `marked.js`, which defines element, marked, chip and rationale, is loaded before this file.
const VALUE_NAMES = {
  aiu_precision: { true: "factual", false: "not factual" },
  aiu_recall: { true: "covered", false: "not covered" },
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  // Streamlit calls this function again whenever the data change; the open row must survive that.
  if (parentElement.__view?.name !== data.name) parentElement.__view = { name: data.name, open: null };
  const view = parentElement.__view;

  const toggle = (row) => {
    view.open = view.open === row.key ? null : row.key;
    draw();
    if (view.open) rowNode(view.open)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };

  const rowNode = (key) => root.querySelector(`[data-key="${CSS.escape(key)}"]`);

  const judgeChip = (judge, names) => {
    const missing = judge.pending ? "waiting for the reply" : `no judgement: ${judge.problem}`;
    const node = chip(judge.value, `${judge.name}: ${judge.value === null ? missing : names[String(judge.value)]}`);
    if (judge.pending) node.classList.add("pending");
    return node;
  };

  const promptButton = (seq) => {
    const button = element("button", "link", "Reading and prompt");
    button.type = "button";
    button.onclick = () => setTriggerValue("prompt", { seq });
    return button;
  };

  const drawRow = (row, names) => {
    const box = element("div", "entry");
    box.dataset.key = row.key;
    const open = view.open === row.key;
    const line = element("button", "line");
    line.type = "button";
    line.setAttribute("aria-expanded", String(open));
    const chips = element("span", "chips");
    chips.append(...row.judges.map((judge) => judgeChip(judge, names)));
    line.append(
      element("span", "place", String(row.number)),
      element("span", "words", row.text),
      chips,
      element("span", "why", open ? "▾ why" : "▸ why"),
    );
    line.onclick = () => toggle(row);
    box.append(line);
    if (open) {
      const rationales = element("div", "more");
      row.judges.forEach((judge) => {
        const node = rationale(judge, names);
        if (judge.seq !== null) node.append(promptButton(judge.seq));
        rationales.append(node);
      });
      box.append(rationales);
    }
    return box;
  };

  const drawPart = (part) => {
    const names = VALUE_NAMES[part.kind];
    const section = element("section", "part");
    const left = element("div", "card");
    left.append(
      element("div", "heading", part.title),
      part.segments.length
        ? marked(part.segments, part.rows, view.open, toggle)
        : element("div", "none", part.placeholder),
    );
    const right = element("div");
    const heading = element("div", "heading", part.question);
    const list = element("div", "list");
    list.append(...part.rows.map((row) => drawRow(row, names)));
    right.append(heading, list);
    section.append(left, right);
    return section;
  };

  const draw = () => {
    // Replacing the nodes drops the keyboard focus, so it is set again on the same row.
    const focused = parentElement.activeElement?.closest?.("[data-key]")?.dataset.key;
    root.replaceChildren(...data.parts.map(drawPart));
    if (focused) rowNode(focused)?.querySelector(".line")?.focus();
  };
  draw();
}
