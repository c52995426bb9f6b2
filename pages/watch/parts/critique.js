// One critique as its judges see it: the text with its AIUs, what is factual, and what it covers of the reference.
const NAMES = { aiu_precision: { true: "factual", false: "not factual" }, aiu_recall: { true: "covered", false: "not covered" } };

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const kept = (parentElement.__kept = parentElement.__kept?.name === data.name ? parentElement.__kept : { name: data.name, open: null });

  const pick = (row) => {
    kept.open = kept.open === row.key ? null : row.key;
    draw();
    if (kept.open) root.querySelector(`[data-key="${CSS.escape(kept.open)}"]`)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };

  const entry = (row, names) => {
    const box = element("div", "entry");
    box.dataset.key = row.key;
    const line = element("button", "line");
    line.type = "button";
    line.setAttribute("aria-expanded", String(kept.open === row.key));
    const chips = element("span", "chips");
    row.judges.forEach((judge) => {
      const said = judge.value === null ? (judge.asked ? "is being asked" : `no judgement: ${judge.problem}`) : names[String(judge.value)];
      const one = chip(judge.value, `${judge.name}: ${said}`);
      if (judge.asked) one.classList.add("asked");
      chips.append(one);
    });
    line.append(element("span", "place", String(row.number)), element("span", "words", row.text), chips, element("span", "why", kept.open === row.key ? "▾ why" : "▸ why"));
    line.onclick = () => pick(row);
    box.append(line);
    if (kept.open === row.key) {
      const more = element("div", "more");
      row.judges.forEach((judge) => {
        const why = rationale(judge, names);
        if (judge.seq !== null) {
          const prompt = element("button", "link", "Prompt");
          prompt.type = "button";
          prompt.onclick = () => setTriggerValue("prompt", { seq: judge.seq });
          why.append(prompt);
        }
        more.append(why);
      });
      box.append(more);
    }
    return box;
  };

  const part = (told) => {
    const names = NAMES[told.kind];
    const box = element("section", "part");
    const left = element("div", "card");
    left.append(element("div", "heading", told.title), told.segments.length ? marked(told.segments, told.rows, kept.open, pick) : element("div", "none", told.nothing));
    const right = element("div");
    const heading = element("div", "heading", told.question);
    heading.append(element("div", "sub", told.counts));
    const list = element("div", "list");
    told.rows.forEach((row) => list.append(entry(row, names)));
    right.append(heading, list);
    box.append(left, right);
    return box;
  };

  const draw = () => {
    const focused = parentElement.activeElement?.closest?.("[data-key]")?.dataset.key;
    root.replaceChildren(...data.parts.map(part));
    if (focused) root.querySelector(`[data-key="${CSS.escape(focused)}"] .line`)?.focus();
  };
  draw();
}
