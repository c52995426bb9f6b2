// Everything that is done gets a number and waits in an outbox until the server has named that number: a burst of
// keys loses nothing, and nothing is done twice.
function begin(data) {
  return { unit: data.unit, here: null, picked: [], editor: null, sheet: false, started: Date.now(), waiting: null };
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const outbox = (parentElement.__outbox = (parentElement.__outbox ?? []).filter((one) => one.id > data.acked));
  if (parentElement.__kept?.unit !== data.unit) parentElement.__kept = begin(data);
  const kept = parentElement.__kept;
  const rows = data.rows.map((row) => {
    const mine = outbox.filter((one) => one.action === "answer" && one.key === row.key).at(-1);
    return mine ? { ...row, own: mine.value, value: mine.value } : row;
  });
  const row = () => rows.find((one) => one.key === kept.here) ?? null;
  const open = (from = 0) => [...rows.slice(from), ...rows.slice(0, from)].find((one) => one.own === null);
  if (!row()) kept.here = (open() ?? rows[0])?.key ?? null;

  const act = (action, more = {}) => {
    const last = outbox.at(-1)?.id ?? parentElement.__last ?? 0;
    parentElement.__last = Math.max(Date.now(), last + 1, data.acked + 1);
    outbox.push({ id: parentElement.__last, unit: data.unit, action, ...more });
    setTriggerValue("act", { actions: outbox });
  };
  const go = (key) => {
    kept.here = key;
    kept.started = Date.now();
    kept.waiting = null;
    draw();
    root.querySelector("mark.here")?.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const place = rows.findIndex((one) => one.key === kept.here) + by;
    if (rows[place]) go(rows[place].key);
  };
  const onward = () => {
    const next = open(rows.findIndex((one) => one.key === kept.here) + 1);
    if (next) go(next.key);
    else draw();
  };
  const choose = (value) => {
    const now = row();
    if (!now || kept.editor) return;
    const seconds = (Date.now() - kept.started) / 1000;
    now.own = now.value = value;
    act("answer", { key: now.key, value, seconds });
    if (data.waits && now.kind !== "likert" && !now.judges.length) {
      kept.waiting = now.key;
      draw();
    } else onward();
  };

  const edit = (what) => {
    const now = row();
    if (what === "merge") {
      const place = rows.indexOf(now);
      const chosen = kept.picked.length > 1 ? rows.filter((one) => kept.picked.includes(one.key)) : [now, rows[place + 1]];
      if (chosen.some((one) => !one || one.kind !== now.kind)) return;
      kept.editor = { what, aius: chosen.map((one) => one.aiu), old: chosen.map((one) => one.text), text: chosen.map((one) => one.text).join(" ") };
    } else if (what === "add") {
      const place = selected(root);
      const critique = place?.critique ?? data.texts.find((one) => one.kind === now?.kind)?.id ?? data.texts[0].id;
      kept.editor = { what, critique, place, text: place?.text ?? "" };
    } else kept.editor = { what, aiu: now?.aiu, text: what === "note" ? data.note : now.text };
    draw();
  };
  const close = () => {
    kept.editor = null;
    draw();
  };
  const keep = () => {
    const { what, text, aiu, aius, critique, place } = kept.editor;
    const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
    if (what !== "note" && !lines.length) return;
    if (what === "split" && lines.length < 2) return;
    kept.editor = null;
    kept.picked = [];
    act(what, { aiu, aius, critique, at: place?.at ?? null, lines, text: what === "note" ? text : lines.join(" ") });
    draw();
  };

  const commands = () => {
    const now = row();
    const aiu = Boolean(now?.aiu);
    return [
      { key: "p", label: "split", able: aiu, run: () => edit("split") },
      { key: "m", label: "merge", able: aiu, run: () => edit("merge") },
      { key: "a", label: "add", able: data.texts.length > 0, run: () => edit("add") },
      { key: "e", label: "edit", able: aiu, run: () => edit("edit") },
      { key: "x", label: "not atomic", able: aiu, on: now?.notAtomic, run: () => act("not_atomic", { aiu: now.aiu, on: !now.notAtomic }) },
      { key: "u", label: "undo", able: data.can.undo || rows.some((one) => one.own !== null), run: () => act("undo", { key: kept.here }) },
      { key: "f", label: now?.flagged ? "flagged" : "flag", able: Boolean(now), on: now?.flagged, run: () => act("flag", { key: now.key, on: !now.flagged }) },
      { key: "n", label: "note", able: true, on: Boolean(data.note), run: () => edit("note") },
      { key: "s", label: data.skipped ? "skipped" : "skip", able: true, on: data.skipped, run: () => act("skip", { on: !data.skipped }) },
      { key: "ArrowLeft", label: "previous", able: data.can.previous, run: () => act("previous") },
      { key: "ArrowRight", label: "next", able: data.can.next, run: () => act("next") },
    ];
  };
  const run = (key) => {
    const command = commands().find((one) => one.key === key);
    if (command?.able) command.run();
    return Boolean(command);
  };

  const question = (now) => {
    const box = element("div", "now");
    const claim = element("div", "claim");
    if (now.number) claim.append(element("span", "place", String(now.number)));
    claim.append(now.text);
    if (now.notAtomic) claim.append(element("span", "badge", "not atomic"));
    box.append(claim, element("div", "asked", now.question), options(now, choose));
    if (now.own !== null && now.judges.length) {
      now.judges.forEach((judge) => box.append(rationale(judge, NAMES[now.kind])));
      box.append(element("div", "hint", "Enter goes on; another digit changes your answer, and both are kept."));
    }
    return box;
  };

  const draw = () => {
    const now = row();
    const desk = element("div", "desk");
    const texts = element("div", "texts");
    data.texts.forEach((told) => {
      const card = element("div", `card${now && now.kind !== "likert" && now.kind !== told.kind ? " idle" : ""}`);
      const here = rows.filter((one) => one.kind === told.kind);
      const text = marked(told.segments, here, kept.here, (one) => go(one.key));
      text.dataset.critique = told.id;
      card.append(element("div", "heading", told.title), text);
      texts.append(card);
    });
    const panel = element("div", "panel");
    if (data.problem) panel.append(element("div", "problem", data.problem));
    const writing = kept.editor ? editor(kept, close, keep) : null;
    if (writing) panel.append(writing.box);
    else if (now) panel.append(question(now));
    const unread = data.texts.filter((told) => !rows.some((one) => one.kind === told.kind));
    if (unread.length) panel.append(element("div", "hint", `Nobody has extracted AIUs from the ${unread.map((one) => one.title.toLowerCase()).join(" and the ")} yet: add them with A${data.adopts ? ", or take those of a run" : ", or start a MetaCritique run"}.`));
    if (data.adopts) {
      const take = element("button", "option");
      take.append(element("kbd", "", "T"), element("span", "", "Take over the AIUs of the newest run"));
      take.type = "button";
      take.onclick = () => act("adopt");
      panel.append(take);
    }
    const submit = element("button", "submit");
    submit.type = "button";
    const left = rows.filter((one) => one.own === null && one.kind !== "likert").length;
    submit.append(element("span", "", left ? `Next critique (${left} not answered)` : "Next critique"), element("kbd", "", "Ctrl+Enter"));
    submit.onclick = () => act("done");
    const foot = element("div", "foot");
    const help = element("button", "link", "Keys H");
    help.type = "button";
    help.onclick = () => toggle();
    foot.append(element("span", "hint", "Answers are kept at once."), help);
    panel.append(tools(commands(), run), submit, foot, keys(kept));
    desk.append(texts, panel, list(rows, kept, go));
    const scrolled = root.querySelector(".list")?.scrollTop ?? 0;
    root.replaceChildren(desk);
    const box = root.querySelector(".list");
    box.scrollTop = scrolled;
    const line = box.querySelector(".item.here");
    if (line && (line.offsetTop < box.offsetTop + box.scrollTop || line.offsetTop + line.offsetHeight > box.offsetTop + box.scrollTop + box.clientHeight)) box.scrollTop = line.offsetTop - box.offsetTop - box.clientHeight / 2;
    if (writing) {
      writing.text.focus();
      writing.text.setSelectionRange(writing.text.value.length, writing.text.value.length);
    }
  };
  const toggle = () => {
    kept.sheet = !kept.sheet;
    draw();
  };

  const waited = rows.find((one) => one.key === kept.waiting);
  const answered = waited && !outbox.some((one) => one.key === kept.waiting);
  if (answered) {
    kept.waiting = null;
    if (waited.judges.some((judge) => judge.value !== waited.own)) draw();
    else onward();
  } else draw();
  if (outbox.length && !parentElement.__resent) {
    parentElement.__resent = setTimeout(() => {
      parentElement.__resent = null;
      const left = parentElement.__outbox;
      if (left.length) setTriggerValue("act", { actions: left });
    }, 400);
  }

  if (parentElement.__keys) document.removeEventListener("keydown", parentElement.__keys);
  parentElement.__keys = (event) => {
    const inside = event.composedPath()[0];
    const writing = ["INPUT", "TEXTAREA", "SELECT"].includes(inside?.tagName) || inside?.isContentEditable;
    if (writing || document.querySelector('[role="dialog"]')) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return act("done");
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const option = kept.editor ? null : row()?.options.find((one) => one.key === event.key);
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (option) choose(option.value);
    else if (key === "ArrowUp" || key === "ArrowDown") step(key === "ArrowUp" ? -1 : 1);
    else if (key === "Enter" && inside?.tagName !== "BUTTON") onward();
    else if (key === " " && row()?.aiu && inside?.tagName !== "BUTTON") {
      kept.picked = kept.picked.includes(kept.here) ? kept.picked.filter((one) => one !== kept.here) : [...kept.picked, kept.here];
      step(1);
    } else if (key === "h") toggle();
    else if (key === "t" && data.adopts && !kept.editor) act("adopt");
    else if (!run(key)) return;
    event.preventDefault();
  };
  document.addEventListener("keydown", parentElement.__keys);
  return () => {
    document.removeEventListener("keydown", parentElement.__keys);
    clearTimeout(parentElement.__resent);
  };
}
