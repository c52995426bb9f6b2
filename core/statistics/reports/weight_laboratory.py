"""Stored aspect scores under other weights: is the gain over one overall score from decomposing or from weighting?

Nothing is asked again. The overall score of a response is the weighted sum of its stored scores by aspect, under equal
weights, the judge's own, the mean of people's, or weights fitted to people's preferences on other items.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.aspects import Weights, equal_weights, heaviest_aspects, normalize_weights, overall_score, preferred_response
from core.statistics.data.arrays import Estimate, Floats
from core.statistics.measures.means import mean_estimate, share_estimate
from core.statistics.measures.texts import cross_validated_weights

EQUAL, JUDGE, PEOPLE, FITTED = "equal weights", "the judge's weights", "people's weights", "fitted weights"
OWN_SUM = "the judge's own overall scores"
# Below this many items with people's preference no weights are fitted: a fold would have two.
MIN_FIT_ITEMS = 20
# Minimum number of items for a significant gain: intervals of fewer items are too narrow.
MIN_CONCLUSION_ITEMS = 20
MAX_K = 10
# How the k heaviest aspects are weighted in the curve.
HEAVIEST, HEAVIEST_EQUAL = "the judge's weights", "equal weights"


@dataclass(frozen=True)
class ScoredPair:
    """One judge's scores by aspect of the two responses of an item."""

    item: str
    group: str
    """The dialogue or document of the item, otherwise the item: the unit of resampling and of folds."""
    scores: tuple[Weights, Weights]
    """Each response's score by aspect; both have the same aspects."""
    reference: int
    """Which response people prefer: 1, 2, or 0 for a tie."""
    judge_weights: Weights | None = None
    people_weights: Weights | None = None
    own_preference: int | None = None
    """By overall scores that the judge gave itself after scoring the aspects (a chain of aspects)."""
    baselines: Mapping[str, int] | None = None
    """Run -> the same judge's preference without aspects."""
    criterion: str = ""
    trace: int | None = None
    """The trace with these scores."""

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of the aspects."""
        return tuple(self.scores[0])

    def preference(self, weights: Weights) -> int:
        """Return the response with the higher weighted sum of scores: 1, 2, or 0 for a tie."""
        return preferred_response([overall_score(weights, scores) for scores in self.scores])


@dataclass(frozen=True)
class SchemeRow:
    """The agreement with people of one way to aggregate, or the difference between two on the same items."""

    scheme: str
    less: str
    """The scheme that is subtracted; empty for the agreement itself."""
    agreement: Estimate


@dataclass(frozen=True)
class CurvePoint:
    """The agreement if only the k heaviest aspects are summed."""

    k: int
    weighting: str
    agreement: Estimate


@dataclass(frozen=True)
class WeightRow:
    """The mean weight of one aspect, in percent, over the items that have it."""

    aspect: str
    scheme: str
    percent: float
    items: int


@dataclass(frozen=True)
class ItemDecisions:
    """An item on which the aggregations prefer different responses: 1, 2, or 0 for a tie."""

    item: str
    criterion: str
    trace: int | None
    reference: int
    preferences: Mapping[str, int | None]
    """Scheme -> its preference; None where the item has no such weights."""


@dataclass(frozen=True)
class LaboratoryReport:
    """The aggregations of one judge's scores."""

    judge: str
    schemes: tuple[SchemeRow, ...]
    curve: tuple[CurvePoint, ...]
    weights: tuple[WeightRow, ...]
    changes: tuple[ItemDecisions, ...]
    """The items on which the aggregations differ."""
    unfitted: str
    """Why no weights were fitted; empty if they were."""
    answer: str
    """Whether the gain is from decomposing or from weighting."""
    details: str


def laboratory_report(judge: str, pairs: Sequence[ScoredPair], *, resamples: int = 1000) -> LaboratoryReport:
    """Return the agreement of every aggregation, their differences, and the curve over the number of aspects."""
    fitted, unfitted = fit(pairs)
    trial = Trial(pairs, fitted, resamples)
    schemes = tuple(trial.agreements())
    texts = describe(judge, schemes)
    return LaboratoryReport(
        judge, schemes, tuple(trial.curve()), tuple(trial.mean_weights()), tuple(trial.changes()), unfitted, *texts
    )


