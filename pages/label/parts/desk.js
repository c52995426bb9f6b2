// The answer: choices, a reason, and every key of the desk. What is entered is kept at once in the browser and, a
// moment later, in the database; a refresh or a dropped line loses nothing.
const PAUSE = 500; // milliseconds of quiet before a draft is sent

const element = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const shelf = (target) => `tiebreak-draft:${target}`;

function remembered(target, since) {
  try {
    const kept = JSON.parse(localStorage.getItem(shelf(target)));
    return kept && kept.at > since ? kept : null;
  } catch {
    return null;
  }
}

function begin(data) {
  const kept = remembered(data.target, data.since);
  return {
    target: data.target, version: data.version, started: Date.now(), timer: null, sheet: false,
    value: kept ? kept.value : data.value, reason: kept ? kept.reason : data.reason,
  };
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  let state = parentElement.__state;
  if (!state || state.target !== data.target || state.version !== data.version) {
    if (state) clearTimeout(state.timer);
    state = parentElement.__state = begin(data);
  }
  const entered = () => ({ target: data.target, value: state.value, reason: state.reason });
  const act = (action, more = {}) => {
    clearTimeout(state.timer);
    setTriggerValue("act", { action, ...entered(), seconds: (Date.now() - state.started) / 1000, at: Date.now(), ...more });
  };
  const keep = () => {
    localStorage.setItem(shelf(data.target), JSON.stringify({ ...entered(), at: Date.now() }));
    clearTimeout(state.timer);
    state.timer = setTimeout(() => act("draft"), PAUSE);
  };
  const choose = (value) => {
    state.value = value;
    options.querySelectorAll("button").forEach((b, i) => b.setAttribute("aria-checked", String(same(data.options[i].value, value))));
    submit.disabled = false;
    write();
    keep();
  };
  const send = () => {
    if (state.value === null || state.value === undefined) return;
    localStorage.removeItem(shelf(data.target));
    act(data.revealed && same(state.value, data.value) && state.reason === data.reason ? "keep" : "submit");
  };
  const write = () => {
    const unchanged = data.revealed && same(state.value, data.value) && state.reason === data.reason;
    submit.firstChild.textContent = data.revealed ? (unchanged ? `Keep ${own ? own.name : data.names[String(data.value)] ?? data.value}` : "Change") : "Submit";
    submit.lastChild.textContent = unchanged ? "Enter" : "Ctrl+Enter";
  };

  const options = element("div", "options");
  options.setAttribute("role", "radiogroup");
  options.setAttribute("aria-label", data.question);
  data.options.forEach((option) => {
    const button = element("button", "option");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", String(same(option.value, state.value)));
    const key = element("span", "key", option.key);
    key.style.background = option.colour;
    key.style.color = option.ink;
    button.append(key, element("span", "", option.label));
    button.onclick = () => choose(option.value);
    options.append(button);
  });

  // A page may bring a field of its own in place of options: its script stands before this one and defines ownField.
  const own = typeof ownField !== "function" ? null : ownField({
    data: data.own, element, value: state.value, state,
    change: (value) => {
      state.value = value;
      submit.disabled = value === null;
      write();
      keep();
    },
  });
  const number = data.numbers ? numberField() : null;
  if (number) options.append(number);
  function numberField() {
    const { low, high } = data.numbers;
    const field = element("input", "number");
    field.type = "text";
    field.inputMode = "decimal";
    const ends = low !== null && high !== null ? `${low} to ${high}` : low !== null ? `${low} or more` : high !== null ? `up to ${high}` : "a number";
    field.placeholder = ends;
    field.setAttribute("aria-label", `${data.question} ${ends}`);
    field.value = state.value ?? "";
    field.oninput = () => {
      const text = field.value.trim().replace(",", ".");
      const value = text === "" || Number.isNaN(Number(text)) ? null : Number(text);
      const fits = value !== null && (low === null || value >= low) && (high === null || value <= high);
      field.classList.toggle("wrong", text !== "" && !fits);
      state.value = fits ? value : null;
      submit.disabled = !fits;
      write();
      keep();
    };
    field.onkeydown = (event) => {
      if (event.key === "Escape") field.blur();
    };
    return field;
  }
  const type = (key) => {
    const before = state.typed || key === "Backspace" ? number.value : ""; // the first digit begins a new number
    state.typed = true;
    number.value = key === "Backspace" ? before.slice(0, -1) : before + key;
    number.oninput();
  };

  const reason = element("textarea");
  reason.rows = 3;
  reason.placeholder = "Why? (optional)";
  reason.setAttribute("aria-label", "Why");
  reason.value = state.reason;
  reason.oninput = () => {
    state.reason = reason.value;
    write();
    keep();
  };

  const submit = element("button", "submit");
  submit.type = "button";
  submit.append(element("span"), element("kbd"));
  submit.disabled = state.value === null || state.value === undefined;
  submit.onclick = send;

  const tools = element("div", "tools");
  const commands = [
    ["ArrowLeft", "‹", "previous", "previous", data.can.previous],
    ["ArrowRight", "›", "next", "next", data.can.next],
    ["s", "S", data.skipped ? "skipped" : "skip", "skip", !data.revealed],
    ["f", "F", data.flagged ? "flagged" : "flag", "flag", true],
    ["n", "N", "note", "note", true],
    ["u", "U", "undo", "undo", data.can.undo],
  ];
  commands.forEach(([key, sign, label, action, able]) => {
    const button = element("button", "tool");
    button.type = "button";
    button.disabled = !able;
    button.setAttribute("aria-label", label);
    if ((action === "flag" && data.flagged) || (action === "skip" && data.skipped)) button.classList.add("on");
    button.append(element("kbd", "", sign), element("span", "", label));
    button.onclick = () => (action === "note" ? openNote() : act(action));
    tools.append(button);
  });

  const note = element("div", "note");
  const noteText = element("textarea");
  noteText.rows = 2;
  noteText.placeholder = "A note to the study's owner; Ctrl+Enter keeps it, Esc leaves";
  noteText.setAttribute("aria-label", "Note");
  noteText.value = data.note;
  note.hidden = !state.noting;
  note.append(noteText);
  const openNote = () => {
    state.noting = true;
    note.hidden = false;
    noteText.focus();
  };
  const closeNote = () => {
    state.noting = false;
    note.hidden = true;
    noteText.blur();
  };
  noteText.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Escape") closeNote();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      closeNote();
      act("note", { note: noteText.value });
    }
  };

  const sheet = element("dl", "sheet");
  sheet.hidden = !state.sheet;
  [
    ...(own ? own.keys : [data.numbers ? ["0 – 9 . ←", "type the number"] : [data.options.map((o) => o.key).join(" "), "choose"]]),
    ["Ctrl+Enter", "submit, then go on"],
    ["Enter", "after the reveal: keep, and go on"],
    ["← →", "previous, next"],
    ["S  F  N", "skip, flag, note"],
    ["U", "undo: take a label back"],
    ["D", "next disagreement in the debate"],
    ["Esc", "leave a text field"],
    ["H", "show or hide the keys"],
  ].forEach(([keys, what]) => {
    const term = element("dt");
    term.append(element("kbd", "", keys));
    sheet.append(term, element("dd", "", what));
  });
  const toggle = () => {
    state.sheet = !state.sheet;
    sheet.hidden = !state.sheet;
  };
  const foot = element("div", "foot");
  const keys = element("button", "link", "Keys H");
  keys.type = "button";
  keys.onclick = toggle;
  foot.append(element("span", "saved", data.saved), keys);

  write();
  const typing = root.contains(parentElement.activeElement ?? document.activeElement) && (parentElement.activeElement?.tagName === "TEXTAREA");
  const counting = parentElement.activeElement?.classList?.contains("number");
  const caret = typing ? parentElement.activeElement.selectionStart : null;
  root.replaceChildren(element("div", "question", data.question), own ? own.node : options, reason, submit, tools, note, foot, sheet);
  if (typing) {
    const box = state.noting ? noteText : reason;
    box.focus();
    box.setSelectionRange(caret, caret);
  }
  if (counting && number) number.focus();

  if (parentElement.__keys) document.removeEventListener("keydown", parentElement.__keys);
  parentElement.__keys = (event) => {
    const inside = event.composedPath()[0];
    const writing = ["INPUT", "TEXTAREA", "SELECT"].includes(inside?.tagName) || inside?.isContentEditable;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      if (writing && inside !== reason && inside !== number) return;
      event.preventDefault();
      return send();
    }
    if (event.key === "Escape" && inside === reason) return reason.blur();
    if (writing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (document.querySelector('[role="dialog"]')) return;
    if (own?.press(event)) return event.preventDefault();
    const option = data.options.find((o) => o.key === event.key);
    const command = commands.find(([key]) => key === (event.key.length === 1 ? event.key.toLowerCase() : event.key));
    if (option) choose(option.value);
    else if (number && /^(?:[0-9.,-]|Backspace)$/.test(event.key)) type(event.key);
    else if (event.key === "Enter" && data.revealed && inside?.tagName !== "BUTTON") send();
    else if (event.key.toLowerCase() === "h") toggle();
    else if (command && command[4]) command[3] === "note" ? openNote() : act(command[3]);
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", parentElement.__keys);
  return () => {
    document.removeEventListener("keydown", parentElement.__keys);
    clearTimeout(state.timer);
  };
}
