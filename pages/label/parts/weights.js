// The field of the weights desk: sliders that always sum to 100, and ratings of the aspects. The desk's own script
// follows this one; it keeps drafts, sends, and handles every key that is not taken here.
const STEP = 5;
const TYPING = 900; // milliseconds in which digits belong to one number

// Whole percents in the proportions of `raw`, which sum to `total` exactly: the largest remainders round up.
function shared(raw, total) {
  const sum = raw.reduce((a, b) => a + b, 0);
  const exact = raw.map((one) => (sum > 0 ? (one / sum) * total : total / raw.length));
  const whole = exact.map(Math.floor);
  const order = exact.map((one, i) => [one - whole[i], i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (let left = total - whole.reduce((a, b) => a + b, 0), k = 0; left > 0; left--, k++) whole[order[k][1]] += 1;
  return whole;
}

// The weights with one of them at `percent`; the others make room, except those that are locked.
function moved(weights, locked, place, percent) {
  const held = weights.reduce((sum, one, i) => sum + (locked[i] && i !== place ? one : 0), 0);
  const free = weights.map((_, i) => i).filter((i) => i !== place && !locked[i]);
  const wanted = free.length ? Math.max(0, Math.min(100 - held, Math.round(percent))) : 100 - held;
  const rest = shared(free.map((i) => weights[i]), 100 - held - wanted);
  return weights.map((one, i) => (i === place ? wanted : free.includes(i) ? rest[free.indexOf(i)] : one));
}

function ownField({ data, element, value, state, change }) {
  const count = data.aspects.length;
  const entered = value && value.weights;
  const ui = (state.weights ??= { row: 0, locked: data.aspects.map(() => false), typed: "", typedAt: 0 });
  let weights = entered ? data.aspects.map((one) => value.weights[one.name] ?? 0) : shared(data.aspects.map(() => 1), 100);
  let touched = Boolean(entered);
  const ratings = { ...(value?.ratings ?? {}) };

  const tell = () => {
    const told = Object.fromEntries(data.aspects.map((one, i) => [one.name, weights[i]]));
    const rated = Object.fromEntries(data.qualities.filter((one) => ratings[one.name]).map((one) => [one.name, ratings[one.name]]));
    change(touched ? { weights: told, ratings: rated } : null);
  };
  const set = (place, percent) => {
    if (ui.locked[place]) return;
    weights = moved(weights, ui.locked, place, percent);
    touched = true;
    draw();
    tell();
  };
  const even = () => {
    const free = weights.map((_, i) => i).filter((i) => !ui.locked[i]);
    const held = weights.reduce((sum, one, i) => sum + (ui.locked[i] ? one : 0), 0);
    const parts = shared(free.map(() => 1), 100 - held);
    weights = weights.map((one, i) => (free.includes(i) ? parts[free.indexOf(i)] : one));
    touched = true;
    draw();
    tell();
  };
  const lock = (place) => {
    ui.locked[place] = !ui.locked[place];
    draw();
  };
  const rate = (place, rating) => {
    ratings[data.qualities[place].name] = rating;
    draw();
    if (touched) tell();
  };
  const go = (row) => {
    ui.row = (row + count + data.qualities.length) % (count + data.qualities.length);
    ui.typed = "";
    draw();
  };

  const node = element("div", "weights");
  const rows = data.aspects.map((one, place) => {
    const row = element("div", "weight");
    const head = element("div", "head");
    const number = element("span", "percent");
    const padlock = element("button", "lock");
    padlock.type = "button";
    padlock.onclick = () => lock(place);
    head.append(element("b", "", one.letter), element("span", "name", one.name), number, padlock);
    const track = element("div", "track");
    track.tabIndex = 0;
    track.setAttribute("role", "slider");
    track.setAttribute("aria-label", one.name);
    track.setAttribute("aria-valuemin", "0");
    track.setAttribute("aria-valuemax", "100");
    const fill = element("div", "fill");
    const knob = element("div", "knob");
    track.append(fill, ...data.judges.map((judge, i) => mark(judge, one, i)), knob);
    const drag = (event) => {
      const box = track.getBoundingClientRect();
      set(place, ((event.clientX - box.left) / box.width) * 100);
    };
    track.onpointerdown = (event) => {
      ui.row = place;
      track.setPointerCapture(event.pointerId);
      drag(event);
    };
    track.onpointermove = (event) => event.buttons && drag(event);
    track.onfocus = () => ui.row !== place && go(place);
    row.onclick = () => ui.row !== place && go(place);
    row.append(head, track);
    return { row, number, padlock, track, fill, knob };
  });
  function mark(judge, aspect, number) {
    const tick = element("div", "tick", String(number + 1));
    tick.style.left = `${judge.weights[aspect.name] ?? 0}%`;
    tick.title = `${judge.name}: ${Math.round(judge.weights[aspect.name] ?? 0)} %`;
    return tick;
  }

  const tools = element("div", "tools");
  const evenly = element("button", "tool");
  evenly.type = "button";
  evenly.append(element("kbd", "", "E"), element("span", "", "equal"));
  evenly.onclick = even;
  const sum = element("span", "sum");
  tools.append(evenly, sum);
  const key = element("div", "judges");
  data.judges.forEach((judge, i) => key.append(element("span", "tick", String(i + 1)), element("span", "", judge.name)));

  const rated = data.qualities.map((one, place) => {
    const row = element("div", "rating");
    row.title = one.help;
    const buttons = [1, 2, 3, 4, 5].map((rating) => {
      const button = element("button", "rate", String(rating));
      button.type = "button";
      button.setAttribute("role", "radio");
      button.setAttribute("aria-label", `${one.name} ${rating}`);
      button.onclick = () => {
        ui.row = count + place;
        rate(place, rating);
      };
      return button;
    });
    const group = element("div", "rates");
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", one.name);
    group.append(...buttons);
    row.append(element("span", "name", one.name), group);
    return { row, buttons };
  });
  node.append(...rows.map((one) => one.row), tools, ...(data.judges.length ? [key] : []));
  node.append(element("div", "about", "The aspects as a set, 1 to 5 (optional)"), ...rated.map((one) => one.row));

  function draw() {
    rows.forEach(({ row, number, padlock, track, fill, knob }, i) => {
      row.classList.toggle("here", ui.row === i);
      row.classList.toggle("unset", !touched);
      number.textContent = `${Number(weights[i].toFixed(1))} %`;
      fill.style.width = knob.style.left = `${weights[i]}%`;
      track.setAttribute("aria-valuenow", String(weights[i]));
      track.setAttribute("aria-disabled", String(ui.locked[i]));
      padlock.classList.toggle("on", ui.locked[i]);
      padlock.textContent = ui.locked[i] ? "locked" : "lock";
      padlock.setAttribute("aria-pressed", String(ui.locked[i]));
    });
    rated.forEach(({ row, buttons }, i) => {
      row.classList.toggle("here", ui.row === count + i);
      const chosen = ratings[data.qualities[i].name];
      buttons.forEach((button, r) => button.setAttribute("aria-checked", String(chosen === r + 1)));
    });
    sum.textContent = touched ? `sum ${Math.round(weights.reduce((a, b) => a + b, 0))} %` : "not set yet";
  }
  draw();

  // Digits on an aspect spell its weight; on a quality they rate it, and the next one follows.
  const digit = (key) => {
    if (ui.row >= count) {
      if (!/[1-5]/.test(key)) return false;
      rate(ui.row - count, Number(key));
      if (ui.row < count + data.qualities.length - 1) go(ui.row + 1);
      return true;
    }
    const now = Date.now();
    ui.typed = now - ui.typedAt < TYPING && Number(ui.typed + key) <= 100 ? ui.typed + key : key;
    ui.typedAt = now;
    set(ui.row, Number(ui.typed));
    return true;
  };
  const press = (event) => {
    const small = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (small === "ArrowUp" || small === "ArrowDown") go(ui.row + (small === "ArrowUp" ? -1 : 1));
    else if (/^[0-9]$/.test(small)) return digit(small);
    else if (ui.row < count && ["+", "="].includes(small)) set(ui.row, weights[ui.row] + STEP);
    else if (ui.row < count && ["-", "_"].includes(small)) set(ui.row, weights[ui.row] - STEP);
    else if (ui.row < count && small === ".") set(ui.row, weights[ui.row] + 1);
    else if (ui.row < count && small === ",") set(ui.row, weights[ui.row] - 1);
    else if (ui.row < count && small === "l") lock(ui.row);
    else if (small === "e") even();
    else return false;
    return true;
  };
  const keys = [
    ["↑ ↓", "choose an aspect, or a rating"],
    ["+ −", "five percent more, less"],
    [". ,", "one percent more, less"],
    ["0 – 9", "type the weight; 1 to 5 rates"],
    ["L", "lock one: it keeps its weight"],
    ["E", "equal weights"],
  ];
  return { node, press, keys, name: "these weights" };
}
