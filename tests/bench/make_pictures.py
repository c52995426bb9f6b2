"""Make the pictures of README and docs from the showcase: `python -m tests.bench.make_pictures` (a minute)."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from core.formats import tiebreak
from storage.db import connections
from storage.reports import overview
from storage.studies import studies
from storage.transfer import imports, samples
from tests.browser.conftest import FLAGS, TEST_BROWSER, serve, start, stop_server
from tests.databases import create_database
from tests.paths import ROOT

FOLDER = ROOT / "docs" / "pictures"
STUDY = "?study=Showcase"
# Picture -> the address, and a text that is there when the page is complete.
PAGES = {
    "overview": (STUDY, "Labels of each day"),
    "watch": ("traces?trace={trace}", "Play"),
    "label": (f"disagreements{STUDY}", "Submit"),
    "agreement": (f"agreement{STUDY}", "Download"),
    "judges": (f"judges{STUDY}", "Download"),
    "policy": (f"policy{STUDY}&risk=0.1", "Download"),
}


def take(page: Page, address: str, text: str, path: Path) -> None:
    page.goto(address)
    if "/disagreements" in address:
        start(page)
    page.get_by_text(text).last.wait_for()
    page.wait_for_timeout(1500)  # charts are drawn after their texts
    page.screenshot(path=path)


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = create_database(folder / "tiebreak.db")
        engine = connections.connect(database)
        imports.import_records(engine, samples.SHOWCASE_NAME, tiebreak.read(samples.SHOWCASE))
        with connections.reading(engine) as session:
            trace = overview.find_dispute(session, studies.get(session, samples.SHOWCASE_NAME).id)["trace"]
        served = serve(database, folder / "server.log")
        stack.callback(stop_server, served)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=TEST_BROWSER, args=FLAGS)
        stack.callback(browser.close)
        window = browser.new_context(viewport={"width": 1440, "height": 900})
        window.add_cookies([{"name": "tiebreak_annotator", "value": "annotator%201", "url": served.address}])
        page = window.new_page()
        for name, (address, text) in PAGES.items():
            take(page, f"{served.address}/{address.format(trace=trace)}", text, FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
