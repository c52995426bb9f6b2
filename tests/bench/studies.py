"""Programs that simulate studies: their arguments, the coverage of intervals, and datasets of preferences."""

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from core.labels import PREFERENCE
from core.statistics.data.arrays import Estimate
from core.statistics.data.dataset import Dataset, Frames, build_datasets

RESAMPLES = 1000
Draw = Callable[[np.random.Generator, int, int], Mapping[str, Estimate]]
"""(generator, units, resamples) -> estimates by name."""
Cases = Mapping[Draw, tuple[tuple[int, ...], int]]
"""Case -> the numbers of units, and the units of the study that has the true value."""


def print_tables(
    description: str | None,
    cases: Mapping[Any, Sequence[int]],
    note: Callable[[int], str],
    cells: Callable[[Any, int, int], Mapping[str, str]],
    width: int,
) -> None:
    """Print a table for each case that the arguments of the program choose: a row for each name, a column a size.

    `cases`: case -> its sizes; `cells` returns name -> text of a case, a size and a number of studies.
    """
    warnings.simplefilter("ignore")
    names = [case.__name__ for case in cases]
    known = f"all by default: {', '.join(names)}"
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="?", type=int, default=1000, help="of each size, 1000 by default")
    parser.add_argument("cases", nargs="*", metavar="CASE", default=[], choices=[*names, []], help=known)
    parser.add_argument("--units", nargs="+", type=int, default=[], help="sizes of a study, all by default")
    given = parser.parse_args()
    print(note(given.studies))
    for draw, sizes in cases.items():
        if given.cases and draw.__name__ not in given.cases:
            continue
        columns = {size: cells(draw, size, given.studies) for size in sizes if size in (given.units or sizes)}
        print(f"\n{' '.join((draw.__doc__ or '').split())}")
        print(" " * 60 + "".join(f"{size:>{width}}" for size in columns))
        for name in dict.fromkeys(name for column in columns.values() for name in column):
            texts = (column.get(name, "–") for column in columns.values())
            print(f"  {name:<58}" + "".join(f"{text:>{width}}" for text in texts), flush=True)


def print_coverage(description: str | None, cases: Cases) -> None:
    """Print how often intervals hold the truth, in the cases that the arguments of the program choose."""

    @cache
    def truth(draw: Draw) -> Mapping[str, Estimate]:
        return draw(np.random.default_rng(99), cases[draw][1], 0)

    def note(studies: int) -> str:
        return f"{studies} studies each; Monte Carlo error +-{196 * (0.95 * 0.05 / studies) ** 0.5:.1f} points"

    def cells(draw: Draw, units: int, studies: int) -> dict[str, str]:
        return coverage(draw, units, truth(draw), studies)

    print_tables(description, {draw: sizes for draw, (sizes, _) in cases.items()}, note, cells, 14)


def coverage(draw: Draw, units: int, truth: Mapping[str, Estimate], studies: int) -> dict[str, str]:
    """Return the share of studies whose interval holds the true value, in per cent.

    A study without an interval does not hold it; in brackets is the share without an interval, if there are any.
    """
    held, without = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    rng = np.random.default_rng(units)
    for _ in range(studies):
        for name, estimate in draw(rng, units, RESAMPLES).items():
            value, low, high = truth[name].value, estimate.low, estimate.high
            without[name] += low is None or high is None
            held[name] += value is not None and low is not None and high is not None and low <= value <= high
    ends = {name: f" ({100 * count / studies:.1f})" if count else "" for name, count in without.items()}
    return {name: f"{100 * count / studies:.1f}{ends[name]}" for name, count in held.items()}


def estimate_of(value: Any, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(None if value is None else float(value), low, high, 0, 0, 0, 0, 0, "")


def dataset_of(people: Mapping[str, np.ndarray], judges: Mapping[str, np.ndarray], **sides: np.ndarray) -> Dataset:
    """Return a dataset of preferences, values 1 and 2; `sides` are further columns of the verdicts."""
    items = len(next(iter(people.values())))
    common = {
        "item": [f"i{n}" for n in range(items)],
        "scenario": "s",
        "kind": "preference",
        "criterion": "c",
        "part": "",
    }
    labels = pd.concat(pd.DataFrame(common | {"rater": name, "value": values}) for name, values in people.items())
    opinions = pd.concat(
        pd.DataFrame(common | {"rater": name, "judge": name, "value": values} | sides)
        for name, values in judges.items()
    )
    (dataset,) = build_datasets(Frames(labels, opinions, None, {("preference", "c"): PREFERENCE}), "all")
    return dataset
