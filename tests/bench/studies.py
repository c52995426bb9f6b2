"""The arguments of programs that simulate studies."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

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
