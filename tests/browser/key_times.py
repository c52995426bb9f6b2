"""Times in the browser, from a key press to the painted change and from an action to its stored result."""

from typing import Any

RECORD = """(() => {
  const bench = document.querySelector("label-workbench");
  const times = (window.times = { paint: [], next: [], saved: [] });
  document.addEventListener("keydown", (event) => {
    const before = bench.taskId();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        const time = performance.now() - event.timeStamp;
        times.paint.push(time);
        if (bench.taskId() !== before) times.next.push(time);
      };
      port2.postMessage(0);
    });
  }, true);
  const begun = new Map();
  const { outbox } = bench;
  const [add, onResult] = [outbox.add.bind(outbox), outbox.onResult];
  outbox.add = (actions) => { actions.forEach((one) => begun.set(one.seq, performance.now())); add(actions); };
  outbox.onResult = (action, ...rest) => {
    times.saved.push(performance.now() - begun.get(action.seq));
    onResult(action, ...rest);
  };
})()"""
"""Starts the record: `paint` of all keys, `next` of keys with another task, `saved` of actions, in milliseconds."""


def recorded(page: Any) -> dict[str, list[float]]:
    """Return the times since `RECORD` was evaluated, in milliseconds."""
    return page.evaluate("window.times")
