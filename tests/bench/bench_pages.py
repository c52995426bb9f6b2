"""Pages of a large study in a browser: python -m tests.bench.bench_pages [--items 50000] [--judges 20] [--labels 2]

Plants a study (`large_study`) and visits every page several times in Chromium. The first visit fills the caches of the
server and the browser, and ends when figures that are computed in the background are drawn; the others are warm. The
page itself measures, in milliseconds:

- load: from the request of the address until the title and the first chart or table are drawn and nothing is loading;
- picture: the same from a click on the link in the sidebar of another page;
- filter: from the choice of a scenario, or of another judge, that nobody has seen until the changed page is complete;
- items: from a click on a point or a cell until its items are listed;
- live: from a saved label until an open page shows that there is one, or figures with it;
- figures: from a saved label until its figures are complete.

Also the time until the server answers, and its resident memory after each page.
"""

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from playwright.sync_api import Error

from core.labels import Target
from pages.parts.sections import SECTIONS
from storage.db import connections
from storage.studies import studies
from tests.bench import large_study
from tests.bench.databases import POSTGRESQL_HELP, Database, resident_megabytes, summarize, temporary_database
from tests.bench.servers import open_window, serving
from tests.browser.conftest import Served
from tests.storage.shared import store_label

LIMIT = 240_000
"""Milliseconds that a page may take: the first figures of a large study take minutes on a busy machine."""
SCRIPT = """
const main = () => document.querySelector('[data-testid=stMain]');
const loading = '[data-testid=stSpinner], [data-testid=stSkeleton], [data-stale=true]';
const content = [
  '.js-plotly-plot .main-svg', '[data-testid=stDataFrame] canvas', '[data-testid=stTable]', '[data-testid=stMetric]',
  '[data-testid=stAlert]', 'label-workbench[data-phase]:not([data-phase=loading])', '[data-testid=stPageLink]',
].join(', ');
const isDrawn = () => main()?.querySelector('h1, label-workbench') && main().querySelector(content)
  && !main().querySelector(loading);
const isRunning = () => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState !== 'notRunning';
const texts = () => [...main().querySelectorAll(
  ':is([data-testid=stMarkdown], [data-testid=stCaptionContainer], [data-testid=stHeading], [data-testid=stAlert]),'
  + ' .js-plotly-plot',
)].map((element) => element.textContent).join('');
const watch = (isDone) => new Promise((resolve, reject) => {
  const end = performance.now() + LIMIT;
  const look = () => {
    if (isDone()) return resolve(performance.now());
    if (performance.now() > end) return reject(new Error('The page is not drawn.'));
    requestAnimationFrame(look);
  };
  look();
});
let clicked = 0;
let seen = '';
let title = '';
const heading = () => main()?.querySelector('h1')?.textContent ?? '';
addEventListener('pointerdown', () => { clicked = performance.now(); title = heading(); }, true);
window.bench = {
  loaded: () => watch(isDrawn),
  complete: () => watch(() => isDrawn() && !isRunning()),
  picture: async () => await watch(() => isDrawn() && heading() !== title) - clicked,
  remember: () => { seen = texts(); clicked = performance.now(); },
  changed: async () =>
    await watch(() => texts() !== seen && isDrawn() && !isRunning()) - clicked,
  shown: async () => await watch(() => texts() !== seen) - clicked,
  settled: async () =>
    await watch(() => isDrawn() && !isRunning() && !texts().includes('in the background')) - clicked,
  listed: async () => await watch(() => !isRunning() && [...main().querySelectorAll('h3')].some(
    (title) => title.textContent.startsWith('Selected'),
  ) && isDrawn()) - clicked,
};
"""


@dataclass(frozen=True)
class Visited:
    """A page: its address, the choice that filters it, and whether a click on a chart lists items."""

    path: str
    filter: str = ""
    lists_items: bool = False
    items_query: str = ""
    """The parameters of the address with a chart whose points list items."""
    query: str = ""
    """Parameters of the address without which the page draws nothing."""
    live: bool = False
    """Whether it shows figures that depend on labels."""


PAGES = {section.path: Visited(section.path) for section in SECTIONS} | {
    "overview": Visited("", live=True),
    "judges": Visited("judges", "Scenario", True, "section=A versus B", live=True),
    "biases": Visited("biases", "Scenario", live=True),
    "causes": Visited("causes", "Scenario", live=True),
    "systems": Visited("systems", "Judge", live=True),
    "agreement": Visited("agreement", lists_items=True, live=True),
    "alignment": Visited("alignment", lists_items=True, live=True),
    "discussions": Visited("discussions", live=True),
    "compare_runs": Visited("compare_runs", "Scenario", live=True),
    "traces": Visited("traces", "Run"),
    "search": Visited("search", query="text=Question 77777"),
}


COLUMNS = ("load", "picture", "filter", "items", "live", "figures")


def address(served: Served, visited: Visited) -> str:
    return f"{served.address}/{visited.path}?study={quote(large_study.STUDY)}{visited.query and '&'}{visited.query}"


