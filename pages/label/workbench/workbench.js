// <label-workbench>: item, answer, reveal, progress, guidelines and keys in one element. It turns events into states (state.js),
// sends the actions (outbox.js), and draws the state; the parts that draw receive this element as `bench`.

import { Api, backoff } from "./api.js";
import { attribute, h } from "./dom.js";
import { Frame } from "./frame.js";
import { Keyboard, writes } from "./keyboard.js";
import { holdLock } from "./lock.js";
import { Outbox, STOPS_SENDING, WINDOW, storageKey } from "./outbox.js";
import { PANELS } from "./panels/index.js";
import { Reading } from "./reading.js";
import { Reveal } from "./reveal.js";
import { answerOf, focused, here, hereId, initial, marksOf, phase, wanted } from "./model.js";
import { reduce } from "./state.js";
import { Stopwatch } from "./timing.js";
import { nt, t } from "./texts.js";

const QUEUE = ["study", "study_id", "kind", "criterion", "scenario", "run", "item", "tab"];
const ARRIVAL_GUARD = 250; // milliseconds in which keys are ignored after an item has appeared without a key press
const EARLY = t("The item has just appeared; the input was ignored.");
const PRESENCE = 60_000;
const RECHECK = 30_000;

const DOUBLE_TAP = 400; // milliseconds between the taps of a double tap
const SAME_PLACE = 24; // pixels between them