def fit(pairs: Sequence[ScoredPair]) -> tuple[dict[int, Weights], str]:
    """Return place of the pair -> weights fitted on the other folds, and why there are none.

    Pairs can have different sets of the same aspects: an aspect that a pair does not have counts as no difference, and
    the fitted weights of the pair's own aspects are scaled to 100. Aspects of a single item cannot be fitted.
    """
    counts = Counter(aspect for pair in pairs for aspect in pair.aspects)
    shared = [aspect for aspect, count in counts.items() if count >= MIN_FIT_ITEMS]
    places = [place for place, pair in enumerate(pairs) if set(pair.aspects) <= set(shared)]
    groups = [pairs[place].group for place in places]
    if len(places) < MIN_FIT_ITEMS or len(set(groups)) < 2:
        found = len(places)
        return {}, f"they are fitted from {MIN_FIT_ITEMS} items or more that share their aspects; here are {found}"
    of_items = [pairs[place].scores for place in places]
    rows = [[first.get(aspect, 0.0) - second.get(aspect, 0.0) for aspect in shared] for first, second in of_items]
    preferred = np.array([{1: 1.0, 2: 0.0}.get(pairs[place].reference, 0.5) for place in places])
    shares = cross_validated_weights(np.array(rows), preferred, groups)
    return {place: _own_aspects(pairs[place], shared, row) for place, row in zip(places, shares, strict=True)}, ""


def _own_aspects(pair: ScoredPair, shared: Sequence[str], shares: Floats) -> Weights:
    fitted = dict(zip(shared, shares.tolist(), strict=True))
    raw = [fitted[aspect] for aspect in pair.aspects]
    return dict(zip(pair.aspects, normalize_weights(raw), strict=True)) if sum(raw) > 0 else equal_weights(pair.aspects)


@dataclass(frozen=True)
class Trial:
    """The pairs of one judge with their fitted weights."""

    pairs: Sequence[ScoredPair]
    fitted: Mapping[int, Weights]
    resamples: int

    @cached_property
    def preferences(self) -> dict[str, list[int | None]]:
        """Scheme -> the preference on each pair; None if the pair has no such weights."""
        weighted: dict[str, Callable[[int, ScoredPair], Weights | None]] = {
            EQUAL: lambda _, pair: equal_weights(pair.aspects),
            JUDGE: lambda _, pair: pair.judge_weights,
            PEOPLE: lambda _, pair: pair.people_weights,
            FITTED: lambda place, _: self.fitted.get(place),
        }
        values_by_scheme = {
            scheme: [
                None if (own := weights(place, pair)) is None else pair.preference(own)
                for place, pair in enumerate(self.pairs)
            ]
            for scheme, weights in weighted.items()
        }
        values_by_scheme[OWN_SUM] = [pair.own_preference for pair in self.pairs]
        for run in self.baselines:
            values_by_scheme[run] = [(pair.baselines or {}).get(run) for pair in self.pairs]
        return {
            scheme: values for scheme, values in values_by_scheme.items() if any(value is not None for value in values)
        }

    @cached_property
    def baselines(self) -> list[str]:
        """The runs in which the judge gave one overall score, the one of most items first."""
        names = [run for pair in self.pairs for run in pair.baselines or ()]
        return sorted(dict.fromkeys(names), key=lambda run: -names.count(run))

    def agreements(self) -> list[SchemeRow]:
        """Return each scheme's agreement, then the differences that answer the question."""
        rows = [SchemeRow(scheme, "", self._share_of_equal(values)) for scheme, values in self.preferences.items()]
        compared = [(EQUAL, run) for run in self.baselines]
        compared += [(scheme, EQUAL) for scheme in (JUDGE, PEOPLE, FITTED, OWN_SUM)]
        compared += [(JUDGE, run) for run in self.baselines]
        known = self.preferences
        return rows + [SchemeRow(a, b, self._difference(a, b)) for a, b in compared if a in known and b in known]

    def _share_of_equal(self, values: Sequence[int | None]) -> Estimate:
        used = [(value, pair) for value, pair in zip(values, self.pairs, strict=True) if value is not None]
        equal = [value == pair.reference for value, pair in used]
        return share_estimate(equal, [pair.group for _, pair in used], total=len(values))

    def _difference(self, scheme: str, less: str) -> Estimate:
        """Estimate the difference of two agreements on the pairs that have both."""
        columns = zip(self.preferences[scheme], self.preferences[less], self.pairs, strict=True)
        used = [(a, b, pair) for a, b, pair in columns if a is not None and b is not None]
        gains = [float(a == pair.reference) - (b == pair.reference) for a, b, pair in used]
        groups = [pair.group for *_, pair in used]
        return mean_estimate(gains, groups=groups, total=len(self.pairs), resamples=self.resamples)

    def changes(self) -> list[ItemDecisions]:
        """Return the items on which two aggregations prefer different responses."""
        found = []
        for place, pair in enumerate(self.pairs):
            preferences = {scheme: values[place] for scheme, values in self.preferences.items()}
            if len({preference for preference in preferences.values() if preference is not None}) > 1:
                found.append(ItemDecisions(pair.item, pair.criterion, pair.trace, pair.reference, preferences))
        return found

    def curve(self) -> list[CurvePoint]:
        """Return the agreement with the k heaviest aspects, k from 1 to the size of the largest set, at most ten.

        Aspects as heavy as the k-th are included. A pair with fewer than k aspects counts with all that it has.
        """
        pairs = [(pair, pair.judge_weights) for pair in self.pairs if pair.judge_weights]
        groups = [pair.group for pair, _ in pairs]
        largest = min(MAX_K, max((len(weights) for _, weights in pairs), default=0))
        points = []
        for k in range(1, largest + 1):
            top = [heaviest_aspects(weights, k) for _, weights in pairs]
            for weighting in (HEAVIEST, HEAVIEST_EQUAL):
                used = top if weighting == HEAVIEST else [equal_weights(tuple(one)) for one in top]
                equal = [pair.preference(one) == pair.reference for (pair, _), one in zip(pairs, used, strict=True)]
                points.append(CurvePoint(k, weighting, share_estimate(equal, groups)))
        return points

    def mean_weights(self) -> list[WeightRow]:
        """Return the mean weight of each aspect that several pairs have."""
        given: dict[tuple[str, str], list[float]] = {}
        for place, pair in enumerate(self.pairs):
            sets = {JUDGE: pair.judge_weights, PEOPLE: pair.people_weights, FITTED: self.fitted.get(place)}
            for scheme, weights in sets.items():
                for aspect, weight in (weights or {}).items():
                    given.setdefault((aspect, scheme), []).append(weight)
        return [
            WeightRow(aspect, scheme, sum(weights) / len(weights), len(weights))
            for (aspect, scheme), weights in given.items()
            if len(weights) > 1
        ]


