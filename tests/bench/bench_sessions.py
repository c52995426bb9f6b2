"""Sessions of annotators who label at the same time: python -m tests.bench.bench_sessions --minutes 5 [--postgresql]

Each session has a WebSocket, on which the server runs the page of disagreements as for a browser, and labels through
the routes that the page uses; it loads the page again once a minute. Browsers are not started: twenty of them would
need more than the server. Prints the times of labels and pages, and the server's memory. Exits with an
error if a request fails or a page shows an exception.
"""

import argparse
import threading
import time
from urllib.parse import quote, urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.bench.annotators import Annotator, labelling
from tests.bench.bench_workbench import STUDY, plant
from tests.bench.databases import POSTGRESQL_HELP, print_load, print_times, resident_megabytes, temporary_database
from tests.bench.servers import serving
from tests.browser.conftest import Served

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


def run_page(socket: ClientConnection) -> None:
    """Let the server run the page, and wait until it has sent everything; raises RuntimeError if it is not complete."""
    message = BackMsg()
    message.rerun_script.query_string = urlencode({"study": STUDY})
    message.rerun_script.page_name = "disagreements"
    socket.send(message.SerializeToString())
    shown = False
    while True:
        received = ForwardMsg()
        received.ParseFromString(socket.recv(TIMEOUT))  # type: ignore[arg-type]  # binary frames only
        if received.delta.new_element.WhichOneof("type") == "exception":
            raise RuntimeError(received.delta.new_element.exception.message)
        shown = shown or "label-workbench" in received.delta.new_element.bidi_component.html_content
        if received.WhichOneof("type") == "script_finished":
            break
    if not shown:
        raise RuntimeError("The page has no workbench.")


class Session(Annotator):
    """An annotator with an open page."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__(address, name)
        self.reload = 0.0
        self.pages: list[float] = []
        """Seconds of each run of the page."""

    def label_until(self, stopped: threading.Event, pause: float) -> None:
        with open_socket(self.address, self.name) as self.socket:
            super().label_until(stopped, pause)

    def label_next(self) -> None:
        if time.monotonic() >= self.reload:
            start = time.perf_counter()
            run_page(self.socket)
            self.pages.append(time.perf_counter() - start)
            self.reload = time.monotonic() + RELOAD_SECONDS
        super().label_next()


def print_memory(served: Served, seconds: float) -> None:
    """Print the server's memory in the course of some seconds."""
    for share in (0.25, 0.5, 0.75, 1):
        time.sleep(seconds / 4)
        print("  after {:.0%}: {:.0f} MB, at most {:.0f}".format(share, *resident_megabytes(served.process.pid)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=0.25)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between two labels of an annotator")
    parser.add_argument("--labels", type=int, default=30_000, help="labels that are stored before")
    parser.add_argument("--postgresql", action="store_true", help=POSTGRESQL_HELP)
    options = parser.parse_args()
    with temporary_database(postgresql=options.postgresql) as database:
        plant(database.engine, options.labels)
        with serving(database) as served:
            sessions = [Session(served.address, f"annotator {number}") for number in range(options.sessions)]
            with labelling(sessions, options.pause):
                print_memory(served, 60 * options.minutes)
    labels = [seconds for one in sessions for seconds in one.times]
    print(f"{options.sessions} sessions, {options.minutes:g} minutes: {len(labels)} labels")
    print_times("label", labels)
    print_times("page", [seconds for one in sessions for seconds in one.pages])
    print_load()


if __name__ == "__main__":
    main()
