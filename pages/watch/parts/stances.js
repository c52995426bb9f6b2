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
  const changed = stance.before !== null;
  const button = element("button", "stance", stance.value === null ? "–" : stance.label ?? String(stance.value));
  button.type = "button";
  button.dataset.seq = stance.seq;
  if (stance.value === null) button.classList.add("none");
  else {
    button.style.background = data.colours[stance.value] ?? "#8A8F98";
    button.style.color = data.inks[stance.value] ?? "#111418";
  }
  const words = data.words ?? WORDS;
  const said = stance.value === null ? `no verdict: ${stance.problem}` : words[stance.value] ?? String(stance.value);
  button.title = (stance.label ? `${stance.label}: ` : "") + (changed ? `${said}, after ${words[stance.before] ?? stance.before}` : said);
  button.setAttribute("aria-label", `${data.judges[stance.judge]}, ${data.rounds[stance.round]}: ${button.title}`);
  button.onclick = () => go(stance.seq);
  box.append(button);
  if (changed) box.append(element("span", "changed", "*"));
  return box;
}

// Only so many rounds are drawn at a time: a long debate would cost a second otherwise.
const WINDOW = 12;

function grid(data, at, from, go) {
  const rounds = data.rounds.slice(from, from + WINDOW);
  const table = element("table");
  const head = table.createTHead().insertRow();
  head.append(element("th", "", data.title ?? "Stances"));
  rounds.forEach((name) => head.append(element("th", "", name)));
  const body = table.createTBody();
  data.judges.forEach((judge, place) => {
    const row = body.insertRow();
    const name = element("th", "judge", judge);
    name.title = judge;
    row.append(name);
    rounds.forEach((_, offset) => row.append(cell(at.get(`${place} ${from + offset}`), data, go)));
  });
  return table;
}

function places(data) {
  const at = new Map();
  for (const [seq, judge, round, value, before, problem, label] of data.stances)
    at.set(`${judge} ${round}`, { seq, judge, round, value, before, problem, label });
  for (const [judge, round] of data.asked) at.set(`${judge} ${round}`, { asked: true });
  return at;
}

function reach(trace, seq) {
  const turn = document.querySelector(`.st-key-turn-${trace}-${seq}`);
  if (!turn) return false;
  document.querySelectorAll("[data-reached]").forEach((node) => node.removeAttribute("data-reached"));
  turn.dataset.reached = "yes";
  turn.scrollIntoView({ behavior: "smooth", block: "start" });
  return true;
}

// Where several runs judged the same item their debates stand on one page: D is about the one that
// is being read, of those that have a disagreement.
const grids = (window.tiebreakGrids ??= new Set());
function beingRead(root) {
  const there = [...grids].filter((one) => one.isConnected).map((one) => [one.getBoundingClientRect().top, one]);
  there.sort(([a], [b]) => a - b);
  const above = there.filter(([top]) => top < window.innerHeight / 2);
  return (above.at(-1) ?? there[0])?.[1] === root;
}

const busy = (event) =>
  event.ctrlKey || event.metaKey || event.altKey ||
  event.composedPath().some((node) => ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName) || node.isContentEditable);

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const state = (parentElement.__state ??= { current: null, waiting: null, from: 0 });
  const at = places(data);
  const roundOf = new Map(data.stances.map(([seq, , round]) => [seq, round]));
  const last = Math.max(0, data.rounds.length - WINDOW);
  const mark = () =>
    root.querySelectorAll(".stance").forEach((b) => b.classList.toggle("here", Number(b.dataset.seq) === state.current));
  const go = (seq) => {
    state.current = seq;
    const round = roundOf.get(seq) ?? 0;
    if (round < state.from || round >= state.from + WINDOW) show(round - 1);
    mark();
    clearTimeout(state.waiting);
    if (!reach(data.trace, seq)) {
      setTriggerValue("goto", seq); // it is on another page of the talk
      const again = (tries) => {
        if (state.current === seq && !reach(data.trace, seq) && tries > 0) state.waiting = setTimeout(again, 100, tries - 1);
      };
      state.waiting = setTimeout(again, 100, 50);
    }
  };
  const step = (way) => {
    const list = data.disputes;
    if (!list.length) return;
    const now = list.indexOf(state.current);
    const next = now < 0 ? (way > 0 ? 0 : list.length - 1) : (now + way + list.length) % list.length;
    go(list[next]);
  };
  const scroller = element("div", "scroller");
  const tools = element("div", "tools");
  const button = (label, title, act, able = true) => {
    const made = element("button", "step", label);
    made.type = "button";
    made.title = title;
    made.disabled = !able;
    made.onclick = act;
    return made;
  };
  const show = (from) => {
    state.from = Math.min(Math.max(0, from), last);
    scroller.replaceChildren(grid(data, at, state.from, go));
    tools.replaceChildren();
    if (data.disputes.length) {
      tools.append(
        button("‹", "previous disagreement", () => step(-1)),
        button("next disagreement › D", "next disagreement", () => step(1)),
        element("span", "note", `${data.disputes.length} in this ${data.talk ?? "debate"}`),
      );
    }
    if (last > 0) {
      tools.append(
        button("« rounds", "earlier rounds", () => (show(state.from - WINDOW), mark()), state.from > 0),
        button("rounds »", "later rounds", () => (show(state.from + WINDOW), mark()), state.from < last),
        element("span", "note", `${data.rounds.length} rounds`),
      );
    }
    if (data.stances.some((stance) => stance[4] !== null)) tools.append(element("span", "note", "* changed its mind"));
  };
  show(state.from);
  root.replaceChildren(scroller, tools);
  mark();

  if (parentElement.__keys) document.removeEventListener("keydown", parentElement.__keys);
  parentElement.__keys = (event) => {
    if (busy(event) || event.key.toLowerCase() !== "d" || !beingRead(root)) return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  document.addEventListener("keydown", parentElement.__keys);
  if (data.disputes.length) grids.add(root);
  else grids.delete(root);
  return () => {
    document.removeEventListener("keydown", parentElement.__keys);
    grids.delete(root);
  };
}
