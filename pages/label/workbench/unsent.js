// Sends what labelling has left unsent in this browser, of any study and from any page, and states it. The workbench
// does so for the study that it has open.

import { Api } from "./api.js";
import { button, h } from "./dom.js";
import { Outbox, WINDOW, storageKey, waitingKeys } from "./outbox.js";
import { nt, t } from "./texts.js";

const PAUSE = 15_000; // milliseconds after a failed attempt
const OF_OTHERS = ["unknown", "forbidden", "removed"]; // the study is perhaps that of another person of this browser

const notices = new Map(); // storage key -> the element that states its last attempt
const others = new Set(); // storage keys of other annotators
let busy = false;
let resting = 0;

/** Send what is unsent; called every few seconds. `base` is the address of the API. */
export async function sendUnsent(base) {
  if (busy || Date.now() < resting) return;
  busy = true;
  try {
    for (const key of waitingKeys(localStorage)) if (!others.has(key) && !isOpen(key)) await exclusively(key, base);
  } finally {
    busy = false;
  }
}

const parts = (key) => key.split("/").slice(1);

/** Whether the workbench of this window sends it; without Web Locks, also whether another window may be sending it. */
function isOpen(key) {
  const [study, , part = ""] = parts(key);
  const query = document.querySelector("label-workbench")?.getAttribute("query");
  return new URLSearchParams(query ?? "").get("study_id") === study || part !== ownPart();
}

const ownPart = () => (navigator.locks ? "" : (sessionStorage.getItem(WINDOW) ?? ""));

function exclusively(key, base) {
  const [study, annotator] = parts(key);
  if (!navigator.locks) return send(key, base);
  const locked = (lock) => lock && send(key, base); // otherwise another window has it open
  return navigator.locks.request(storageKey(study, annotator), { ifAvailable: true }, locked).catch(() => {}); // taken over
}

async function send(key, base) {
  const [study, annotator] = parts(key);
  const api = new Api({ base, query: new URLSearchParams({ study_id: study, kind: "disagreements" }) });
  const refusals = [];
  const outbox = new Outbox({
    key,
    annotator,
    storage: localStorage,
    post: (body) => api.post("actions", body),
    onResult: (_, { status, message }) => !["accepted", "surplus"].includes(status) && refusals.push(message),
  });
  const count = outbox.waiting;
  let session;
  try {
    session = await api.session();
  } catch (error) {
    if (OF_OTHERS.includes(error.code)) return others.add(key);
    return failed(key, outbox.waiting, "", error.message);
  }
  if (session.annotator.key !== annotator) return others.add(key);
  await attempt(outbox);
  if (outbox.waiting) return failed(key, outbox.waiting, session.study.name, outbox.problem);
  const stored = nt(
    "{n} unsent action of the study “{study}” was sent.",
    "{n} unsent actions of the study “{study}” were sent.",
    count,
    { study: session.study.name },
  );
  show(key, [stored, ...refusals.filter(Boolean)].join(" "), "sent");
}

/** Resolves when all is sent, or after the first failure. */
async function attempt(outbox) {
  await new Promise((resolve) => {
    outbox.changed = () => (!outbox.waiting || outbox.failures || outbox.stopped) && resolve();
    outbox.flush();
  });
  outbox.stop(outbox.stopped || "closing");
}

function failed(key, count, study, reason) {
  resting = Date.now() + PAUSE;
  const words = study
    ? nt(
        "{n} unsent action of the study “{study}” is stored in this browser.",
        "{n} unsent actions of the study “{study}” are stored in this browser.",
        count,
        { study },
      )
    : nt("{n} unsent action is stored in this browser.", "{n} unsent actions are stored in this browser.", count);
  show(key, `${words} ${reason || t("Sending has failed, and is tried again.")}`, "unsent");
}

function show(key, words, state) {
  if (notices.get(key)?.dataset.words === words) return; // shown, or closed by the annotator
  notices.get(key)?.remove();
  const close = button({ "aria-label": t("Close"), onclick: () => notice.remove() }, "✕");
  const marks = { class: "unsent-notice", role: "status", "data-state": state, "data-words": words };
  const notice = h("div", marks, h("span", {}, words), close);
  notices.set(key, notice);
  document.body.append(notice);
}
