"""Make the pictures of README and docs from the showcase: `python -m tests.bench.make_pictures` (a minute)."""

from pathlib import Path

from playwright.sync_api import Page

from core.formats import tiebreak
from storage.db import connections
from storage.reports import overview
from storage.studies import studies
from storage.transfer import imports, samples
from tests.bench.databases import temporary_database
from tests.bench.servers import open_window, serving
from tests.browser.conftest import TEST_BROWSER, start
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
    with temporary_database() as database:
        imports.import_records(database.engine, samples.SHOWCASE_NAME, tiebreak.read(samples.SHOWCASE))
        with connections.reading(database.engine) as session:
            trace = overview.find_dispute(session, studies.get(session, samples.SHOWCASE_NAME).id)["trace"]
        with serving(database) as served, open_window(served, "annotator 1", TEST_BROWSER) as window:
            page = window.new_page()
            for name, (address, text) in PAGES.items():
                take(page, f"{served.address}/{address.format(trace=trace)}", text, FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
