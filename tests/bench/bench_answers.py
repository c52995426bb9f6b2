"""What the parsers read of replies as models write them: python -m tests.bench.bench_answers

Replies read right, wrong, invented (a value where the reply states none) and lost, by type; the loss by value, which
should be the same for a value and its opposite; and the time of a reply. All sets but the first were written after the
parsers; what was read of them before any cause was fixed is shown below.
"""

import argparse
import time
from collections import Counter

from tests.core.answers.replies import ANSWERS, MEASURED, SETS, Case, cases

OUTCOMES = ("right", "wrong", "invented", "lost")
OPPOSITES = {"choice": (1, 2, 0), "truth": (True, False), "option": ("A", "B", "C", "D")}


def milliseconds(case: Case) -> float:
    """The processor time that a reply takes; it is read once."""
    start = time.process_time()
    case.reading()
    return (time.process_time() - start) * 1000


def table(replies: list[Case]) -> None:
    """One line for each type."""
    taken = [(case, milliseconds(case)) for case in replies]
    print(f"{'type':10}{'n':>6}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES) + f"{'slowest ms':>12}")
    for kind in (*ANSWERS, "all"):
        found = [(case, one) for case, one in taken if kind in (case.kind, "all")]
        counts = Counter(case.outcome() for case, _ in found)
        slowest = max(one for _, one in found)
        print(f"{kind:10}{len(found):6}" + "".join(f"{counts[one]:10}" for one in OUTCOMES) + f"{slowest:12.1f}")


def symmetry(replies: list[Case]) -> None:
    """How many replies with each value were lost."""
    for kind, values in OPPOSITES.items():
        shares = []
        for value in values:
            stated = [c for c in replies if c.kind == kind and c.expected == value and type(c.expected) is type(value)]
            lost = sum(case.outcome() == "lost" for case in stated)
            shares.append(f"{value}: {lost} of {len(stated)}")
        print(f"lost, {kind}: {', '.join(shares)}")


def main() -> None:
    replies = [case for name in SETS for case in cases(name)]
    table(replies)
    symmetry(replies)
    for name, counts in MEASURED.items():
        print(f"{name} set when it was written: {', '.join(f'{what} {count}' for what, count in counts.items())}")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
