"""Planted judges are ranked and their biases found.

python -m tests.bench.bench_planted_judges

Each study has three annotators and five judges: strong, mid (it follows the length of responses on 40 % of the pairs),
weak (it follows the position on half of them, and abstains on 60 %), constant and random. Of all possible annotators, a
share of Beta(.4, .4) prefers response 1 of a pair.
"""

import argparse
from collections import Counter
from dataclasses import dataclass
from itertools import chain

import numpy as np

from core.statistics.data.dataset import Dataset
from core.statistics.reports.discussions import Debate, StatedOpinion, change_rows, influence_rows
from core.statistics.reports.judge_findings import bias_rows
from core.statistics.reports.judges import rank_judges
from tests.bench.studies import dataset_of

ITEMS, ANNOTATORS = 400, 3
PLANTED = {("mid", "length"), ("weak", "position")}
LENGTH_EFFECT = 0.2
"""Half of the share of pairs on which mid follows the length."""
RIGHT = {"A": 0.95, "B": 0.5, "C": 0.6}
"""Shares of right first opinions in planted debates."""
ADOPTED = 0.6
"""The share of A's differing opinions that B adopts in planted debates."""
CLEAR = (1 / 3, 2 / 3)
"""A target is clear if the share of people for response 1 is outside of these limits."""


@dataclass(frozen=True)
class Outcome:
    """What the reports find in one study."""

    order: tuple[str, ...]
    """The judges, the most accurate first."""
    decisions: dict[str, str]
    found: frozenset[tuple[str, str]]
    """The (judge, bias) that are found."""


def plant(seed: int, items: int = ITEMS, *, biased: bool = True) -> Dataset:
    """Return a study; without biases, mid and weak err as often for other reasons."""
    rng = np.random.default_rng(seed)
    share = rng.beta(0.4, 0.4, items)
    truth = np.where(share > 0.5, 1, 2)
    is_clear = (share < CLEAR[0]) | (share > CLEAR[1])
    longer = np.where(rng.random(items) < 0.6, truth, 3 - truth)
    first = rng.integers(1, 3, items)

    def judge(error: float) -> np.ndarray:
        wrong = rng.random(items) < np.where(is_clear, error, 0.5)
        return np.where(wrong, 3 - truth, truth)

    def follow(side: np.ndarray, strength: float, verdicts: np.ndarray) -> np.ndarray:
        chosen = side if biased else rng.integers(1, 3, items)
        return np.where(rng.random(items) < strength, chosen, verdicts)

    verdicts = {
        "strong": judge(0.03).astype(float),
        "mid": follow(longer, 0.4, judge(0.05)).astype(float),
        "weak": np.where(rng.random(items) < 0.6, np.nan, follow(first, 0.5, judge(0.1))),
        "constant": np.ones(items),
        "random": rng.integers(1, 3, items).astype(float),
    }
    labels = {f"a{number}": np.where(rng.random(items) < share, 1, 2) for number in range(ANNOTATORS)}
    return dataset_of(labels, verdicts, shown_first=first, longer=longer)


def evaluate(study: Dataset, resamples: int = 1000) -> Outcome:
    """Return what the reports of the pages Judges and Biases find."""
    ranking = rank_judges(study, resamples=resamples)
    found = frozenset((row.judge, row.bias) for row in bias_rows(study, {}) if row.found)
    decisions = {judge.judge: judge.decision for judge in ranking.judges}
    return Outcome(tuple(judge.judge for judge in ranking.judges), decisions, found)


def is_ranked_as_planted(outcome: Outcome) -> bool:
    """Return whether strong and mid are first, and the judge that abstains last."""
    return outcome.order[:2] == ("strong", "mid") and outcome.order[-1] == "weak"


def plant_debates(seed: int, targets: int = 60) -> list[Debate]:
    """Return debates of two rounds: B adopts the opinion of A, a better judge, on 60 % of those that differ."""
    rng = np.random.default_rng(seed)
    debates = []
    for number in range(targets):
        truth = int(rng.integers(1, 3))
        first = {name: truth if rng.random() < right else 3 - truth for name, right in RIGHT.items()}
        last = first | ({"B": first["A"]} if rng.random() < ADOPTED else {})
        said = [StatedOpinion(name, place, given[name]) for place, given in enumerate((first, last)) for name in "ABC"]
        debates.append(Debate(number, f"i{number}", (tuple(said),), truth))
    return debates


def adoption_is_covered(debates: list[Debate]) -> bool:
    """Return whether the interval of the share of A's opinions that B adopts holds the planted one."""
    row = next(row for row in influence_rows(debates) if (row.judge, row.source) == ("B", "A"))
    return row.low <= ADOPTED <= row.high


def finds_changes_to_people(debates: list[Debate]) -> bool:
    """Return whether B, which adopts a better judge's opinions, is found to change to the truth, and no other judge."""
    found = {row.judge for row in change_rows(debates, "ABC") if row.p_corrected < 0.05 and row.towards > row.away}
    return found == {"B"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--studies", type=int, default=1000, help="of the error rates")
    options = parser.parse_args()
    outcomes = [evaluate(plant(seed)) for seed in range(options.seeds)]
    print(f"{len(outcomes)} seeds, {ITEMS} pairs, {ANNOTATORS} annotators:")
    print(f"  strong, mid first and weak last: {sum(map(is_ranked_as_planted, outcomes))}")
    for judge in outcomes[0].decisions:
        counts = Counter(outcome.decisions[judge] for outcome in outcomes)
        print(f"  {judge}: " + ", ".join(f"{decision} {count}" for decision, count in sorted(counts.items())))
    for judge, bias in sorted(PLANTED):
        print(f"  {bias} of {judge} found: {sum((judge, bias) in outcome.found for outcome in outcomes)}")
    print(f"  seeds with another finding: {sum(bool(outcome.found - PLANTED) for outcome in outcomes)}")
    unbiased = (bias_rows(plant(seed, biased=False), {}) for seed in range(options.studies))
    false = np.mean([any(row.found for row in rows) for rows in unbiased])
    print(f"{options.studies} studies without a bias: {false:.1%} have a finding")
    rows = chain.from_iterable(bias_rows(plant(seed), {}) for seed in range(options.studies))
    effects = [row.effect for row in rows if (row.judge, row.bias) == ("mid", "length")]
    held_length = np.mean([(one.low or 0) <= LENGTH_EFFECT <= (one.high or 0) for one in effects])
    print(f"{options.studies} studies: the interval of the planted effect of length holds it in {held_length:.1%}")
    debates = [plant_debates(seed) for seed in range(options.studies)]
    held_adoption, found_changes = (
        np.mean([*map(check, debates)]) for check in (adoption_is_covered, finds_changes_to_people)
    )
    print(f"{options.studies} studies of 60 debates: the interval of the adopted share holds it in {held_adoption:.1%}")
    print(f"  changes of B to people's answer, and of no other judge, are found in {found_changes:.1%}")


if __name__ == "__main__":
    main()