def measure(
    context: Any, served: Served, visited: Visited, visits: int, labeller: "Labeller"
) -> tuple[float, dict[str, list[float]]]:
    """Return the milliseconds of the first visit of a page, and of the others by column."""
    times: dict[str, list[float]] = {column: [] for column in COLUMNS}
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    open_address(page, served, visited)
    first = page.evaluate("bench.settled()")
    for number in range(1, visits + 1):
        open_address(page, served, visited)
        times["load"].append(page.evaluate("bench.loaded()"))
        page.evaluate("bench.complete()")
        if visited.filter:
            times["filter"] += measure_filter(page, visited.filter, number)
        if visited.lists_items:
            page.goto(f"{address(served, visited)}&{visited.items_query}", wait_until="commit")
            page.evaluate("bench.complete()")
            times["items"] += measure_items(page, number)
        times["picture"] += measure_picture(page, visited)
    if visited.live:
        open_address(page, served, visited)
        for _ in range(visits):
            page.evaluate("bench.settled()")
            page.evaluate("bench.remember()")
            labeller.save()
            times["live"].append(page.evaluate("bench.shown()"))
            times["figures"].append(page.evaluate("bench.settled()"))
    page.close()
    return first, times


def open_address(page: Any, served: Served, visited: Visited) -> None:
    page.goto(address(served, visited), wait_until="commit")


def measure_picture(page: Any, visited: Visited) -> list[float]:
    """Go to another entry of the sidebar and back; [] if no entry is of this page, or it has no heading or a query."""
    entries = page.locator("[data-testid=stSidebar] [data-testid=stPageLink-NavLink]")
    paths = [urlsplit(link.get_attribute("href")).path for link in entries.all()]
    if visited.query or page.locator("label-workbench").count() or visited.path not in paths:
        return []
    own = paths.index(visited.path)
    taken = 0.0
    for place in (len(paths) - 1 if own == 0 else 0, own):
        entries.nth(place).click()
        taken = page.evaluate("bench.picture()")
        page.evaluate("bench.complete()")
    tab = page.locator(f".st-key-sections [href^='{visited.path}?']")
    if visited.path and tab.count() and urlsplit(page.url).path.strip("/") != visited.path:
        tab.click()
        taken = page.evaluate("bench.picture()")
        page.evaluate("bench.complete()")
    return [taken]


@dataclass
class Labeller:
    """An annotator in another process than the server."""

    engine: Any
    number: int = 0

    def save(self) -> None:
        """Save a label of an item that this annotator has not labelled."""
        target = Target(item=f"item {self.number}", kind="preference", criterion=large_study.CRITERION)
        self.number += 1
        with connections.writing(self.engine) as session:
            study = studies.get(session, large_study.STUDY)
            store_label(session, study.id, target, "annotator of the benchmark", 1 + self.number % 2)


def measure_filter(page: Any, label: str, number: int) -> list[float]:
    """Choose the option with a number, and return the milliseconds until the page is complete; [] without it."""
    page.evaluate("bench.remember()")
    page.locator("[data-testid=stMain]").get_by_label(label, exact=False).first.click()
    options = page.get_by_role("option")
    options.first.wait_for()
    if options.count() <= number:
        return []
    page.evaluate("bench.remember()")
    options.nth(number).click()
    return [page.evaluate("bench.changed()")]


def measure_items(page: Any, number: int) -> list[float]:
    """Click a point of the first chart with points; return the milliseconds until its items are listed."""
    cells = page.locator("[data-testid=stMain] .js-plotly-plot .nsewdrag")
    points = page.locator("[data-testid=stMain] .js-plotly-plot :is(.scatterlayer, .barlayer) .point")
    if points.count() > number:
        points.nth(number).scroll_into_view_if_needed()
        box = points.nth(number).bounding_box()
    else:
        cells.last.scroll_into_view_if_needed()
        box = cells.last.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    return [page.evaluate("bench.listed()")]


def print_table(served: Served, options: argparse.Namespace) -> None:
    """Print the times of every page, and the memory of the server after it."""
    print(f"| page | first visit | {' | '.join(COLUMNS)} | resident MB (peak) | load average |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    labeller = Labeller(connections.connect(served.database))
    for name in options.pages:
        try:
            with open_window(served, "annotator 1") as window:
                window.add_init_script(SCRIPT.replace("LIMIT", str(LIMIT)))
                first, times = measure(window, served, PAGES[name], options.visits, labeller)
        except Error as error:
            print(f"| {name} | {str(error).partition(chr(10))[0]} |", flush=True)
            continue
        resident, peak = resident_megabytes(served.process.pid)
        print(f"| {name} | {first:.0f} | {' | '.join(map(summarize, times.values()))} "
              f"| {resident:.0f} ({peak:.0f}) | {os.getloadavg()[0]:.1f} |", flush=True)  # fmt: skip


@contextmanager
def large_database(options: argparse.Namespace) -> Iterator[Database]:
    """Yield a database with the study, which is planted if it is missing."""
    with temporary_database(postgresql=options.postgresql, url=options.database) as database:
        with connections.reading(database.engine) as session:
            is_planted = large_study.STUDY in studies.names(session)
        if not is_planted:
            start = time.perf_counter()
            large_study.plant(database.engine, options.items, options.judges, labels=options.labels)
            print(f"planted in {time.perf_counter() - start:.0f} s")
        yield database


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `large_database`."""
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--judges", type=int, default=20)
    parser.add_argument("--labels", type=int, default=2, help="labels for each item")
    parser.add_argument("--database", default="", help="the URL of a database; the study is planted if it is missing")
    parser.add_argument("--postgresql", action="store_true", help=POSTGRESQL_HELP)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_study_options(parser)
    parser.add_argument("--visits", type=int, default=5, help="warm visits of each page")
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=list(PAGES))
    options = parser.parse_args()
    with large_database(options) as database:
        start = time.perf_counter()
        with serving(database) as served:
            print(f"the server answers after {time.perf_counter() - start:.1f} s; "
                  f"resident {resident_megabytes(served.process.pid)[0]:.0f} MB")  # fmt: skip
            print("Milliseconds: median / p95 (n).\n")
            print_table(served, options)


if __name__ == "__main__":
    main()
