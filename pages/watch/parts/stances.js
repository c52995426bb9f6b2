// The stance grid: one row per judge, one column per round. A click scrolls to the turn; D and the buttons go to the next
// disagreement; Play shows the turns of the page one by one. The rows of `data.stances` are arrays, because a long debate has ten thousand of them.
const RESPONSE_NAMES = { 1: "response 1", 2: "response 2", 0: "neither" };
// Only this many rounds are drawn at a time: drawing a long debate at once takes about a second.
const VISIBLE_ROUNDS = 12;
// A turn on another page arrives after a rerun of the page: look for it this often, and this many times.
const RETRY_MS = 100;
const RETRIES = 50;

// A replay shows a turn as long as its reply takes to read, within limits; the first speed is that of silent reading.
const MS_PER_WORD = 60_000 / 250;
const TURN_MS = [2_000, 20_000];
const SPEEDS = [1, 2, 4];

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function describe(stance, names) {
  const value = stance.value === null ? `no verdict: ${stance.problem}` : names[stance.value] ?? String(stance.value);
  const label = stance.label ? `${stance.label}: ` : stance.value === 0 ? "0, " : "";
  return label + value + (stance.change ? `, ${stance.change}` : "");
}

function drawCell(stance, data, goTo) {
  const cell = element("td");
  if (!stance) return cell;
  if (stance.pending) {
    cell.append(element("span", "pending", "…"));
    return cell;
  }
  const button = element("button", "stance", stance.value === null ? "–" : stance.label ?? String(stance.value));
  button.type = "button";
  button.dataset.seq = stance.seq;
  if (stance.value === null) button.classList.add("none");
  else {
    button.style.background = data.colours[stance.value] ?? "#8A8F98";
    button.style.color = data.inks[stance.value] ?? "#111418";
  }
  button.title = describe(stance, data.words ?? RESPONSE_NAMES);
  button.setAttribute("aria-label", `${data.judges[stance.judge]}, ${data.rounds[stance.round]}: ${button.title}`);
  button.onclick = () => goTo(stance.seq);
  cell.append(button);
  if (stance.change) cell.append(element("span", "changed", "*"));
  return cell;
}

function drawTable(data, cells, firstRound, goTo) {
  const rounds = data.rounds.slice(firstRound, firstRound + VISIBLE_ROUNDS);
  const table = element("table");
  const head = table.createTHead().insertRow();
  head.append(element("th", "", data.title ?? "Stances"));
  rounds.forEach((name) => head.append(element("th", "", name)));
  const body = table.createTBody();
  data.judges.forEach((judge, index) => {
    const row = body.insertRow();
    const name = element("th", "judge", judge);
    name.title = judge;
    row.append(name);
    rounds.forEach((_, offset) => row.append(drawCell(cells.get(`${index} ${firstRound + offset}`), data, goTo)));
  });
  return table;
}

// "judge round" -> the stance there, or {pending: true} while its reply is awaited.
function cellsByPlace(data) {
  const cells = new Map();
  for (const [seq, judge, round, value, change, problem, label] of data.stances)
    cells.set(`${judge} ${round}`, { seq, judge, round, value, change, problem, label });
  for (const [judge, round] of data.pending) cells.set(`${judge} ${round}`, { pending: true });
  return cells;
}

// Scroll to a turn and mark it; false if the turn is on another page.
function scrollToTurn(trace, seq) {
  const turn = document.querySelector(`.st-key-turn-${trace}-${seq}`);
  if (!turn) return false;
  document.querySelectorAll("[data-reached]").forEach((node) => node.removeAttribute("data-reached"));
  turn.dataset.reached = "yes";
  // The grid stays above the turns.
  const grid = document.querySelector(`.st-key-grid-${trace}`);
  turn.style.scrollMarginTop = `${(grid?.offsetHeight ?? 0) + 24}px`;
  turn.scrollIntoView({ behavior: "smooth", block: "start" });
  return true;
}

// Turns after the replayed one are hidden by a style sheet, because Streamlit may draw them again, and so is what
// follows from them, such as the outcome.
function hideTurns(root, trace, hidden, isOpen) {
  const sheet = (root.__sheet ??= document.head.appendChild(element("style")));
  const rules = hidden.map((seq) => `.st-key-turn-${trace}-${seq}{display:none}`);
  if (isOpen) rules.push(`[class*="st-key-outcome-${trace}-"] *{visibility:hidden!important}`);
  sheet.textContent = rules.join("");
}

