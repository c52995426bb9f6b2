// One window at a time writes the outbox of an annotator, by the browser's Web Locks.

/**
 * Hold the lock `name`. `onHeld()` is called when this window has it, `onElsewhere()` when another window has it,
 * `onLost()` when another window took it over. Returns {steal, release}. Without Web Locks (plain http on another host)
 * the window continues, and versions on the server are the only protection.
 */
export function holdLock(name, { onHeld, onElsewhere, onLost, locks = globalThis.navigator?.locks }) {
  if (!locks) {
    onHeld();
    return { steal: () => {}, release: () => {} };
  }
  const closing = new AbortController();
  let free = () => {};
  const held = () => {
    onHeld();
    return new Promise((resolve) => (free = resolve));
  };
  const wait = () => locks.request(name, { signal: closing.signal }, held).catch((error) => lost(error));
  const lost = (error) => {
    if (closing.signal.aborted) return;
    if (error?.name === "AbortError") onLost();
    else throw error;
  };
  locks
    .request(name, { ifAvailable: true }, (lock) => {
      if (lock) return held();
      onElsewhere();
      queueMicrotask(wait);
      return undefined;
    })
    .catch(lost);
  return {
    steal: () => locks.request(name, { steal: true }, held).catch(lost),
    release: () => {
      closing.abort();
      free();
    },
  };
}
