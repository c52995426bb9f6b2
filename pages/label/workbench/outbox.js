// Unsent and unacknowledged actions. Each is stored in the browser before it is sent and removed when it is answered;
// one request is in flight; a request without an answer is sent again.

const WAITS = [250, 500, 1000, 2000, 4000, 5000]; // milliseconds before the next retry
const DRAFT_DELAY = 400; // milliseconds before a draft is sent: during typing, only the last one matters
const AT_ONCE = 50;

/** Codes of errors after which nothing is sent; unsent actions stay stored. */
export const STOPS_SENDING = ["signed_out", "other_annotator", "deleted", "removed", "forbidden"];

const PREFIX = "tiebreak-workbench";
/** Where a window without Web Locks stores the part of the key of its outbox, in its own storage. */
export const WINDOW = `${PREFIX}/window`;

/** The storage key of an annotator's outbox in a study; `part` if a window has a separate outbox. */
export const storageKey = (study, annotator, part = "") => [PREFIX, study, annotator, part].filter(Boolean).join("/");

/** The storage keys of all outboxes in which something waits. */
export const waitingKeys = (storage) =>
  Object.keys(storage).filter((key) => /^tiebreak-workbench\/\d+\//.test(key) && read(storage, key)?.actions.length);

export class Outbox {
  /**
   * `post(body)` sends a request and resolves to its reply, or throws an error with `code`. `changed()` is called when
   * the number of unsent actions or the state of the connection changes.
   */
  constructor({ key, annotator, storage, post, onResult, changed = () => {}, clock = globalThis, newId = randomId }) {
    Object.assign(this, { key, annotator, storage, post, onResult, changed, clock, newId });
    const stored = read(storage, key);
    this.client = stored?.client ?? newId();
    this.next = stored?.next ?? 1;
    this.after = stored?.after ?? 0;
    this.first = stored?.first ?? false;
    this.actions = stored?.actions ?? [];
    this.inFlight = 0;
    this.failures = 0;
    this.stopped = "";
    this.problem = "";
    this.batch = AT_ONCE;
    this.timer = null;
    this.stored = true;
  }

  get waiting() {
    return this.actions.length;
  }

  /** Store actions and send them. A draft that is not being sent is dropped when its target gets a newer draft or a label. */
  add(actions) {
    for (const action of actions) this.#place(action);
    this.#write();
    this.changed();
    this.#schedule(actions.every((action) => action.type === "draft") ? DRAFT_DELAY : 0);
  }

  /** Send waiting actions now. */
  flush() {
    this.#schedule(0);
  }

  /** Resolves when nothing is unsent; used before the first request for tasks. */
  async drained() {
    while (this.waiting && !this.stopped) {
      this.flush();
      await new Promise((resolve) => this.clock.setTimeout(resolve, 50));
    }
  }

  /** Send once more while the page closes, without waiting for the answer: sending twice is harmless. */
  sendBeforeClosing(post) {
    if (this.waiting && !this.stopped) post(this.#body(this.actions.slice(0, this.batch))).catch(() => {});
  }

  /** Stop sending: another window or another annotator continues. Unsent actions stay stored. */
  stop(why) {
    this.stopped = why;
    this.clock.clearTimeout(this.timer);
    this.timer = null;
    this.changed();
  }

  resume() {
    this.stopped = "";
    this.failures = 0;
    this.#schedule(0);
  }

  #place(action) {
    this.next = Math.max(this.next, action.seq + 1);
    const replaces = action.type === "draft" || action.type === "label";
    const outdated = (one, place) =>
      replaces && place >= this.inFlight && one.type === "draft" && one.target === action.target;
    this.actions = [...this.actions.filter((one, place) => !outdated(one, place)), action];
  }

  #schedule(wait) {
    if (this.stopped || this.inFlight || !this.waiting) return;
    if (this.timer !== null) this.clock.clearTimeout(this.timer);
    this.timer = this.clock.setTimeout(() => this.#send(), wait);
  }

  async #send() {
    this.timer = null;
    if (this.stopped || this.inFlight || !this.waiting) return;
    const sent = this.actions.slice(0, this.batch);
    this.inFlight = sent.length;
    try {
      const reply = await this.post(this.#body(sent));
      this.failures = 0;
      this.problem = "";
      this.inFlight = 0;
      if (!this.stopped || this.stopped === "closing") this.#answered(sent, reply);
    } catch (error) {
      this.inFlight = 0;
      this.#failed(error);
    }
    this.changed();
  }

  #body(actions) {
    const { annotator, client, after } = this;
    return { annotator, client, after, ...(this.first ? { first: true } : {}), actions };
  }

  #answered(sent, reply) {
    this.after = sent.at(-1).seq;
    this.first = false;
    reply.results.forEach((result, place) => {
      const action = sent[place];
      this.actions = this.actions.filter((one) => one.seq !== action.seq).map((one) => named(one, action.seq, result));
      this.onResult(action, result, place === reply.results.length - 1 ? reply : {});
    });
    this.#write();
    this.#schedule(0);
  }

  #failed(error) {
    if (STOPS_SENDING.includes(error.code)) {
      this.problem = error.message;
      return this.stop(error.code);
    }
    if (error.code === "sequence") {
      this.client = this.newId();
      this.first = true;
      this.#write();
      return this.#schedule(0);
    }
    if (error.code === "too_large" && this.batch > 1) this.batch = Math.ceil(this.batch / 2);
    this.problem = error.code === "invalid" || error.code === "unknown" ? error.message : "";
    this.failures += 1;
    this.#schedule(WAITS[Math.min(this.failures, WAITS.length) - 1]);
  }

  #write() {
    const body = JSON.stringify({
      client: this.client,
      next: this.next,
      after: this.after,
      first: this.first,
      actions: this.actions,
    });
    try {
      this.storage.setItem(this.key, body);
      this.stored = true;
    } catch {
      this.stored = false; // full or forbidden: the actions are still sent, but a reload would lose them
    }
  }
}

/** References to an acknowledged action, replaced by the ids that the server assigned. */
function named(action, seq, { version, entry }) {
  const own = `#${seq}`;
  const next = { ...action };
  if (next.base === own && version) next.base = version;
  if (next.entry === own && entry) next.entry = entry;
  return next;
}

function read(storage, key) {
  try {
    const stored = JSON.parse(storage.getItem(key));
    return stored && Array.isArray(stored.actions) && typeof stored.client === "string" ? stored : null;
  } catch {
    return null;
  }
}

function randomId() {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(12));
  return `c-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
