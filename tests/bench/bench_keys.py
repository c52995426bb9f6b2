"""Key press to painted change, in the installed chromium on the app: python -m tests.bench.bench_keys --others 20

A study of disputed debates gets 100,000 labels, as in `bench_workbench`. An annotator labels in the browser, one key in
120 ms (answer, submit, next); meanwhile other annotators label through the same routes, each once in 5 s. `next` are
the keys that show another target, `saved` is from an action to its stored result.
"""

import argparse
import http.client
import json
import random
import threading
import time
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from playwright.sync_api import sync_playwright

from tests.bench.annotator_process import action
from tests.bench.bench_workbench import STUDY, plant
from tests.bench.databases import print_load, print_times, temporary_database
from tests.browser import key_times
from tests.browser.conftest import CHROMIUM, FLAGS, Served, serve, start, stop_server

QUEUE = urlencode({"study": STUDY, "kind": "disagreements"})
RHYTHM = 0.12
"""Seconds between two keys."""


class Annotator:
    """Another annotator, who labels through the routes that the browser uses."""

    def __init__(self, address: str, name: str) -> None:
        self.address, self.name = address, name
        self.http = http.client.HTTPConnection(urlsplit(address).netloc)
        self.session = self.call("GET", "session")
        self.labels = 0
        self.tasks: list[Any] = []

    def call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Cookie": f"tiebreak_annotator={quote(self.name)}", "Content-Type": "application/json"}
        if body is not None:
            headers |= {"Origin": self.address, "X-CSRF-Token": self.session["csrf"]}
            body = {"annotator": self.session["annotator"]["key"]} | body
        self.http.request(method, f"/api/label/{path}?{QUEUE}", json.dumps(body) if body else None, headers)
        reply = self.http.getresponse()
        text = reply.read()
        self.http.close()  # the server closes a connection after 5 s; the next request opens one
        if reply.status != 200:
            raise RuntimeError(f"{path}: {reply.status} {text[:200]!r}")
        return json.loads(text)

    def label_until(self, stopped: threading.Event, pause: float) -> None:
        rng = random.Random(self.name)
        while not stopped.wait(pause * rng.uniform(0.5, 1.5)):  # people do not act all at once
            self.label_next()

    def label_next(self) -> float:
        """Label the next task, and return the seconds; 30 tasks are fetched at a time."""
        self.tasks = self.tasks or self.call("POST", "tasks", {"have": [], "count": 30})["tasks"]
        start = time.perf_counter()
        label = action(self.labels + 1, "label", self.tasks.pop(0), seconds=1.0)
        body = {"client": f"bench {self.name}", "after": self.labels, "first": not self.labels, "actions": [label]}
        [result] = self.call("POST", "actions", body)["results"]
        if result["status"] not in ("accepted", "surplus"):  # others have labelled it since it was fetched
            raise RuntimeError(f"the label was not accepted: {result}")
        self.labels += 1
        return time.perf_counter() - start


def press(page: Any, labels: int) -> None:
    """Give labels in a fixed rhythm: answer, submit, next."""
    for key in ["1", "Enter", "Enter"] * labels:
        begun = time.monotonic()
        page.keyboard.press(key)
        time.sleep(max(0.0, RHYTHM - (time.monotonic() - begun)))
    page.wait_for_function("() => !document.querySelector('label-workbench').outbox.waiting")


def measure(served: Served, labels: int) -> dict[str, list[float]]:
    """Label in the browser, and return the times in seconds."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": "tiebreak_annotator", "value": "newcomer", "url": served.address}])
        page = context.new_page()
        page.goto(f"{served.address}/disagreements?study={quote(STUDY)}")
        start(page)
        press(page, 20)
        page.evaluate(key_times.RECORD)
        press(page, labels)
        times = key_times.recorded(page)
        browser.close()
    return {name: [value / 1000 for value in values] for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=100_000, help="labels that are stored before")
    parser.add_argument("--count", type=int, default=100, help="labels that are given in the browser")
    parser.add_argument("--others", type=int, default=0, help="other annotators who label meanwhile")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between two labels of each of them")
    options = parser.parse_args()
    with temporary_database() as database:
        plant(database.engine, options.labels)
        served = serve(database.url, database.folder / "server.log")
        stopped = threading.Event()
        try:
            others = [Annotator(served.address, f"other {number}") for number in range(options.others)]
            threads = [threading.Thread(target=one.label_until, args=(stopped, options.pause)) for one in others]
            for thread in threads:
                thread.start()
            times = measure(served, options.count)
        finally:
            stopped.set()
            stop_server(served)
    print(f"{options.labels:,} labels stored, {options.count} given in the browser, {options.others} other annotators:")
    for name, seconds in times.items():
        print_times(name, seconds)
    print(f"  labels of the others: {sum(one.labels for one in others)}")
    print_load()


if __name__ == "__main__":
    main()
