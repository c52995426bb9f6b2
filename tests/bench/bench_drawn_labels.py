"""Coverage of 95 % intervals of figures from labels that a design drew, in simulated studies.

    python -m tests.bench.bench_drawn_labels [STUDIES [CASE ...]] [--units N ...]

1,000 pairs, 30 % of which are disputed: A is better on half of these and on 75 % of the others; people and two judges
err more on them. Units are drawn pairs; each has labels of three people. Headline: the win rate of A with a judge's
verdicts. In `labelled_before` units are per cent of the drawn pairs of each round after the first that have labels.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

from core.labels import PREFERENCE
from core.statistics.data.arrays import Bools, Estimate, Floats
from core.statistics.data.dataset import Frames, align
from core.statistics.data.sample import answered
from core.statistics.measures.agreement import estimate_statistics
from core.statistics.measures.bias import judge_biases
from core.statistics.reports.alignment import asked_patterns, verdict_statistics
from core.statistics.reports.judge_findings import Findings
from core.statistics.reports.judges import compare_judges, rank_judges
from core.statistics.reports.systems import rate_by_games
from tests.bench.studies import Cases, print_coverage

PAIRS, DISPUTED = 1_000, 0.3
STATISTICS = ("cohen_kappa_gold", "win_rate_1_people", "advantage_probability", "longer_preferred_less_people")
AGREEMENT = ("percent", "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1")
SIZES, TRUE_PAIRS = (50, 100, 300), 200_000


class Pairs:
    """The pairs of a study with what people and judges say of each."""

    def __init__(self, rng: np.random.Generator, size: int) -> None:
        self.disputed = rng.random(size) < DISPUTED
        self.truth = np.where(rng.random(size) < self._by_dispute(0.5, 0.75), 1, 2)
        self.people = [self._noisy(rng, self._by_dispute(0.75, 0.92)) for _ in range(3)]
        self.judges = {
            "a": self._noisy(rng, self._by_dispute(0.55, 0.9)),
            "b": self._noisy(rng, self._by_dispute(0.6, 0.8)),
        }
        self.longer, self.numbers = rng.integers(1, 3, size), rng.random(size)

    def _by_dispute(self, disputed: float, agreed: float) -> Floats:
        return np.where(self.disputed, disputed, agreed)

    def _noisy(self, rng: np.random.Generator, accuracy: Floats) -> Floats:
        return np.where(rng.random(self.truth.size) < accuracy, self.truth, 3 - self.truth).astype(float)

    def draw(self, share: float | None, labels: int) -> tuple[Bools, Floats, np.ndarray]:
        """Return which pairs are drawn, with which probability, and their strata."""
        strata = np.where(self.disputed, "disputed", "agreed") if share is not None else np.full(self.truth.size, "")
        drawn, probability = np.zeros(self.truth.size, bool), np.zeros(self.truth.size)
        disputed = 0 if share is None else min(round(labels * share), int(self.disputed.sum()))
        for name, number in {"": labels, "disputed": disputed, "agreed": labels - disputed}.items():
            own = np.flatnonzero(strata == name)
            drawn[own[np.argsort(self.numbers[own])[:number]]] = own.size > 0
            probability[own] = min(1.0, number / max(1, own.size))
        return drawn, probability, strata


def figures(
    rng: np.random.Generator, labels: int, resamples: int, share: float | None = None
) -> Mapping[str, Estimate]:
    """Return the estimates from the labels of drawn pairs; without resamples, those of a study of `labels` pairs."""
    return estimates(Pairs(rng, PAIRS), share, labels, resamples) if resamples else true_figures(labels)


@cache
def true_figures(size: int) -> Mapping[str, Estimate]:
    """Return the values of a study in which all pairs have labels, which take a minute."""
    return estimates(Pairs(np.random.default_rng(0), size), None, size, 0)


def estimates(pairs: Pairs, share: float | None, labels: int, resamples: int) -> Mapping[str, Estimate]:
    size = pairs.truth.size
    drawn, probability, strata = pairs.draw(share, labels) if resamples else (np.ones(size, bool), np.ones(size), "")
    base = pd.DataFrame({"item": np.arange(size).astype(str), "kind": "preference", "criterion": "c", "part": ""})
    opinions = [base.assign(judge=name, value=one, longer=pairs.longer) for name, one in pairs.judges.items()]
    people = [base[drawn].assign(rater=f"annotator {n}", value=one[drawn]) for n, one in enumerate(pairs.people)]
    design = base.assign(stratum=strata, probability=probability, drawn=drawn, number=pairs.numbers)
    judged = pd.concat(opinions, ignore_index=True).astype({"value": object})
    rows = pd.concat(people, ignore_index=True).astype({"value": object})
    dataset = align(Frames(rows, judged, None, {}, design=design), "preference", "c", PREFERENCE)
    ranking = rank_judges(dataset, resamples=resamples, findings=Findings())
    (compared,) = compare_judges(dataset, resamples=max(2, resamples), findings=Findings())
    judge = dataset.judges["a"]
    statistics = verdict_statistics(dataset, judge, asked_patterns(dataset, judge), resamples=resamples)
    statistics |= judge_biases(dataset, judge)
    labelled = dataset.ratings.select(targets=(dataset.ratings.labels >= 0).any(axis=1))
    majority = np.where(drawn, np.median(pairs.people, axis=0), np.nan)
    return {
        **win_rates(pairs, strata, probability, drawn, majority),
        **{f"accuracy of {one.judge}": one.accuracy for one in ranking.judges},
        **{f"{one.judge} less ceiling": one.less_ceiling for one in ranking.judges},
        "human ceiling": ranking.ceiling,
        "a less b": Estimate(compared.difference, compared.low, compared.high, labels, size, 0, 0),
        **{name: statistics[name] for name in STATISTICS},
        **estimate_statistics(labelled, AGREEMENT, resamples=resamples),
    }


def win_rates(
    pairs: Pairs, strata: np.ndarray | str, probability: Floats, drawn: Bools, majority: Floats
) -> Mapping[str, Estimate]:
    """Return the win rate of A from labels and from labels and verdicts."""
    size = pairs.truth.size
    games = pd.DataFrame(
        {
            "item": np.arange(size).astype(str), "kind": "preference", "criterion": "c", "part": "", "scenario": "",
            "first": "A", "second": "B", "people": majority, "judge": pairs.judges["a"], "asked": True,
            "undecided": False, "stratum": strata, "probability": probability, "drawn": drawn,
        }
    )  # fmt: skip
    a = next(row for row in rate_by_games(games, resamples=10) if row.system == "A")
    return {
        "win rate, labels and verdicts": Estimate(a.value, a.low, a.high, 0, size, 0, 0),
        "win rate, labels": Estimate(a.people, a.people_low, a.people_high, 0, size, 0, 0),
    }


def labelled_before(rng: np.random.Generator, percent: int, resamples: int) -> Mapping[str, Estimate]:
    """All disputed pairs and 10, then 25, then 40 % of the others; before each round people chose mostly A's wins."""
    if not resamples:
        return {name: one for name, one in true_figures(percent).items() if name.startswith("win rate, ")}
    pairs = Pairs(rng, PAIRS)
    size, shares = pairs.truth.size, (0.1, 0.25, 0.4)
    first = np.where(pairs.disputed, 1, 1 + np.searchsorted(shares, pairs.numbers))
    majority = np.median(pairs.people, axis=0)
    drawn, chosen = first <= len(shares), np.zeros(size, bool)
    for number in (2, 3):
        chosen |= (first >= number) & (rng.random(size) < np.where(majority == 1, 0.3, 0.05))
    labelled = drawn & (chosen | (first == 1) | (rng.random(size) < percent / 100))
    probability = np.where(pairs.disputed, 1, shares[-1])
    agreed = ~pairs.disputed
    drawn[agreed], share = answered(first[agreed], chosen[agreed], drawn[agreed], labelled[agreed])
    probability[agreed] *= share
    strata = np.where(agreed, "agreed", "disputed")
    return win_rates(pairs, strata, probability, drawn, np.where(labelled & drawn, majority, np.nan))


def random(rng: np.random.Generator, labels: int, resamples: int) -> Mapping[str, Estimate]:
    """Drawn at random, in one stratum."""
    return figures(rng, labels, resamples)


def proportional(rng: np.random.Generator, labels: int, resamples: int) -> Mapping[str, Estimate]:
    """As many disputed pairs among the drawn ones as among all."""
    return figures(rng, labels, resamples, DISPUTED)


def half_disputed(rng: np.random.Generator, labels: int, resamples: int) -> Mapping[str, Estimate]:
    """Half of the drawn pairs are disputed."""
    return figures(rng, labels, resamples, 0.5)


def mostly_disputed(rng: np.random.Generator, labels: int, resamples: int) -> Mapping[str, Estimate]:
    """70 % of the drawn pairs are disputed."""
    return figures(rng, labels, resamples, 0.7)


CASES: Cases = {
    random: (SIZES, TRUE_PAIRS),
    proportional: (SIZES, TRUE_PAIRS),
    half_disputed: (SIZES, TRUE_PAIRS),
    mostly_disputed: (SIZES, TRUE_PAIRS),
    labelled_before: ((10, 50, 90), TRUE_PAIRS),
}

if __name__ == "__main__":
    print_coverage(__doc__, CASES)
