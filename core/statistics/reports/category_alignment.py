"""What is said of one judge whose verdicts are categories: accuracy, kappa, the ceiling, the alt-test."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.statistics import remarks
from core.statistics.data.arrays import Bools, Codes, Floats, ratio
from core.statistics.data.dataset import Joined, Judged
from core.statistics.data.estimate import Estimate
from core.statistics.data.panel import Panel, hits, kappa, panel
from core.statistics.data.ratings import Ratings
from core.statistics.measures import kernels
from core.statistics.measures.alternative_annotator import EPSILON, AlternativeTest, alternative_test
from core.statistics.measures.ceiling import ceiling
from core.statistics.measures.intervals import Resampled, resample
from core.statistics.measures.kernels import Statistic
from core.statistics.measures.means import share


@dataclass(frozen=True)
class Measure:
    """A statistic of a panel, and what it stands on."""

    name: str
    statistic: Statistic
    used: Bools
    """(P,): the patterns whose items it uses."""
    pairs: int
    note: str = ""
    is_share: bool = False
    """A share of items, so that Wilson's interval serves where every item comes out alike."""


def of_verdicts(
    joined: Joined, judged: Judged, *, epsilon: float = EPSILON, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Everything said of a judge on categories, by name."""
    here = seated(joined, judged)
    measures = list(measures_of(joined, here))
    family = kernels.together([measure.statistic for measure in measures])
    found = resample(family, here.units, resamples, seed)
    asked = int(judged.asked.sum())
    estimates = {measure.name: told(measure, one, here, asked) for measure, one in zip(measures, found, strict=True)}
    labels = np.where(here.people >= 0, here.people, np.nan)
    test = alternative_test(
        labels,
        np.where(here.judge >= 0, here.judge, np.nan),
        here.names,
        numeric=False,
        units=here.units,
        epsilon=epsilon,
    )
    return {
        "no_verdict_rate": no_verdict(judged),
        **estimates,
        "system_level_agreement": system_level(joined, judged),
        **of_test(test, asked, resamples, seed),
    }


def seated(joined: Joined, judged: Judged) -> Panel:
    """The panel of the targets that the judge was asked about."""
    asked = joined.part(joined.group, judged.asked)
    if not isinstance(asked.people, Ratings):
        raise TypeError("a scale without categories has no verdicts, see `scored`")
    return panel(asked.people, coded(judged.values[judged.asked]), coded(asked.gold))


def coded(values: Floats) -> Codes:
    """Codes with nan as -1."""
    return np.where(np.isnan(values), -1, values).astype(np.int16)


def measures_of(joined: Joined, here: Panel) -> Iterator[Measure]:
    """The measures that this kind and scale have."""
    given = here.judge >= 0
    unruled = "" if joined.ruled else "nothing was adjudicated: gold is the majority of people"
    split = here.items((here.counts.sum(axis=1) > 0) & (here.majority < 0))
    no_majority = f"{split} items have no majority and are left out" if split else ""
    for name, reference, note in (
        ("gold", here.gold, unruled),
        ("majority", here.majority, no_majority),
    ):
        used = given & (reference >= 0)
        n = here.items(used)
        yield Measure(f"accuracy_{name}", hits(here.judge, reference, used), used, n, note, True)
        yield Measure(f"cohen_kappa_{name}", kappa(here.judge, reference, here.kinds), used, n, note)
        if joined.scale.level != "nominal":
            weighted = kappa(here.judge, reference, here.kinds, kernels.quadratic(here.kinds))
            yield Measure(f"cohen_kappa_quadratic_{name}", weighted, used, n, note)
    there = here.gold >= 0
    yield Measure(
        "example_level_agreement",
        hits(here.judge, here.gold, there),
        there,
        here.items(there),
        "no verdict counts as a disagreement",
        True,
    )
    yield from of_ceiling(here)
    if joined.kind == "preference":
        yield from win_rates(joined, here)


def of_ceiling(here: Panel) -> Iterator[Measure]:
    """People against each other and the judge against the same others."""
    found = ceiling(here)
    if found is not None:
        note = f"mean over {found.raters} people left out in turn"
        for name, statistic in (
            ("human_ceiling", found.people),
            ("judge_against_others", found.judge),
            ("judge_less_ceiling", found.above),
        ):
            yield Measure(name, statistic, found.used, found.tests, note)


def win_rates(joined: Joined, here: Panel) -> Iterator[Measure]:
    """How often response 1 wins, a tie one half: by the judge and by the gold, on the same items."""
    worth = np.array([{1: 1.0, 2: 0.0}.get(int(c), 0.5) for c in joined.scale.categories])
    used = (here.judge >= 0) & (here.gold >= 0)
    for name, chosen in (("win_rate_1", here.judge), ("win_rate_1_people", here.gold)):
        yield Measure(name, mean_worth(worth, chosen, used), used, here.items(used), "a tie is one half")


def mean_worth(worth: Floats, chosen: Codes, used: Bools) -> Statistic:
    """The mean worth (K,) of what was chosen (P,)."""
    features = np.column_stack([np.where(used, worth[chosen], 0), used])

    def value(weights: Floats) -> Floats:
        sums = weights @ features
        return ratio(sums[:, 0], sums[:, 1])

    return value


def told(measure: Measure, one: Resampled, here: Panel, asked: int) -> Estimate:
    """The measure's estimate with its reason."""
    items = here.items(measure.used)
    raters = int((here.people[measure.used] >= 0).any(axis=0).sum())
    low, high = one.low, one.high
    if measure.is_share and one.value is not None and low is None and here.units.clusters is None:
        _, low, high = share(round(one.value * items), items)
    return Estimate(
        one.value,
        low,
        high,
        items,
        asked,
        raters,
        measure.pairs,
        one.dropped,
        remarks.of_a_judge(measure.name, one.value, low, items, measure.note),
    )


def no_verdict(judged: Judged) -> Estimate:
    """The share of the targets asked about that got no verdict, with Wilson's interval."""
    asked = int(judged.asked.sum())
    none = int((judged.asked & np.isnan(judged.values)).sum())
    value, low, high = share(none, asked)
    return Estimate(value, low, high, asked, asked, 0, 0, 0, "" if asked else "never asked")


def system_level(joined: Joined, judged: Judged) -> Estimate:
    """ScaleEval's system-level agreement rate (Chern et al. 2024, eq. 3), averaged over scenarios.

    In each scenario 1 if the judge's most frequent value is the gold's most frequent value, else 0;
    a tie for the most frequent has no mode, so that the scenario is left out.
    """
    both = ~np.isnan(judged.values) & ~np.isnan(joined.gold)
    equal, tied = [], 0
    for scenario in np.unique(joined.scenario[both].astype(str)):
        here = both & (joined.scenario.astype(str) == scenario)
        modes = mode(judged.values[here]), mode(joined.gold[here])
        if None in modes:
            tied += 1
        else:
            equal.append(modes[0] == modes[1])
    value = float(np.mean(equal)) if equal else None
    reason = remarks.of_modes(len(equal), tied)
    return Estimate(value, None, None, int(both.sum()), int(judged.asked.sum()), 0, 0, 0, reason)


def mode(values: Floats) -> float | None:
    """The most frequent value; None where two are equally frequent."""
    found, times = np.unique(values, return_counts=True)
    most = found[times == times.max()]
    return float(most[0]) if most.size == 1 else None


def of_test(test: AlternativeTest, asked: int, resamples: int, seed: int) -> dict[str, Estimate]:
    """The alternative-annotator test as two estimates."""
    if not test.contests:
        reason = remarks.untested(test.skipped)
        nothing = Estimate(None, None, None, 0, asked, 0, 0, 0, reason)
        return {"advantage_probability": nothing, "winning_rate": nothing}
    (one,) = resample(kernels.together([test.advantage]), test.units, resamples, seed)
    items = int(test.units.times[test.used].sum())
    pairs = sum(contest.items for contest in test.contests)
    shared = (items, asked, len(test.contests), pairs)
    return {
        "advantage_probability": Estimate(
            one.value, one.low, one.high, *shared, one.dropped, remarks.of_test(test.skipped)
        ),
        "winning_rate": Estimate(
            test.winning_rate,
            None,
            None,
            *shared,
            0,
            remarks.of_contests([(c.rater, c.won, c.p) for c in test.contests], test.skipped),
        ),
    }
