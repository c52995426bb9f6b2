"""Cost of the pages against the size: python -m tests.bench.bench_page_sizes ITEMS=URL ... [--pages PAGE ...]

Draws every page three times for each database, each size in a process of its own, and prints the processor seconds of
the fastest of the last two drawings, with the slope of their logarithms from the second largest to the largest size:
1 is proportional to the items. With SQLite these are the seconds of the queries too. Pages record views: use copies of
databases.
"""

import argparse
import math
import multiprocessing
import os
import time

from storage import database
from tests.bench import large_study
from tests.bench.bench_queries import SCRIPTS, draw


def seconds_of_pages(url: str, pages: list[str]) -> list[float]:
    """Return the processor seconds of the pages, warm."""
    os.environ[database.URL_VARIABLE] = url
    return [_seconds(page) for page in pages]


def _seconds(page: str) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        errors = draw(page, large_study.STUDY, "annotator 1")
        times.append(time.process_time() - start)
        if errors:
            raise SystemExit(f"{page}: {errors[0]}")
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("databases", nargs="+", metavar="ITEMS=URL", help="at least two, by size")
    parser.add_argument("--pages", nargs="+", choices=SCRIPTS, default=SCRIPTS, metavar="PAGE")
    options = parser.parse_args()
    pairs = [text.split("=", 1) for text in options.databases]
    sizes = [int(items) for items, _ in pairs]
    context = multiprocessing.get_context("spawn")
    columns = []
    for _, url in pairs:
        with context.Pool(1) as pool:
            columns.append(pool.apply(seconds_of_pages, (url, options.pages)))
    print("| page |", " | ".join(f"{items:,}" for items in sizes), "| slope |")
    print("|---" * (len(sizes) + 2) + "|")
    for page, *seconds in zip(options.pages, *columns, strict=True):
        slope = math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])
        print("|", page, "|", " | ".join(f"{value:.3f}" for value in seconds), f"| {slope:.2f} |")


if __name__ == "__main__":
    main()
