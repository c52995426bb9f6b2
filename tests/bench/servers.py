"""Servers of benchmarks, and windows of chromium on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from tests.bench.databases import Database
from tests.browser.conftest import CHROMIUM, FLAGS, Served, serve, stop_server


@contextmanager
def serving(database: Database) -> Iterator[Served]:
    """Yield a server on a database."""
    served = serve(database.url, database.folder / "server.log")
    try:
        yield served
    finally:
        stop_server(served)


@contextmanager
def open_window(served: Served, annotator: str, program: str | None = CHROMIUM) -> Iterator[Any]:
    """Yield the context of a browser in which an annotator is known; raises SystemExit without chromium."""
    if program is None:
        raise SystemExit("There is no chromium on this machine.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        window = browser.new_context(viewport={"width": 1440, "height": 900})
        window.add_cookies([{"name": "tiebreak_annotator", "value": quote(annotator), "url": served.address}])
        yield window
        browser.close()