// The reply of a turn; null for a verdict.
const replyOf = (trace, seq) => document.querySelector(`.st-key-card-turn-${trace}-${seq}`);

// Milliseconds for the turn at the first speed; a verdict has no reply.
function readingTime(trace, seq) {
  const words = replyOf(trace, seq)?.innerText.match(/\S+/g) ?? [];
  return Math.min(Math.max(TURN_MS[0], words.length * MS_PER_WORD), TURN_MS[1]);
}

// The turns and the verdict on the page, in their order.
function turnsOnPage(trace) {
  const prefix = `st-key-turn-${trace}-`;
  return [...document.querySelectorAll(`[class*="${prefix}"]`)].map((node) =>
    Number([...node.classList].find((name) => name.startsWith(prefix)).slice(prefix.length)),
  );
}

// Several runs of one item are drawn on one page. The key D then belongs to the grid that is being read: the last one
// above the middle of the window, among those with a disagreement.
const grids = (window.tiebreakGrids ??= new Set());
function isCurrent(root) {
  const byTop = [...grids]
    .filter((grid) => grid.isConnected)
    .map((grid) => [grid.getBoundingClientRect().top, grid])
    .sort(([a], [b]) => a - b);
  const above = byTop.filter(([top]) => top < window.innerHeight / 2);
  return (above.at(-1) ?? byTop[0])?.[1] === root;
}

