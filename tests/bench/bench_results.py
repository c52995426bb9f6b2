"""Result pages of a large study in a browser: python -m tests.bench.bench_results [--items 50000] [--judges 20]

Plants a study (`large_study`) and opens each page twice, as two visitors: the first visit fills the caches, the second
one is measured from the request to the last drawn chart. Then a filter and a click on a row are measured. Times are
those of the whole page in Chromium, in seconds, with the load average of the machine.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from storage import database
from tests.bench import large_study
from tests.browser.conftest import CHROMIUM, FLAGS, Served, serve, stop_server

PAGES: dict[str, str] = {
    "overview": "",
    "judges": "judges?pair=",
    "biases": "biases",
    "causes": "causes",
    "systems": "systems",
    "agreement": "agreement",
    "alignment": "alignment",
}
FILTERS = {"judges": "among=scenario 3", "biases": "among=scenario 3", "causes": "among=scenario 3",
           "systems": "judge=none: people's labels alone", "agreement": "between=Judges"}  # fmt: skip
READY = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  const drawn = document.querySelector('.js-plotly-plot, [data-testid=stDataFrame], [data-testid=stPageLink]');
  return drawn && app.dataset.testScriptState === 'notRunning' && !document.querySelector('[data-testid=stSpinner]');
}"""


def timed(action: Callable[[], Any]) -> float:
    """Return the seconds of an action."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def visit(browser: Any, served: Served, path: str) -> tuple[Any, float]:
    """Open a page as a new visitor; returns it with the seconds until it is complete."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(600_000)
    joint = "&" if "?" in path else "?"

    def load() -> None:
        page.goto(f"{served.address}/{path}{joint}study={large_study.STUDY}")
        page.wait_for_function(READY)

    return page, timed(load)


def measure(browser: Any, served: Served) -> None:
    """Print the times of every page."""
    print(f"{'page':<12}{'first visit':>12}{'warm':>8}{'filter':>8}   load average")
    for name, path in PAGES.items():
        page, first = visit(browser, served, path)
        page.context.close()
        page, warm = visit(browser, served, path)
        page.context.close()
        text = "-"
        if name in FILTERS:
            field, value = FILTERS[name].split("=", 1)
            joint = "&" if "?" in path else "?"
            page, changed = visit(browser, served, f"{path}{joint}{field}={quote(value)}")
            page.context.close()
            page, again = visit(browser, served, f"{path}{joint}{field}={quote(value)}")
            page.context.close()
            text = f"{changed:.1f} ({again:.1f} warm)"
        print(f"{name:<12}{first:>12.1f}{warm:>8.1f}  {text:<20} {os.getloadavg()[0]:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--judges", type=int, default=20)
    parser.add_argument("--database", type=Path, help="a SQLite file with the study, which is planted if it is missing")
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("There is no chromium on this machine.")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = options.database or Path(folder) / "large.db"
        if not path.exists():
            seconds = timed(
                lambda: large_study.plant(database.connect(f"sqlite:///{path}"), options.items, options.judges)
            )
            print(f"planted in {seconds:.0f} s, {path.stat().st_size / 1e6:.0f} MB")
        served = serve(f"sqlite:///{path}", Path(folder) / "server.log")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            measure(browser, served)
        finally:
            browser.close()
            stop_server(served)


if __name__ == "__main__":
    main()
