// The stance grid: the map of a debate. A click goes to the turn; D and the buttons go to the next disagreement.
const WORDS = { 1: "response 1", 2: "response 2", 0: "neither" };

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function cell(stance, data, go) {
  const box = element("td");
  if (!stance) return box;
  if (stance.asked) {
    box.append(element("span", "asked", "…"));
    return box;
  }
  const button = element("button", "stance", stance.value === null ? "–" : String(stance.value));
  button.type = "button";
  button.dataset.seq = stance.seq;
  if (stance.value === null) button.classList.add("none");
  else {
    button.style.background = data.colours[stance.value] ?? "#8A8F98";
    button.style.color = data.inks[stance.value] ?? "#111418";
  }
  const said = stance.value === null ? `no verdict: ${stance.problem}` : WORDS[stance.value] ?? String(stance.value);
  button.title = stance.changed ? `${said}, after ${WORDS[stance.before] ?? stance.before}` : said;
  button.setAttribute("aria-label", `${stance.judge}, ${data.rounds[stance.round]}: ${button.title}`);
  button.onclick = () => go(stance.seq);
  box.append(button);
  if (stance.changed) box.append(element("span", "changed", "*"));
  return box;
}

function grid(data, go) {
  const table = element("table");
  const head = table.createTHead().insertRow();
  head.append(element("th", "", "Stances"));
  data.rounds.forEach((name) => head.append(element("th", "", name)));
  const at = new Map(data.stances.map((stance) => [`${stance.judge}\n${stance.round}`, stance]));
  const body = table.createTBody();
  data.judges.forEach((judge) => {
    const row = body.insertRow();
    const name = element("th", "judge", judge);
    name.title = judge;
    row.append(name);
    data.rounds.forEach((_, round) => row.append(cell(at.get(`${judge}\n${round}`), data, go)));
  });
  return table;
}

function reach(seq) {
  document.querySelectorAll(".reached").forEach((node) => node.classList.remove("reached"));
  const turn = document.querySelector(`.st-key-turn-${seq}`);
  if (!turn) return false;
  turn.classList.add("reached");
  turn.scrollIntoView({ behavior: "smooth", block: "start" });
  return true;
}

const busy = (event) =>
  event.ctrlKey || event.metaKey || event.altKey ||
  event.composedPath().some((node) => ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName) || node.isContentEditable);

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (parentElement.__state ??= { current: null, waiting: null });
  const go = (seq) => {
    state.current = seq;
    root.querySelectorAll(".stance").forEach((b) => b.classList.toggle("here", Number(b.dataset.seq) === seq));
    if (!reach(seq)) {
      state.waiting = seq;
      setTriggerValue("goto", seq);
    }
  };
  const step = (way) => {
    const list = data.disputes;
    if (!list.length) return;
    const now = list.indexOf(state.current);
    const next = now < 0 ? (way > 0 ? 0 : list.length - 1) : (now + way + list.length) % list.length;
    go(list[next]);
  };

  const tools = element("div", "tools");
  if (data.disputes.length) {
    const back = element("button", "step", "‹");
    back.title = "previous disagreement";
    const next = element("button", "step wide", `next disagreement › D`);
    back.onclick = () => step(-1);
    next.onclick = () => step(1);
    tools.append(back, next, element("span", "note", `${data.disputes.length} in this debate`));
  }
  if (data.stances.some((stance) => stance.changed)) tools.append(element("span", "note", "* changed its mind"));
  const scroller = element("div", "scroller");
  scroller.append(grid(data, go));
  root.replaceChildren(scroller, tools);
  if (state.current !== null) {
    root.querySelectorAll(".stance").forEach((b) => b.classList.toggle("here", Number(b.dataset.seq) === state.current));
  }
  if (state.waiting !== null) {
    const seq = state.waiting;
    state.waiting = null;
    setTimeout(() => reach(seq), 250);
  }

  if (parentElement.__keys) document.removeEventListener("keydown", parentElement.__keys);
  parentElement.__keys = (event) => {
    if (busy(event) || event.key.toLowerCase() !== "d") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  document.addEventListener("keydown", parentElement.__keys);
  return () => document.removeEventListener("keydown", parentElement.__keys);
}
