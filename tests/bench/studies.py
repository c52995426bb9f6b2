"""Programs that simulate studies: their arguments, and datasets of preferences."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from core.labels import PREFERENCE
from core.statistics.data.dataset import Dataset, Frames, build_datasets

Case = Callable[..., Any]
"""A function that draws a study; its name is that of the case."""


class Arguments(NamedTuple):
    """What is simulated."""

    studies: int
    cases: Sequence[str]
    """Names; empty: all cases."""
    units: Sequence[int]
    """Sizes of a study; empty: all sizes of the case."""

    def has(self, case: Case) -> bool:
        return not self.cases or case.__name__ in self.cases

    def sizes(self, of_case: Sequence[int]) -> list[int]:
        """Return the sizes of the case that are chosen."""
        return [size for size in of_case if not self.units or size in self.units]


def read_arguments(description: str | None, cases: Iterable[Case] = ()) -> Arguments:
    """Return the arguments of the program; ends it with a message if a case does not exist."""
    names = [case.__name__ for case in cases]
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="?", type=int, default=1000, help="of each size, 1000 by default")
    if names:
        parser.add_argument("cases", nargs="*", metavar="CASE", help=f"all by default: {', '.join(names)}")
        parser.add_argument("--units", nargs="+", type=int, default=[], help="sizes of a study, all by default")
    given = parser.parse_args(namespace=argparse.Namespace(cases=[], units=[]))
    for name in given.cases:
        if name not in names:
            parser.error(f"There is no case {name}.")
    return Arguments(given.studies, given.cases, given.units)


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