export class LabelWorkbench extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) this.shadowRoot.replaceChildren();
    else this.attachShadow({ mode: "open" });
    this.visit = (this.visit ?? 0) + 1;
    this.reopened = false;
    this.appeared = -Infinity;
    this.panel = this.panelOf = null;
    this.state = initial();
    this.stopwatch = new Stopwatch(performance.now());
    this.reading = new Reading(this);
    this.reveal = new Reveal(this);
    this.frame = new Frame(this);
    this.keyboard = new Keyboard(this);
    this.screen = { name: "loading" };
    this.sheet = null;
    const style = h("link", { rel: "stylesheet", href: new URL("workbench.css", import.meta.url).href });
    this.frame.node.hidden = true;
    style.addEventListener("load", () => {
      this.frame.node.hidden = false;
      this.#fit();
      this.reading.drawn = {};
      this.redraw();
    });
    this.shadowRoot.append(style, this.frame.node);
    this.#keepTabFromPage(true);
    this.#listen();
    this.#start();
  }

  /** Fill the window below the elements above. */
  #fit() {
    this.style.setProperty("--workbench-top", `${Math.max(0, this.getBoundingClientRect().top + window.scrollY)}px`);
  }

  /** The region around the item, which Streamlit lets Tab stop at, scrolls nothing here. */
  #keepTabFromPage(kept) {
    document.querySelector("[data-testid=stMain]")?.setAttribute("tabindex", kept ? "-1" : "0");
  }

  disconnectedCallback() {
    this.visit += 1;
    this.#keepTabFromPage(false);
    this.listening?.abort();
    this.lock?.release();
    this.outbox?.stop("closing");
    clearInterval(this.presence);
    clearInterval(this.rechecking);
    this.outbox = this.rechecking = null;
  }

  // ---- start -----------------------------------------------------------------------------------------------------

  async #start() {
    const asked = new URLSearchParams(this.getAttribute("query") ?? location.search);
    const query = new URLSearchParams([...asked].filter(([name]) => QUEUE.includes(name)));
    this.api = new Api({ base: this.getAttribute("api") ?? "/api/label", query });
    const visit = this.visit;
    const session = await this.#again(() => this.api.session());
    if (!session || visit !== this.visit) return; // the element was removed from the page in the meantime
    session.tab = query.get("tab") ?? "todo";
    this.session = session;
    this.lock = holdLock(storageKey(session.study.id, session.annotator.key), {
      onHeld: () => this.#open(),
      onElsewhere: () => this.show({ name: "elsewhere" }),
      onLost: () => {
        this.outbox?.stop("elsewhere");
        this.show({ name: "taken" });
      },
    });
  }

  /** Retry until there is a reply; null after a permanent error. */
  async #again(request) {
    for (let tries = 0; ; tries += 1) {
      try {
        return await request();
      } catch (error) {
        if (["unknown", "invalid", "archived", ...STOPS_SENDING].includes(error.code))
          return (this.show({ name: "stopped", code: error.code, text: error.message }), null);
        this.show({ name: "loading", text: t("The server does not respond. Retrying…") });
        await new Promise((resolve) => setTimeout(resolve, backoff(tries)));
      }
    }
  }

  /** This window has the lock: send the unsent actions of an earlier one, then begin. */
  async #open() {
    const { session } = this;
    this.quick = this.#setting("quick", session.rules.quick);
    this.outbox = new Outbox({
      key: storageKey(session.study.id, session.annotator.key, this.#window()),
      annotator: session.annotator.key,
      storage: localStorage,
      post: (body) => this.api.post("actions", body),
      changed: () => this.redraw(),
      onResult: (action, result, reply) => this.#answered(action, result, reply),
    });
    const left = this.outbox.waiting;
    if (left) {
      this.show({ name: "loading", text: nt("Sending {n} action from your last visit.", "Sending {n} actions from your last visit.", left) });
      this.state = { ...this.state, session: this.#withSettings(session) };
      await this.outbox.drained();
      if (this.outbox.stopped)
        return this.show({ name: "stopped", code: this.outbox.stopped, text: this.outbox.problem });
    }
    const current = left || this.reopened ? await this.#again(() => this.api.session()) : session;
    if (!current) return;
    this.reopened = true;
    this.state = { ...initial(this.outbox.next), notices: this.state.notices };
    this.dispatch({
      type: "opened",
      session: this.#withSettings({ ...current, tab: session.tab }),
      next: this.outbox.next,
    });
    this.show(null);
    clearInterval(this.presence);
    this.presence = setInterval(() => this.#present(), PRESENCE);
    this.rechecking ??= setInterval(
      () => phase(this.state) === "finished" && this.dispatch({ type: "recheck" }),
      RECHECK,
    );
  }

  // Without Web Locks two windows cannot share an outbox, so each has its own.
  #window() {
    if (navigator.locks) return "";
    const id = sessionStorage.getItem(WINDOW) ?? String(Math.random()).slice(2);
    sessionStorage.setItem(WINDOW, id);
    return id;
  }

  #withSettings(session) {
    return { ...session, rules: { ...session.rules, quick: this.quick } };
  }

  #setting(name, otherwise) {
    return { true: true, false: false }[localStorage.getItem(`tiebreak-workbench/${name}`)] ?? otherwise;
  }

  setQuick(quick) {
    localStorage.setItem("tiebreak-workbench/quick", String(quick));
    this.quick = quick;
    this.state = { ...this.state, session: this.#withSettings(this.state.session) };
    this.say(quick ? t("A digit key now saves the label.") : t("A digit key now selects an answer; Enter saves it."));
  }

  continueHere() {
    this.show({ name: "loading" });
    this.lock.steal();
  }

  // ---- events ----------------------------------------------------------------------------------------------------

  /** Handle an event: update the state, send the resulting actions, draw. */
  dispatch(event) {
    const before = focused(this.state)?.id ?? hereId(this.state);
    const { state, actions } = reduce(this.state, event);
    const arrives = state.arrived !== this.state.arrived;
    this.state = state;
    if (arrives) this.#awaitPainting();
    if (actions.length) this.outbox.add(actions);
    if ((focused(state)?.id ?? hereId(state)) !== before) this.stopwatch.restart(performance.now());
    this.redraw();
    this.#fetchTasks();
    this.#fetchHistory();
  }

  say(text) {
    this.dispatch({ type: "say", text });
  }

  submit() {
    const next = phase(this.state) === "finished" && this.frame.center.querySelector(".submit");
    if (next) return next.click();
    if (phase(this.state) === "working" && this.#isEarly()) return this.say(EARLY);
    if (this.sheet === "guidelines" || this.sheet === "keys") this.sheet = null; // it would cover the reveal
    this.dispatch({ type: "submit", ...this.#when() });
  }

  /** An answer by key or click. It is ignored just after an item has appeared without a key press, as Enter is. */
  answer(target, value) {
    if (this.#isEarly()) return this.say(EARLY);
    this.dispatch({ type: "answer", target, value, ...this.#when() });
  }

  /** Save the reason that was added to a label. */
  keep(target) {
    this.dispatch({ type: "keep", target, ...this.#when() });
  }

  /** An item has appeared without a key press: it can be seen after the second frame from now. */
  #awaitPainting() {
    const { arrived } = this.state;
    this.appeared = Infinity;
    const painted = () => {
      if (arrived !== this.state.arrived) return;
      this.appeared = performance.now();
      this.keyboard.sayIgnored();
    };
    requestAnimationFrame(() => requestAnimationFrame(painted));
  }

  /** Whether the input was meant before the item was seen. A key counts when it is pressed: a busy browser handles it later. */
  #isEarly() {
    return (this.keyboard.pressed ?? performance.now()) - this.appeared < ARRIVAL_GUARD;
  }

  #when() {
    return { seconds: this.stopwatch.seconds(performance.now()), at: Date.now() };
  }

  async #fetchTasks() {
    const request =
      this.outbox && !this.outbox.stopped && this.state.session && !this.screen ? wanted(this.state) : null;
    if (!request || this.fetching) return;
    const visit = this.visit;
    this.fetching = true;
    const reply = await this.#quietly(() =>
      this.api.post("tasks", { annotator: this.session.annotator.key, ...request }),
    );
    this.fetching = false;
    if (visit !== this.visit) return; // the element was removed from the page in the meantime
    if (reply)
      this.dispatch({
        type: "tasks",
        tasks: reply.tasks,
        complete: reply.complete,
        linked: reply.linked,
        progress: this.outbox.waiting ? undefined : reply.progress,
        now: performance.now(),
      });
    for (const block of (reply?.tasks ?? []).flatMap((task) => [...task.above, ...task.columns]))
      if (block.image) new Image().src = block.image.url;
  }

  /** An action was stored or refused. In an archived study nothing more is answered once all has been sent. */
  #answered(action, result, { archived, ...reply }) {
    this.dispatch({ type: "result", action, result, ...reply });
    if (archived && this.outbox && !this.outbox.waiting) this.show({ name: "stopped", code: "archived", text: archived });
  }

  async #fetchHistory() {
    const { more, undo } = this.state;
    if (!more || undo.length >= 5 || this.remembering || !this.outbox || this.screen) return;
    const visit = this.visit;
    this.remembering = true;
    const oldest = undo.find((entry) => !entry.id.startsWith("#"))?.id;
    const history = await this.#quietly(() => this.api.get("history", oldest ? { before: oldest } : {}));
    this.remembering = false;
    if (history && visit === this.visit) this.dispatch({ type: "history", history, older: Boolean(oldest) });
  }

  /** A background request: after an error it is retried later, and the error is shown in the top bar. */
  async #quietly(request) {
    try {
      const reply = await request();
      this.tries = 0;
      this.trouble = "";
      return reply;
    } catch (error) {
      if (STOPS_SENDING.includes(error.code)) this.outbox.stop(error.code);
      if (STOPS_SENDING.includes(error.code) || error.code === "archived") {
        this.show({ name: "stopped", code: error.code, text: error.message });
        return null;
      }
      this.trouble = error.code === "offline" ? "" : error.message;
      this.tries = (this.tries ?? 0) + 1;
      setTimeout(() => this.dispatch({ type: "progressed" }), backoff(this.tries));
      return null;
    }
  }

  /** Renew the claim of the task on the screen. */
  async #present() {
    const id = hereId(this.state);
    if (!id || marksOf(this.state, id).claim !== "mine" || document.hidden || this.screen) return;
    const reply = await this.#quietly(() =>
      this.api.post("presence", { annotator: this.session.annotator.key, task: id, leaving: false }),
    );
    if (reply) this.dispatch({ type: "claimed", task: id, claim: reply.claim });
  }

  #leave() {
    if (!this.outbox || this.outbox.stopped) return;
    this.outbox.sendBeforeClosing((body) => this.api.post("actions", body, { keepalive: true }));
    this.api
      .post(
        "presence",
        { annotator: this.session.annotator.key, task: hereId(this.state), leaving: true },
        { keepalive: true },
      )
      .catch(() => {});
  }

  // ---- keys ------------------------------------------------------------------------------------------------------

  #listen() {
    this.listening = new AbortController();
    const on = (target, name, handle, options = {}) =>
      target.addEventListener(name, handle, { signal: this.listening.signal, ...options });
    on(document, "keydown", (event) => this.keyboard.handle(event));
    on(document, "click", (event) => this.#refuseSecondTap(event), { capture: true });
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"])
      on(document, name, () => this.stopwatch.touch(performance.now()), { capture: true, passive: true });
    on(document, "visibilitychange", () =>
      document.hidden ? this.stopwatch.hide(performance.now()) : this.stopwatch.touch(performance.now()),
    );
    on(window, "resize", () => this.#fit());
    on(window, "pagehide", () => this.#leave());
    on(window, "online", () => this.outbox?.flush());
    on(window, "beforeunload", (event) => this.outbox?.waiting && !this.outbox.stored && event.preventDefault());
  }

  /** Ignore the second tap of a double tap if the first one has put another action under the finger. */
  #refuseSecondTap(event) {
    const before = this.tapped;
    const action = event.composedPath()[0].closest?.("button")?.textContent;
    this.tapped = { at: event.timeStamp, x: event.clientX, y: event.clientY, action };
    if (!before?.action || !action || before.action === action || event.detail === 0) return; // 0: by a key
    const isSamePlace = Math.hypot(event.clientX - before.x, event.clientY - before.y) < SAME_PLACE;
    if (event.timeStamp - before.at > DOUBLE_TAP || !isSamePlace) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  /** Open or close a panel next to the item: keys, guidelines, note. */
  toggle(name) {
    this.sheet = this.sheet === name ? null : name;
    this.redraw();
    if (this.sheet === "note") this.frame.focusSheet();
    else if (!this.sheet) this.focusReading();
  }

  // ---- drawing ---------------------------------------------------------------------------------------------------

  show(screen) {
    this.screen = screen;
    this.redraw();
    if (!screen) this.#fetchTasks();
  }

  /** Draw before the next frame, once for all changes until then. */
  redraw() {
    if (this.drawing) return;
    this.drawing = true;
    queueMicrotask(() => {
      this.drawing = false;
      this.#draw();
    });
  }

  #draw() {
    const { state } = this;
    if (this.outbox && STOPS_SENDING.includes(this.outbox.stopped) && !this.screen)
      this.screen = { name: "stopped", code: this.outbox.stopped, text: this.outbox.problem };
    const task = phase(state) === "working" && !this.screen ? here(state) : null;
    if (task !== this.panelOf) this.#mountPanel(task);
    const target = task ? (focused(state) ?? task.targets[0]) : null;
    this.panel?.update(state);
    this.reveal.update(task && task.panel !== "aius" ? task : null, target && answerOf(state, target.id));
    this.reading.update(task ? state : { ...state, at: -1 });
    this.frame.update(state, task);
    attribute(this, "data-phase", this.screen?.name ?? phase(state));
    attribute(this, "data-task", task?.id ?? null);
  }

  #mountPanel(task) {
    const other = task?.id !== this.panelOf?.id;
    this.panelOf = task;
    if (!other && this.panel?.renew) return this.panel.renew(task);
    this.panel = task ? PANELS[task.panel](this, task) : null;
    if (other && this.sheet === "note") this.sheet = null;
    const typing = other && this.focusedElement() && writes(this.focusedElement());
    this.frame.mount(this.panel);
    if (typing) this.focusReading();
  }

  // ---- for the parts ---------------------------------------------------------------------------------------------

  focusedElement() {
    return this.shadowRoot.activeElement;
  }

  focusReading() {
    this.reading.node.focus({ preventScroll: true });
  }

  taskId() {
    return hereId(this.state);
  }

  blockElement(id) {
    return this.reading.elements?.get(id) ?? null;
  }

  turnShown() {
    return this.reveal.cell;
  }

  passages(state, target) {
    const { standing, reveal } = answerOf(state, target.id);
    return standing ? this.reveal.passages(reveal) : [];
  }
}

customElements.define("label-workbench", LabelWorkbench);
