"""A server on its own database, and the installed chromium."""

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from core.formats.records import ItemRecord, Record
from tests.conftest import make_item
from tests.paths import ROOT
from tests.storage.shared import RUN, a_trace
from tests.waiting import wait_for

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TEST_BROWSER = shutil.which("chromium-headless-shell") or CHROMIUM
"""The same engine without a window system: a third less processor time for a file of tests."""
DRAWN = "[data-testid=stApp][data-test-script-state=notRunning]"
"""The app when no script of it is running."""
GO_INSIDE = """(url) => new Promise((done) => {
  const observer = new MutationObserver(() => done());
  observer.observe(document, { subtree: true, attributes: true, attributeFilter: ["data-test-script-state"] });
  setTimeout(done, 1000);
  history.pushState({}, "", url);
  dispatchEvent(new PopStateEvent("popstate"));
})"""
"""Opens another page of the app, until its script begins, or has ended before it was seen."""
PAINTED = """async () => {
  const isDrawn = (chart) => chart.querySelector(".main-svg");
  const charts = [...document.querySelectorAll("[data-testid=stPlotlyChart]")];
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame();
  const transitions = document.getAnimations().filter((one) => one instanceof CSSTransition);
  return charts.every(isDrawn) && !transitions.length;
}"""
"""Whether the charts of a page are drawn, and no colour is changing."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHARING = ["--process-per-site", "--js-flags=--no-flush-bytecode"]
"""Pages of a context are drawn by one process, which keeps the scripts that it has compiled."""
OPTIONS = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}
"""A window without animations, which take processor time for each frame."""


def disputed(count: int) -> list[Record]:
    """Return the records of pairs whose debates are disputed."""
    items = [f"gpt_vs_claude/{number}" for number in range(count)]
    return [*(ItemRecord(item=make_item(item)) for item in items), RUN, *(a_trace(item) for item in items)]


@dataclass(frozen=True)
class Served:
    """A running server: its address, database and process."""

    address: str
    database: str
    process: subprocess.Popen


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def serve(database: str, log: Path, port: int = 0, path: str = "", **environment: str) -> Served:
    """Start a server; `path`, such as "tiebreak/", is that of its first page."""
    port = port or free_port()
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    with log.open("wb") as log_file:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=ROOT,
            env=inherited | {"TIEBREAK_DATABASE_URL": database} | environment,
            stdout=log_file,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    if not wait_until_served(f"{address}/{path}_stcore/health", process):
        process.kill()
        raise AssertionError(f"the server did not start: {log.read_text()[-2000:]}")
    return Served(address, database, process)


def wait_until_served(address: str, process: subprocess.Popen) -> bool:
    """Wait a minute at most until a new server answers at an address; return False if its process has ended."""

    def responds() -> bool:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return True
        except OSError:
            return False

    return wait_for(lambda: process.poll() is not None or responds(), 60.0) and process.poll() is None


def stop_server(served: Served) -> None:
    served.process.terminate()
    try:
        served.process.wait(10)
    except subprocess.TimeoutExpired:
        served.process.kill()


def settle(page):
    """Wait until keys can be meant for an item that appeared by itself."""
    page.wait_for_function("() => performance.now() - document.querySelector('label-workbench').appeared > 260")


def start(page):
    """Confirm the guidelines, if there are any, and wait for an item that can be labelled."""
    page.locator("label-workbench[data-phase=guidelines], label-workbench[data-phase=working]").wait_for()
    if page.locator("label-workbench[data-phase=guidelines]").count():
        page.keyboard.press("Enter")
    page.locator("label-workbench[data-phase=working]").wait_for()
    settle(page)


def open_page(page, url: str) -> None:
    """Open a page of the app, and wait until it is drawn: from another one as Back does, without loading the app."""
    if page.locator(DRAWN).count():
        page.evaluate(GO_INSIDE, url)
    else:
        page.goto(url)
    page.locator(DRAWN).wait_for()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the sample studies, shared by the tests of a process: each has its own items, or its own person.

    Starting one takes seconds, as does its first visit.
    """
    from tests.databases import create_sample_database

    folder = tmp_path_factory.mktemp("server")
    media = str(folder / "media")
    server = serve(create_sample_database(folder / "tiebreak.db"), folder / "server.log", TIEBREAK_MEDIA=media)
    yield server
    stop_server(server)


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with accounts and the sample studies; "annotator 1" is an administrator."""
    from storage.db import connections
    from tests.accounts import add_account
    from tests.databases import create_sample_database

    folder = tmp_path_factory.mktemp("guarded")
    database = create_sample_database(folder / "tiebreak.db")
    add_account(connections.connect(database), "annotator 1", administrator=True)
    server = serve(database, folder / "server.log")
    yield server
    stop_server(server)


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Served]:
    """A server that nobody has visited yet, and that executes no runs."""
    server = serve(f"sqlite:///{tmp_path}/tiebreak.db", tmp_path / "server.log", TIEBREAK_OWN_WORKER="off")
    yield server
    stop_server(server)


@pytest.fixture(scope="module")
def chromium():
    """The browser; without one the tests are skipped, or fail in CI.

    The scope is a module, because playwright's event loop runs in this thread and other tests start their own.
    """
    if TEST_BROWSER is None:
        missing = "no chromium on this machine: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=TEST_BROWSER, args=[*FLAGS, *SHARING])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def shared(chromium):
    """A context for the first page of each test, whose process keeps Streamlit's compiled scripts.

    A page in a new context takes half as much processor time again. An empty page keeps the process alive.
    """
    context = chromium.new_context(**OPTIONS)
    keeper = context.new_page()
    yield context, context.new_cdp_session(keeper)
    context.close()


@pytest.fixture
def visit(chromium, shared):
    """`visit(address, annotator="annotator 1")` opens a page of a browser without history, signed in as that annotator.

    Every page of a test has its own cookies and storage.
    """
    context, session = shared
    contexts = []

    def open_page(address: str, annotator: str | None = None, **options):
        is_first = not contexts and not options.keys() - {"viewport"}
        own = context if is_first else chromium.new_context(**OPTIONS | options)
        contexts.append(own)
        parts = urlsplit(address)
        if annotator:
            cookie = {
                "name": "tiebreak_annotator",
                "value": quote(annotator),
                "url": f"{parts.scheme}://{parts.netloc}",
            }
            own.add_cookies([cookie])
        page = own.new_page()
        if "viewport" in options:
            page.set_viewport_size(options["viewport"])
        page.set_default_timeout(30_000)  # generous, because the machine may be busy
        page.goto(address)
        return page

    yield open_page
    for own in contexts:
        if own is not context:
            own.close()
    clear(context, session)


def clear(context, session) -> None:
    """Close the pages of a test, and remove what they stored."""
    context.set_offline(False)
    origins = {urlsplit(page.url)._replace(path="", query="", fragment="").geturl() for page in context.pages[1:]}
    for page in context.pages[1:]:
        page.close()
    context.clear_cookies()
    for origin in origins:
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
