// The tour of a new visitor: three pages, ticked when they were opened. This browser does not show it again once it was
// skipped or every page was opened.
const STORED = "tiebreak-tour";
const SKIPPED = "skipped";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".tour");
  const opened = new Set(JSON.parse(localStorage.getItem(STORED) ?? "[]"));
  const store = (name) => localStorage.setItem(STORED, JSON.stringify([...opened.add(name)]));
  const isOver = () => opened.has(SKIPPED) || data.steps.every(([name]) => opened.has(name));
  root.hidden = isOver();
  if (root.hidden) return;
  const list = document.createElement("ol");
  for (const [name, title, text, address] of data.steps) {
    const link = Object.assign(document.createElement("a"), { href: address, textContent: title });
    link.onclick = () => store(name);
    const item = document.createElement("li");
    item.append(link, ` ${text}${opened.has(name) ? " ✓" : ""}`);
    list.append(item);
  }
  const skip = Object.assign(document.createElement("button"), { type: "button", textContent: data.skip });
  skip.onclick = () => {
    store(SKIPPED);
    root.hidden = true;
  };
  root.replaceChildren(list, skip);
}
