"""Sessions of annotators who label at the same time: python -m tests.bench.bench_sessions --minutes 5 [--postgresql]

Each session has a WebSocket, on which the server runs the page of disagreements as for a browser, and labels through
the routes that the page uses; it loads the page again once a minute. Browsers are not started: twenty of them would
need more than the server. Prints the times of labels and pages, and the server's memory. Exits with an
error if a request fails or a page shows an exception.
"""

import argparse
import random
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.bench.bench_keys import Annotator
from tests.bench.bench_workbench import STUDY, plant
from tests.bench.databases import POSTGRESQL_HELP, print_load, print_times, resident_megabytes, temporary_database
from tests.browser.conftest import Served, serve, stop_server

RELOAD_SECONDS = 60.0
TIMEOUT = 60.0


def open_socket(address: str, annotator: str) -> ClientConnection:
    """Return a connection on which the server runs pages as for the browser of an annotator."""
    return connect(
        f"ws://{urlsplit(address).netloc}/_stcore/stream",
        origin=address,  # type: ignore[arg-type]  # a type of the library for a text
        additional_headers={"Cookie": f"tiebreak_annotator={quote(annotator)}"},
        subprotocols=["streamlit"],  # type: ignore[list-item]
        max_size=None,
    )


@dataclass
class Session:
    """What one annotator measured."""

    name: str
    labels: list[float] = field(default_factory=list)
    """Seconds of each label."""
    pages: list[float] = field(default_factory=list)
    """Seconds of each run of the page."""
    problems: list[str] = field(default_factory=list)

    def work(self, address: str, until: float, pause: float) -> None:
        """Label until a time of the monotonic clock, once in `pause` seconds on average."""
        try:
            with open_socket(address, self.name) as socket:
                self._work(address, socket, until, pause)
        except Exception as error:  # a thread reports everything
            self.problems.append(f"{type(error).__name__}: {error}")

    def _work(self, address: str, socket: ClientConnection, until: float, pause: float) -> None:
        annotator, rng = Annotator(address, self.name), random.Random(self.name)
        reload = 0.0
        while time.monotonic() < until:
            if time.monotonic() >= reload:
                self._run_page(socket)
                reload = time.monotonic() + RELOAD_SECONDS
            self.labels.append(annotator.label_next())
            time.sleep(pause * rng.uniform(0.5, 1.5))

    def _run_page(self, socket: ClientConnection) -> None:
        """Let the server run the page, and wait until it has sent everything."""
        message = BackMsg()
        message.rerun_script.query_string = urlencode({"study": STUDY})
        message.rerun_script.page_name = "disagreements"
        start = time.perf_counter()
        socket.send(message.SerializeToString())
        shown = False
        while True:
            received = ForwardMsg()
            received.ParseFromString(socket.recv(TIMEOUT))  # type: ignore[arg-type]  # binary frames only
            if received.delta.new_element.WhichOneof("type") == "exception":
                self.problems.append(received.delta.new_element.exception.message)
            shown = shown or "label-workbench" in received.delta.new_element.bidi_component.html_content
            if received.WhichOneof("type") == "script_finished":
                break
        if not shown:
            self.problems.append("The page has no workbench.")
        self.pages.append(time.perf_counter() - start)


def measure(served: Served, count: int, seconds: float, pause: float) -> list[Session]:
    """Let annotators label, and print the server's memory."""
    sessions = [Session(f"annotator {number}") for number in range(count)]
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=one.work, args=(served.address, until, pause)) for one in sessions]
    for thread in threads:
        thread.start()
    for share in (0.25, 0.5, 0.75):
        time.sleep(max(0.0, until - (1 - share) * seconds - time.monotonic()))
        print(f"  after {share:.0%}: {resident_megabytes(served.process.pid)[0]:.0f} MB")
    for thread in threads:
        thread.join()
    print("  at the end: {:.0f} MB, at most {:.0f}".format(*resident_megabytes(served.process.pid)))
    return sessions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=0.25)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between two labels of an annotator")
    parser.add_argument("--labels", type=int, default=30_000, help="labels that are stored before")
    parser.add_argument("--postgresql", action="store_true", help=POSTGRESQL_HELP)
    options = parser.parse_args()
    with ExitStack() as stack:
        database = stack.enter_context(temporary_database(postgresql=options.postgresql))
        plant(database.engine, options.labels)
        started = time.perf_counter()
        served = serve(database.url, database.folder / "server.log")
        stack.callback(stop_server, served)
        print(f"  start of the server: {time.perf_counter() - started:.1f} s")
        sessions = measure(served, options.sessions, 60 * options.minutes, options.pause)
    problems = [problem for one in sessions for problem in one.problems]
    labels = [seconds for one in sessions for seconds in one.labels]
    print(f"{options.sessions} sessions, {options.minutes:g} minutes: {len(labels)} labels, {len(problems)} errors")
    print_times("label", labels)
    print_times("page", [seconds for one in sessions for seconds in one.pages])
    print_load()
    if problems:
        raise SystemExit("\n".join(sorted(set(problems))))


if __name__ == "__main__":
    main()
