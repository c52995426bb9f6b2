"""Stored aspect scores under other weights: is the gain over one overall score from decomposing or from weighting?

Nothing is asked again. The overall score of a response is the weighted sum of its stored scores by aspect, under equal
weights, the judge's own, the mean of people's, or weights fitted to people's preferences on other items.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.aspects import Weights, equal_weights, normalize_weights, overall_score, preferred_response
from core.statistics.data.arrays import Estimate, Floats
from core.statistics.measures.means import mean_estimate, share_estimate
from core.statistics.measures.texts import cross_validated_weights

EQUAL, JUDGE, PEOPLE, FITTED = "equal weights", "the judge's weights", "people's weights", "fitted weights"
# Below this many items with people's preference no weights are fitted: a fold would have two.
MIN_FIT_ITEMS = 20
# Minimum number of items for a significant gain: intervals of fewer items are too narrow.
MIN_CONCLUSION_ITEMS = 20


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
    baselines: Mapping[str, int] = field(default_factory=dict)
    """Run -> the same judge's preference without aspects."""

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
class LaboratoryReport:
    """The aggregations of one judge's scores."""

    judge: str
    schemes: tuple[SchemeRow, ...]
    unfitted: str
    """Why no weights were fitted; empty if they were."""
    answer: str
    """Whether the gain is from decomposing or from weighting."""
    details: str


def laboratory_report(judge: str, pairs: Sequence[ScoredPair], *, resamples: int = 1000) -> LaboratoryReport:
    """Return the agreement of every aggregation, and the differences that answer the question."""
    fitted, unfitted = fit(pairs)
    names = [run for pair in pairs for run in pair.baselines]
    baselines = sorted(dict.fromkeys(names), key=lambda run: -names.count(run))  # the one of most items first
    known = _preferences(pairs, fitted, baselines)
    schemes = [SchemeRow(scheme, "", _agreement(pairs, values)) for scheme, values in known.items()]
    compared = [(EQUAL, run) for run in baselines]
    compared += [(scheme, EQUAL) for scheme in (JUDGE, PEOPLE, FITTED)]
    compared += [(JUDGE, run) for run in baselines]
    schemes += [
        SchemeRow(scheme, less, _difference(pairs, known[scheme], known[less], resamples))
        for scheme, less in compared
        if scheme in known and less in known
    ]
    return LaboratoryReport(judge, tuple(schemes), unfitted, *describe(judge, schemes))


def _preferences(
    pairs: Sequence[ScoredPair], fitted: Mapping[int, Weights], baselines: Sequence[str]
) -> dict[str, list[int | None]]:
    """Return scheme -> the preference on each pair; None if the pair has no such weights."""
    weights: dict[str, list[Weights | None]] = {
        EQUAL: [equal_weights(pair.aspects) for pair in pairs],
        JUDGE: [pair.judge_weights for pair in pairs],
        PEOPLE: [pair.people_weights for pair in pairs],
        FITTED: [fitted.get(place) for place in range(len(pairs))],
    }
    preferences: dict[str, list[int | None]] = {
        scheme: [None if own is None else pair.preference(own) for pair, own in zip(pairs, of_pairs, strict=True)]
        for scheme, of_pairs in weights.items()
    }
    preferences |= {run: [pair.baselines.get(run) for pair in pairs] for run in baselines}
    return {scheme: values for scheme, values in preferences.items() if any(value is not None for value in values)}


def _agreement(pairs: Sequence[ScoredPair], values: Sequence[int | None]) -> Estimate:
    used = [(value == pair.reference, pair) for value, pair in zip(values, pairs, strict=True) if value is not None]
    return share_estimate([equal for equal, _ in used], [pair.group for _, pair in used], total=len(values))


def _difference(
    pairs: Sequence[ScoredPair], values: Sequence[int | None], less: Sequence[int | None], resamples: int
) -> Estimate:
    """Estimate the difference of two agreements on the pairs that have both."""
    used = [(a, b, pair) for a, b, pair in zip(values, less, pairs, strict=True) if a is not None and b is not None]
    gains = [float(a == pair.reference) - (b == pair.reference) for a, b, pair in used]
    return mean_estimate(gains, groups=[pair.group for *_, pair in used], total=len(pairs), resamples=resamples)


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
