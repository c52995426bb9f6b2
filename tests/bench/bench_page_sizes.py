"""Cost of the pages against the size: python -m tests.bench.bench_page_sizes SIZE=URL ... [--pages PAGE ...]

Draws every page for each database, each size in a process of its own, and prints processor seconds: *first* until the
page is complete with figures that are computed in the background, and *warm* of the faster one of two later drawings.
SIZE is the number of items, or of what else differs between the databases. The slopes are those of the logarithms from
the second largest to the largest size: 1 is proportional to the size. The pages share their caches, so what several
pages need counts for the first one; `--alone` draws each page in a process of its own. With SQLite the seconds of the
queries are included. Pages record views: use copies of databases.
"""

import argparse
import math
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import NamedTuple

from storage.db import connections
from tests.bench import large_study
from tests.bench.bench_queries import SCRIPTS, draw, draw_complete


class Cost(NamedTuple):
    """Processor seconds of a page."""

    first: float
    warm: float


def seconds_of_pages(url: str, pages: list[str]) -> list[Cost]:
    """Return the processor seconds of the pages, in this order in one process."""
    os.environ[connections.URL_VARIABLE] = url
    return [_cost(page) for page in pages]


def _cost(page: str) -> Cost:
    return Cost(_seconds(draw_complete, page), min(_seconds(draw, page) for _ in range(2)))


def _seconds(drawing: Callable[[str, str, str], list[str]], page: str) -> float:
    start = time.process_time()
    errors = drawing(page, large_study.STUDY, "annotator 1")
    if errors:
        raise SystemExit(f"{page}: {errors[0]}")
    return time.process_time() - start


def slope(sizes: list[int], seconds: list[float]) -> str:
    """Return the slope of the logarithms between the two largest sizes."""
    return f"{math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2]):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("databases", nargs="+", metavar="SIZE=URL", help="at least two, by size")
    parser.add_argument("--pages", nargs="+", choices=SCRIPTS, default=SCRIPTS, metavar="PAGE")
    parser.add_argument("--alone", action="store_true", help="draw each page in a process of its own")
    options = parser.parse_args()
    pairs = [text.split("=", 1) for text in options.databases]
    sizes = [int(size) for size, _ in pairs]
    groups = [[page] for page in options.pages] if options.alone else [options.pages]
    names = [f"{size:,}" for size in sizes]
    print("| page |", " | ".join(f"{name} first" for name in names), "| slope |", end=" ")
    print(" | ".join(f"{name} warm" for name in names), "| slope |\n" + "|---" * (2 * len(sizes) + 3) + "|")
    context = multiprocessing.get_context("spawn")
    for group in groups:
        columns = []
        for _, url in pairs:
            with context.Pool(1) as pool:
                columns.append(pool.apply(seconds_of_pages, (url, group)))
        for page, *costs in zip(group, *columns, strict=True):
            first, warm = ([cost[place] for cost in costs] for place in (0, 1))
            cells = [*(f"{value:.2f}" for value in first), slope(sizes, first)]
            cells += [*(f"{value:.3f}" for value in warm), slope(sizes, warm)]
            print("|", " | ".join([page, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