// Keys with a modifier, and keys typed into a field, are not shortcuts.
const isTyping = (event) =>
  event.ctrlKey ||
  event.metaKey ||
  event.altKey ||
  event.composedPath().some((node) => ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName) || node.isContentEditable);

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  // Streamlit calls this function again for every update; selection and scroll position must be preserved.
  const state = (parentElement.__state ??= { selected: null, timer: null, firstRound: 0 });
  const cells = cellsByPlace(data);
  const roundOf = new Map(data.stances.map(([seq, , round]) => [seq, round]));
  const lastStart = Math.max(0, data.rounds.length - VISIBLE_ROUNDS);

  const markSelected = () =>
    root.querySelectorAll(".stance").forEach((node) => node.classList.toggle("here", Number(node.dataset.seq) === state.selected));

  const goTo = (seq) => {
    state.selected = seq;
    const round = roundOf.get(seq) ?? 0;
    if (round < state.firstRound || round >= state.firstRound + VISIBLE_ROUNDS) drawRounds(round - 1);
    markSelected();
    clearTimeout(state.timer);
    if (scrollToTurn(data.trace, seq)) return;
    setTriggerValue("goto", seq); // asks the server for the page with this turn
    const retry = (retries) => {
      if (state.selected === seq && !scrollToTurn(data.trace, seq) && retries > 0)
        state.timer = setTimeout(retry, RETRY_MS, retries - 1);
    };
    state.timer = setTimeout(retry, RETRY_MS, RETRIES);
  };

  // Whether a turn is after the replayed one; those of other pages are in the order of their numbers.
  const isLater = (seq) => {
    const { turns, shown } = state.replay ?? { turns: [] };
    return turns.includes(seq) ? turns.indexOf(seq) >= shown : seq > turns[0];
  };
  const hideLater = () => {
    const hidden = (state.replay?.turns ?? []).filter(isLater);
    hideTurns(root, data.trace, hidden, hidden.length > 0 || data.stances.some(([seq]) => isLater(seq)));
    root.querySelectorAll(".stance").forEach((node) => node.classList.toggle("later", isLater(Number(node.dataset.seq))));
  };
  const disputes = () => data.disputes.filter((seq) => !isLater(seq));

  const goToDisagreement = (step) => {
    const seqs = disputes();
    if (!seqs.length) return;
    const index = seqs.indexOf(state.selected);
    const start = step > 0 ? 0 : seqs.length - 1;
    goTo(seqs[index < 0 ? start : (index + step + seqs.length) % seqs.length]);
  };

  const toolButton = (label, title, onClick, enabled = true) => {
    const button = element("button", "step", label);
    button.type = "button";
    button.title = title;
    button.disabled = !enabled;
    button.onclick = onClick;
    return button;
  };

  // If not all rounds fit, scroll to the one that is replayed.
  const showColumn = () => {
    const cell = root.querySelector(".stance.here")?.getBoundingClientRect();
    if (!cell) return;
    const box = scroller.getBoundingClientRect();
    scroller.scrollBy(cell.right - box.right + box.width / 4, cell.top - box.top - box.height / 2);
  };

  // The replay: `shown` turns of `state.replay` are visible; null outside of a replay.
  const show = (shown) => {
    const turns = state.replay.turns;
    state.replay.shown = Math.min(Math.max(1, shown), turns.length);
    hideLater();
    if (state.clock) run();
    drawTools(); // before the scrolling, which depends on the height of the grid
    goTo(turns[state.replay.shown - 1]);
    showColumn();
  };
  const pause = () => {
    clearTimeout(state.clock);
    state.clock = null;
  };
  const run = () => {
    pause();
    const { shown, turns } = state.replay;
    if (shown === turns.length) return;
    const time = readingTime(data.trace, turns[shown - 1]) / (state.speed ?? 1);
    state.clock = setTimeout(() => show(shown + 1), time);
  };
  const play = () => {
    if (!state.replay || state.replay.shown === state.replay.turns.length) {
      state.replay = { turns: turnsOnPage(data.trace), shown: 0 };
      if (state.replay.turns.length < 2) return stop();
      show(1);
    }
    run();
    drawTools();
  };
  const stop = () => {
    pause();
    state.replay = null;
    hideLater();
    drawTools();
  };
  const toggle = () => {
    if (!state.clock) return play();
    pause();
    drawTools();
  };

  const scroller = element("div", "scroller");
  const tools = element("div", "tools");
  const drawRounds = (firstRound) => {
    state.firstRound = Math.min(Math.max(0, firstRound), lastStart);
    scroller.replaceChildren(drawTable(data, cells, state.firstRound, goTo));
    if (state.replay) hideLater();
    drawTools();
  };
  const drawTools = () => {
    tools.replaceChildren();
    // On a phone the grid stays above the turns only in a replay.
    document.querySelector(`.st-key-grid-${data.trace}`)?.toggleAttribute("data-replay", Boolean(state.replay));
    root.classList.toggle("replay", Boolean(state.replay));
    if (!data.pending.length && data.stances.length > 1) {
      tools.append(toolButton(state.clock ? "Pause" : "Play ▸", "replay turn by turn (Space; ← → for one turn)", toggle));
      if (state.replay) {
        const speed = toolButton(`${state.speed ?? 1}×`, "speed of the replay", () => {
          state.speed = SPEEDS[(SPEEDS.indexOf(state.speed ?? 1) + 1) % SPEEDS.length];
          if (state.clock) run();
          drawTools();
        });
        const { shown, turns } = state.replay;
        const count = turns.filter((seq) => replyOf(data.trace, seq)).length;
        const isLast = shown === turns.length && !replyOf(data.trace, turns.at(-1));
        const place = element("span", "note", isLast ? "verdict" : `turn ${shown} of ${count}`);
        tools.append(speed, toolButton("Show all", "end the replay", stop), place);
      }
    }
    const { length } = disputes();
    if (length) {
      tools.append(
        toolButton("‹", "previous disagreement", () => goToDisagreement(-1)),
        toolButton("next disagreement › D", "next disagreement", () => goToDisagreement(1)),
        element("span", "note", `${length} in this ${data.noun ?? "debate"}`),
      );
    }
    if (lastStart > 0) {
      const page = (step) => () => {
        drawRounds(state.firstRound + step * VISIBLE_ROUNDS);
        markSelected();
      };
      tools.append(
        toolButton("« rounds", "earlier rounds", page(-1), state.firstRound > 0),
        toolButton("rounds »", "later rounds", page(1), state.firstRound < lastStart),
        element("span", "note", `${data.rounds.length} rounds`),
      );
    }
    if (data.stances.some(([seq, , , , change]) => change && !isLater(seq))) tools.append(element("span", "note", "* changed its opinion"));
  };
  drawRounds(state.firstRound);
  root.replaceChildren(scroller, tools);
  markSelected();

  // The listener of the previous call has the previous data.
  if (parentElement.__keys) document.removeEventListener("keydown", parentElement.__keys);
  parentElement.__keys = (event) => {
    if (isTyping(event) || !isCurrent(root)) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key.toLowerCase() === "d") goToDisagreement(event.shiftKey ? -1 : 1);
    else if (state.replay && event.key === " ") toggle();
    else if (state.replay && step) show(state.replay.shown + step);
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", parentElement.__keys);
  if (data.disputes.length) grids.add(root);
  else grids.delete(root);
  return () => {
    pause();
    root.__sheet?.remove();
    root.__sheet = null;
    document.removeEventListener("keydown", parentElement.__keys);
    grids.delete(root);
  };
}
