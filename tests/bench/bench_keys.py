"""Key press to painted change, in the installed chromium on the app: python -m tests.bench.bench_keys --others 20

A study of disputed debates gets 100,000 labels, as in `bench_workbench`. An annotator labels in the browser, one key in
120 ms (answer, submit, next); meanwhile other annotators label through the same routes, each once in 5 s. `next` are
the keys that show another target, `saved` is from an action to its stored result.
"""

import argparse
import time
from typing import Any
from urllib.parse import quote

from tests.bench.annotators import Annotator, labelling
from tests.bench.bench_workbench import STUDY, plant
from tests.bench.databases import print_load, print_times, temporary_database
from tests.bench.servers import open_window, serving
from tests.browser import key_times
from tests.browser.conftest import Served, start

RHYTHM = 0.12
"""Seconds between two keys."""


def press(page: Any, labels: int) -> None:
    """Give labels in a fixed rhythm: answer, submit, next."""
    for key in ["1", "Enter", "Enter"] * labels:
        begun = time.monotonic()
        page.keyboard.press(key)
        time.sleep(max(0.0, RHYTHM - (time.monotonic() - begun)))
    page.wait_for_function("() => !document.querySelector('label-workbench').outbox.waiting")


def measure(served: Served, labels: int) -> dict[str, list[float]]:
    """Label in the browser, and return the times in seconds."""
    with open_window(served, "newcomer") as window:
        page = window.new_page()
        page.goto(f"{served.address}/disagreements?study={quote(STUDY)}")
        start(page)
        press(page, 20)
        page.evaluate(key_times.RECORD)
        press(page, labels)
        times = key_times.recorded(page)
    return {name: [value / 1000 for value in values] for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=100_000, help="labels that are stored before")
    parser.add_argument("--count", type=int, default=100, help="labels that are given in the browser")
    parser.add_argument("--others", type=int, default=0, help="other annotators who label meanwhile")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between two labels of each of them")
    options = parser.parse_args()
    with temporary_database() as database:
        plant(database.engine, options.labels)
        with serving(database) as served:
            others = [Annotator(served.address, f"other {number}") for number in range(options.others)]
            with labelling(others, options.pause):
                times = measure(served, options.count)
    print(f"{options.labels:,} labels stored, {options.count} given in the browser, {options.others} other annotators:")
    for name, seconds in times.items():
        print_times(name, seconds)
    print(f"  labels of the others: {sum(len(one.times) for one in others)}")
    print_load()


if __name__ == "__main__":
    main()
