"""Annotators who label on a server, each in a thread, through the routes that a browser uses."""

import http.client
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tests.bench.annotator_process import action
from tests.bench.bench_workbench import STUDY

QUEUE = urlencode({"study": STUDY, "kind": "disagreements"})


class Annotator:
    """An annotator of disputed debates."""

    def __init__(self, address: str, name: str) -> None:
        self.address, self.name = address, name
        self.http = http.client.HTTPConnection(urlsplit(address).netloc)
        self.session = self.call("GET", "session")
        self.tasks: list[Any] = []
        self.times: list[float] = []
        """Seconds of each label."""

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
        """Label once in `pause` seconds on average."""
        rng = random.Random(self.name)
        while not stopped.wait(pause * rng.uniform(0.5, 1.5)):  # people do not act all at once
            self.label_next()

    def label_next(self) -> None:
        """Label the next task; 30 tasks are fetched at a time."""
        self.tasks = self.tasks or self.call("POST", "tasks", {"have": [], "count": 30})["tasks"]
        start, labels = time.perf_counter(), len(self.times)
        label = action(labels + 1, "label", self.tasks.pop(0), seconds=1.0)
        body = {"client": f"bench {self.name}", "after": labels, "first": not labels, "actions": [label]}
        [result] = self.call("POST", "actions", body)["results"]
        if result["status"] not in ("accepted", "surplus"):  # others have labelled it since it was fetched
            raise RuntimeError(f"the label was not accepted: {result}")
        self.times.append(time.perf_counter() - start)


@contextmanager
def labelling(annotators: Sequence[Annotator], pause: float) -> Iterator[None]:
    """Let annotators label meanwhile; ends the program with their problems, if there are any."""
    stopped = threading.Event()
    with ThreadPoolExecutor(max(1, len(annotators))) as pool:
        ends = [pool.submit(one.label_until, stopped, pause) for one in annotators]
        try:
            yield
        finally:
            stopped.set()
    if problems := {str(end.exception()) for end in ends} - {"None"}:
        raise SystemExit("\n".join(sorted(problems)))
