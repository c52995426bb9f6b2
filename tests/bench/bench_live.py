"""A saved label on open pages, without a browser: python -m tests.bench.bench_live --database URL [--pages judges ...]

Opens pages of a large study (`large_study`) on WebSockets, all at the same time as tabs of one browser, and saves
labels in another process than the server, one at a time. Each page runs its fragments as a browser does. For each page
it prints the milliseconds, median / p95 / maximum (n),

- sign: from a saved label until the page is sent that there is one, or figures with it;
- figures: until a run of the page with its figures has ended;

and the processor seconds of the server for each label, and how many runs of a page had no end (see
`pages.parts.sockets`). A browser adds its own time to draw them. See `bench_pages`.
"""

import argparse
import os
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection

from storage.db import connections
from tests.bench import large_study
from tests.bench.bench_pages import PAGES, Labeller, Visited, add_study_options, large_database
from tests.bench.bench_sessions import open_socket
from tests.bench.databases import resident_megabytes, summarize
from tests.bench.servers import serving
from tests.browser.conftest import Served

LIMIT = 240.0
"""Seconds that the figures of a page may take."""
SIGNS = ("newer label", "in the background")


@dataclass
class Tab:
    """An open page, and its connection."""

    name: str
    signed: threading.Event = field(default_factory=threading.Event)
    settled: threading.Event = field(default_factory=threading.Event)
    sign: list[float] = field(default_factory=list)
    """Milliseconds, for each label."""
    figures: list[float] = field(default_factory=list)
    saved: float = 0.0
    lost_ends: int = 0
    """Whole runs whose end was not sent."""
    problem: str = ""
    _request: BackMsg = field(default_factory=BackMsg)
    _due: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Fragment -> when it runs next, and the seconds after which it runs again."""
    _scheduled: set[str] = field(default_factory=set)
    """The fragments of the last run."""
    _has_sign: bool = False
    _is_whole: bool = False
    """Whether a run of the whole page is in progress."""

    def expect(self) -> None:
        """Wait for a label that is saved now."""
        self.signed.clear()
        self.settled.clear()
        self.saved = time.perf_counter()

    def watch(self, served: Served, visited: Visited) -> None:
        """Open the page, run its fragments when they are due, and note what the server sends."""
        self._request.rerun_script.query_string = urlencode({"study": large_study.STUDY})
        self._request.rerun_script.page_name = visited.path
        try:
            with open_socket(served.address, "annotator 1") as socket:
                socket.send(self._request.SerializeToString())
                self._request.rerun_script.is_auto_rerun = True
                while True:
                    self._receive(socket)
        except Exception as error:  # a thread reports everything
            self.problem = f"{type(error).__name__}: {error}"
            self.settled.set()

    def _receive(self, socket: ClientConnection) -> None:
        """Handle one message, or run the fragments that are due."""
        wait = min((at for at, _ in self._due.values()), default=time.monotonic() + 1) - time.monotonic()
        try:
            content = socket.recv(max(0.0, wait))
        except TimeoutError:
            self._run_fragments(socket)
            return
        assert isinstance(content, bytes), "binary frames only"
        message = ForwardMsg.FromString(content)
        match message.WhichOneof("type"):
            case "new_session":
                self._begin(not message.metadata.run.fragment_ids)
            case "navigation":
                self._request.rerun_script.page_script_hash = message.navigation.page_script_hash
            case "auto_rerun":
                interval, fragment = message.auto_rerun.interval, message.auto_rerun.fragment_id
                self._due[fragment] = (time.monotonic() + interval, interval)
                self._scheduled.add(fragment)
            case "delta":
                self._look_at(message.delta.new_element)
            case "script_finished" if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self._end()

    def _begin(self, is_whole: bool) -> None:
        """Begin a run; a whole run before one of a fragment has ended, also if the server has not sent its end."""
        if self._is_whole and not is_whole:
            self.lost_ends += 1
            self._end()
        self._has_sign, self._scheduled, self._is_whole = False, set(), is_whole

    def _end(self) -> None:
        self._is_whole = False
        self._due = {fragment: self._due[fragment] for fragment in self._scheduled}
        if not self._has_sign:
            self._show_figures()

    def _run_fragments(self, socket: ClientConnection) -> None:
        for fragment, (at, interval) in self._due.items():
            if at <= time.monotonic():
                self._request.rerun_script.fragment_id = fragment
                socket.send(self._request.SerializeToString())
                self._due[fragment] = (time.monotonic() + interval, interval)

    def _look_at(self, element: Element) -> None:
        if element.WhichOneof("type") == "exception":
            raise AssertionError(element.exception.message)
        if any(sign in element.markdown.body + element.alert.body for sign in SIGNS):
            self._has_sign = True
            self._show_sign()

    def _show_sign(self) -> None:
        if self.saved and not self.signed.is_set():
            self.sign.append(1e3 * (time.perf_counter() - self.saved))
            self.signed.set()

    def _show_figures(self) -> None:
        self._show_sign()
        if self.saved and not self.settled.is_set():
            self.figures.append(1e3 * (time.perf_counter() - self.saved))
        self.settled.set()


def processor_seconds(process: int) -> float:
    """Return the user and system time of a process."""
    values = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def wait(tabs: Sequence[Tab]) -> None:
    """Wait until every page shows its newest figures."""
    for tab in tabs:
        if not tab.settled.wait(LIMIT) or tab.problem:
            raise SystemExit(f"{tab.name}: {tab.problem or 'the figures are not complete'}")


def measure(served: Served, names: Sequence[str], labels: int, pause: float) -> None:
    """Open the pages, save labels, and print the times."""
    labeller = Labeller(connections.connect(served.database))
    tabs = [Tab(name) for name in names]
    for tab in tabs:  # one after another: first figures take long
        threading.Thread(target=tab.watch, args=(served, PAGES[tab.name]), daemon=True).start()
        wait([tab])
    used = []
    for _ in range(labels):
        time.sleep(pause)
        before = processor_seconds(served.process.pid)
        for tab in tabs:
            tab.expect()
        labeller.save()
        wait(tabs)
        used.append(processor_seconds(served.process.pid) - before)
    print("| page | sign | figures |\n|---|---|---|")
    for tab in tabs:
        print(f"| {tab.name} | {summarize(tab.sign, largest=True)} | {summarize(tab.figures, largest=True)} |")
    print(f"processor seconds of the server for a label: median {statistics.median(used):.2f} (n {len(used)}); "
          f"runs without an end: {sum(tab.lost_ends for tab in tabs)}; "
          "resident {:.0f} MB (peak {:.0f})".format(*resident_megabytes(served.process.pid)) +
          f"; load average {os.getloadavg()[0]:.1f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_study_options(parser)
    parser.add_argument("--saved", type=int, default=10, help="labels that are saved")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between complete figures and the next label")
    live = [name for name, visited in PAGES.items() if visited.live]
    parser.add_argument("--pages", nargs="+", choices=live, default=["overview", "judges", "causes", "agreement"])
    options = parser.parse_args()
    with large_database(options) as database, serving(database) as served:
        measure(served, options.pages, options.saved, options.pause)


if __name__ == "__main__":
    main()