def describe(judge: str, schemes: Sequence[SchemeRow]) -> tuple[str, str]:
    """Return in a sentence whether the gain is from decomposing or from weighting, and the agreements behind it."""
    rows = {(row.scheme, row.less): row.agreement for row in schemes}
    equal, own = rows.get((EQUAL, "")), rows.get((JUDGE, ""))
    if equal is None or equal.value is None:
        return f"No item has both scores by {judge} and people's preference.", ""
    baseline = next((row for row in schemes if row.scheme == EQUAL and row.less), None)
    gains = {"decomposing": baseline.agreement} if baseline else {}
    if (JUDGE, EQUAL) in rows:
        gains["weighting"] = rows[JUDGE, EQUAL]
    details = [f"Agreement with people on {equal.items} items: {_text(equal)} with equal weights"]
    details += [f"{_text(own)} with the judge's weights"] if own else []
    details += [f"{_text(rows[baseline.less, ''])} with one overall score ({baseline.less})"] if baseline else []
    fitted = rows.get((FITTED, EQUAL))
    best = (
        f" Weights fitted to people's preferences change it by {_signed(fitted)} from equal weights." if fitted else ""
    )
    missing = "" if baseline else " No run has one overall score by this judge, so decomposing cannot be judged."
    return _conclusion(gains) + missing, f"{', '.join(details)}.{best}"


def _conclusion(gains: Mapping[str, Estimate]) -> str:
    """Return which of the gains is more than chance: its interval is above 0."""
    amounts = " and ".join(f"{name} changes it by {_signed(estimate)}" for name, estimate in gains.items())
    if not gains:
        return "There is nothing to compare equal weights with."
    amounts = amounts[0].upper() + amounts[1:].replace("changes it", "changes the agreement", 1)
    if any(estimate.items < MIN_CONCLUSION_ITEMS for estimate in gains.values()):
        return f"{amounts}: fewer than {MIN_CONCLUSION_ITEMS} items are too few for a conclusion."
    clear = [name for name, estimate in gains.items() if estimate.low is not None and estimate.low > 0]
    losses = [name for name, estimate in gains.items() if estimate.high is not None and estimate.high < 0]
    verdicts = [f"the gain is from {' and from '.join(clear)}" if clear else "no gain is larger than chance explains"]
    verdicts += [f"{' and '.join(losses)} lowers the agreement"] if losses else []
    return f"{amounts}: {'; '.join(verdicts)}."


def _text(estimate: Estimate, sign: str = "", unit: str = "%") -> str:
    value = f"{100 * (estimate.value or 0):{sign}.1f} {unit}"
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} [{100 * estimate.low:{sign}.1f}, {100 * estimate.high:{sign}.1f}]"


def _signed(estimate: Estimate) -> str:
    return "an unknown amount" if estimate.value is None else _text(estimate, "+", "points")
