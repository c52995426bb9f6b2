// The tour of a new visitor: three pages, ticked when they were opened. This browser does not show it again once it was
// skipped or every page was opened. On one of these pages there is the next one, if the tour has begun.
const STORED = "tiebreak-tour";
const SKIPPED = "skipped";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".tour");
  const opened = new Set(JSON.parse(localStorage.getItem(STORED) ?? "[]"));
  const store = (name) => localStorage.setItem(STORED, JSON.stringify([...opened.add(name)]));
  const isOver = () => opened.has(SKIPPED) || data.steps.every(([name]) => opened.has(name));
  const place = data.steps.findIndex(([name]) => name === data.page) + 1;
  root.hidden = isOver() || (place > 0 && !opened.size);
  root.classList.toggle("above", data.page === "disagreements");
  if (root.hidden) return;
  const list = Object.assign(document.createElement("ol"), { start: place + 1 });
  for (const [name, title, text, address] of place ? data.steps.slice(place, place + 1) : data.steps) {
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
