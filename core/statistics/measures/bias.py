"""Biases of a judge's preferences: position, length and self-preference.

Choices are 1, 2 or 0 for a tie; nan is no verdict. A tie or no verdict is not a choice for either side, so it is
left out; `items_total` counts it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln, stdtr, stdtrit

from core.statistics.data.arrays import ZERO_TOLERANCE, Bools, Estimate, Floats, Ints, normal_quantile, ratio
from core.statistics.data.dataset import SIDE_COLUMNS, Dataset, JudgeOpinions
from core.statistics.data.sample import Sample
from core.statistics.measures.means import (
    effective_counts,
    mean_estimate,
    selected_groups,
    share_estimate,
    wilson_interval,
)
from core.statistics.measures.planning import standard_error

NO_VERDICT = "no decided verdict"
NO_PREFERENCE = "the reference prefers no response"
NO_PAIR_OF_BOTH = "no pair on which the judge and the reference both prefer a response"
NO_BOTH_ORDERS = "no pair was judged in both orders"
# Side -> why no response of any pair is on it.
NO_SIDE = {
    "shown_first": "the order in which the responses were shown is not known",
    "longer": "no two responses differ in length",
    "own": "no response is known to be of a judge's own model family",
}
PREFERRED = {"shown_first": "first_shown_preferred", "longer": "longer_preferred", "own": "own_preferred"}
SUFFIXES = {"judge": "", "reference": "_people", "difference": "_less_people"}


def order_consistency(choices: Floats) -> Estimate:
    """Estimate the share of pairs judged in both orders with the same verdict: the same response, or both a tie.

    `choices` (N, 2): those with the first response shown first, and with the second; nan for none.
    """
    read = choices[~np.isnan(choices).any(axis=1)]
    reason = NO_VERDICT if len(choices) else NO_BOTH_ORDERS
    return share_estimate(read[:, 0] == read[:, 1], total=len(choices), raters=1, reason=reason)


def judge_biases(dataset: Dataset, opinions: JudgeOpinions) -> dict[str, Estimate]:
    """Estimate the biases of a judge's preferences, for each of `SIDE_COLUMNS` that is available.

    `first_shown_preferred`; `longer_preferred` and `own_preferred`, each also with `_people` for the gold labels and
    `_less_people` for the difference: people may prefer longer responses with reason, so only the judge's excess over
    them on the same items is a bias.
    """
    choice, reference = dataset.to_numbers(opinions.values), dataset.to_numbers(dataset.gold)
    groups = dataset.ratings.groups
    estimates: dict[str, Estimate] = {}
    for column in (column for column in SIDE_COLUMNS if column in opinions.sides):
        side = np.nan_to_num(np.where(opinions.asked, opinions.sides[column], 0)).astype(np.int64)
        # People saw the responses in another order, so they are no reference for the one shown first.
        people = None if column == "shown_first" else reference
        found = side_preference(choice, side, people, groups, NO_SIDE[column], dataset.sample)
        estimates |= {PREFERRED[column] + SUFFIXES[source]: estimate for source, estimate in found.items()}
    return estimates


def side_preference(
    choice: Floats,
    side: Ints,
    reference: Floats | None,
    groups: Sequence[str] | None,
    no_side: str,
    sample: Sample | None = None,
) -> dict[str, Estimate]:
    """Estimate how often the judge and the reference choose the side (1 or 2) among their decided verdicts.

    `side` (N,) is 0 without a response on it; `reference` is people's majority choice (N,), nan for none.
    `groups` (N,) are the documents or dialogues of the targets; `no_side` is the reason if no target has the side.
    `sample` is how targets were drawn for the reference; the judge's own share is of all of them.
    """

    def share(chosen: Floats, decided: Bools, reason: str, drawn: Sample | None = None) -> Estimate:
        clusters = selected_groups(groups, decided)
        return share_estimate(
            (chosen == side)[decided], clusters, total=int(has_side.sum()), raters=1,
            reason=reason if has_side.any() else no_side, sample=None if drawn is None else drawn.select(decided),
        )  # fmt: skip

    has_side = side > 0
    decided = has_side & ((choice == 1) | (choice == 2))
    estimates = {"judge": share(choice, decided, NO_VERDICT)}
    if reference is None:
        return estimates
    reference_decided = has_side & ((reference == 1) | (reference == 2))
    estimates["reference"] = share(reference, reference_decided, NO_PREFERENCE, sample)
    both = decided & reference_decided
    excess = (choice == side)[both].astype(float) - (reference == side)[both]
    clusters = selected_groups(groups, both)
    drawn = None if sample is None else sample.select(both)
    difference = mean_estimate(excess, groups=clusters, raters=1, pairs=int(both.sum()), sample=drawn)
    if not both.any():
        difference = replace(difference, reason=NO_PAIR_OF_BOTH if has_side.any() else no_side)
    estimates["difference"] = difference
    return estimates


# The preference of a judge for one side of a pair: the response shown first, the longer one, its own family's.
#
# An effect is a share of verdicts minus one half: 0 is no preference, 0.5 is "always". Exact tests and score intervals
# are used because a judge with a strong bias has no variation to resample. For verdicts in clusters (documents,
# dialogues) the counts are divided by the design effect first (Rao & Scott 1992).

# No test of fewer verdicts.
MIN_VERDICTS = 10
# The smallest covariance of two annotators' labels, of at most 1, that is an instrument.
MIN_SIGNAL = 0.1
# Relative difference of two probabilities that are equal except for rounding.
TOLERANCE = 1e-7


def excess_limit(excess: Floats, groups: Sequence[str] | None) -> float:
    """Return the largest preference for a side beyond people's, or against it, that the labels do not exclude.

    `excess` (N,) is 1 where only the judge chose the side, -1 where only people did, otherwise 0. The limit is the
    further end of the 95 % interval of its mean, the adjusted Wald interval of paired proportions (Bonett & Price
    2012). Targets on which judge and people agree make it narrow, whatever they choose.
    """
    padded = np.concatenate([excess, [1.0, -1.0]])
    error = standard_error(padded, None if groups is None else [*groups, "a win", "a loss"])
    return abs(float(padded.mean())) + normal_quantile(0.975) * error


class Untested(Enum):
    """Why a preference for a side is not tested; the value is the sentence, with the numbers that it needs."""

    FEW_VERDICTS = "{items} decided verdicts, {needed} are needed"
    FEW_CHOICES = "people chose one of both sides on {fewest} pairs only, {needed} are needed"
    ONE_ORDER = "annotators saw the responses almost always in one order"
    """People's choices of a place and of a response are the same."""
    ONE_ANSWER = "gives the same answer to every target that it decides"
    """The answer explains every choice of a side."""


ORDER_NOT_RANDOM = "the order was not random, so the effect is relative to people's choices"


@dataclass(frozen=True)
class SideEffect:
    """The preference for a side, with its 95 % interval and two-sided p."""

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    items: int
    """Decided verdicts that are used."""
    judge_share: float | None = None
    """How often the judge chose the side."""
    people_share: float | None = None
    """How often people chose it, on the same pairs; None if the effect does not use them."""
    untested: Untested | None = None
    fewest: int = 0
    """Pairs on which people chose the side that they chose less often, if these are too few."""
    random_order: bool = True
    """False for a position bias that is relative to people's choices."""

    @property
    def reason(self) -> str:
        """The sentence why it is not tested, and how it is to be understood; empty without either."""
        sentence = self.untested.value if self.untested else ""
        sentence = sentence.format(items=self.items, fewest=self.fewest, needed=MIN_VERDICTS)
        return "; ".join(filter(None, (sentence, "" if self.random_order else ORDER_NOT_RANDOM)))


def preference_against_half(chose: Bools, groups: Sequence[str] | None = None) -> SideEffect:
    """Return the share of verdicts (N,) for the side minus 1/2, with Wilson's interval and the exact binomial p."""
    if chose.size < MIN_VERDICTS:
        return SideEffect(None, None, None, None, chose.size, untested=Untested.FEW_VERDICTS)
    hits, n = effective_counts(chose, groups)
    low, high = wilson_interval(hits, n)
    share = float(chose.mean())
    return SideEffect(share - 0.5, low - 0.5, high - 0.5, binomial_p(round(hits), round(n)), chose.size, share)


def preference_given_people(
    chose: Bools, people: Bools, groups: Sequence[str] | None = None, sample: Sample | None = None
) -> SideEffect:
    """Return the preference for the side that people's own preference does not explain.

    (P(judge chooses it | people choose it) + P(judge chooses it | people choose the other)) / 2 - 1/2, which is half
    the difference of its error rates in both directions. It is 0 for a judge that agrees with people, for one with
    equally many errors in both directions, and for one that chooses at random, regardless of the share of people
    who choose the side. Interval: MOVER from both Wilson intervals (Zou & Donner 2008); p: Fisher's exact test of equal
    error rates.
    """
    groups_of = None if groups is None else np.array(groups, object)
    parts = [
        effective_counts(
            chose[mask],
            None if groups_of is None else groups_of[mask].tolist(),
            None if sample is None else sample.select(mask),
        )
        for mask in (people, ~people)
    ]
    smallest = min(int(people.sum()), int((~people).sum()))
    if smallest < MIN_VERDICTS:
        return SideEffect(None, None, None, None, chose.size, untested=Untested.FEW_CHOICES, fewest=smallest)
    shares = [hits / n for hits, n in parts]
    limits = [wilson_interval(hits, n) for hits, n in parts]
    below = np.sqrt(sum((share - low) ** 2 for share, (low, _) in zip(shares, limits, strict=True)))
    above = np.sqrt(sum((high - share) ** 2 for share, (_, high) in zip(shares, limits, strict=True)))
    (hits, n), (other_hits, other_n) = parts
    total = sum(shares)
    # Equal error rates: the side is missed as often as it is wrongly chosen.
    p = fisher_p(round(n - hits), round(n), round(other_hits), round(other_n))
    return SideEffect(
        (total - 1) / 2,
        (total - 1 - float(below)) / 2,
        (total - 1 + float(above)) / 2,
        p,
        chose.size,
        float(chose.mean()),
        float(people.mean()),
    )


def preference_beyond_people(
    chose: Bools, labels: Floats, groups: Sequence[str] | None = None, weights: Floats | None = None
) -> SideEffect | None:
    """Return the preference for the side that several annotators' labels do not explain; None if they are too few.

    As `preference_given_people`, but for labels with errors: if people choose the side more often, a majority that is
    wrong at random looks like a preference of every accurate judge for it. `chose` (N,) is whether the judge chose the
    side; `labels` (N, R) are 1 for the side, -1 for the other, 0 for a tie, nan missing. With J = 1 or -1 for the
    judge, x for an item's mean label and u for the mean product of two of its labels,

        effect = (mean J - b mean x) / 2,    b = cov(J, x) / (mean u - mean x ** 2)

    Another annotator's label is an instrument for the first one's (Fuller 1987, section 1.4): errors of annotators that
    are independent of each other and of the side cancel. Interval and p are from the jackknife variance (Efron & Stein
    1981) without each item, or each group if there are any, and a t distribution. `weights` (N,): what each item
    counts, if they were drawn with unequal probabilities.
    """
    counts = (~np.isnan(labels)).sum(axis=1)
    several = counts >= 2
    n = int(several.sum())
    if n < MIN_VERDICTS:
        return None
    judge, count = np.where(chose[several], 1.0, -1.0), counts[several]
    sums, squares = np.nansum(labels[several], axis=1), np.nansum(labels[several] ** 2, axis=1)
    x, u = sums / count, (sums**2 - squares) / (count * (count - 1))
    counted = np.ones(n) if weights is None else weights[several]
    if not counted.any() or np.average(u, weights=counted) - np.average(x, weights=counted) ** 2 < MIN_SIGNAL:
        return None
    features = counted[:, None] * np.column_stack([judge, x, judge * x, u, np.ones(n)])
    names = np.arange(n) if groups is None else np.unique(np.array(groups, str)[several], return_inverse=True)[1]
    by_group = np.column_stack([np.bincount(names.reshape(-1), column) for column in features.T])
    clusters = len(by_group)
    if clusters < MIN_VERDICTS:
        return None
    total = by_group.sum(axis=0)
    effect, without_group = float(_effect_of_sums(total)), _effect_of_sums(total - by_group)
    error = float(np.sqrt((clusters - 1) / clusters * ((without_group - effect) ** 2).sum()))
    if (
        not error > ZERO_TOLERANCE
    ):  # without variation, as of a judge that always agrees with people: exact tests remain
        return None
    quantile, p = float(stdtrit(clusters - 1, 0.975)), float(2 * stdtr(clusters - 1, -abs(effect) / error))
    low, high = (float(np.clip(effect + sign * quantile * error, -0.5, 0.5)) for sign in (-1, 1))
    people = float(((x > 0) + 0.5 * (x == 0)).mean())
    return SideEffect(float(np.clip(effect, -0.5, 0.5)), low, high, p, n, float(chose[several].mean()), people)


def _effect_of_sums(sums: Floats) -> Floats:
    """Return the effect from sums (..., 5) of J, x, J x, u and 1; nan without a covariance of two labels."""
    judge, x, product, u = np.moveaxis(sums[..., :4] / sums[..., 4:], -1, 0)
    return np.asarray((judge - ratio(product - judge * x, u - x**2) * x) / 2, float)


def preference_in_both_orders(choices: Floats) -> SideEffect:
    """Return the preference for the first text from pairs judged in both orders.

    `choices` (N, 2) are 1, 2 or 0 with text 1 shown first, then with text 2 shown first, in the numbers of the texts.
    The effect is the share of all verdicts for the text shown first, a tie as one half, minus 1/2; its p is the exact
    sign test of the pairs whose verdicts favour a position. BCa interval over pairs.
    """
    read = choices[~np.isnan(choices).any(axis=1)]
    if len(read) < MIN_VERDICTS:
        return SideEffect(None, None, None, None, len(read), untested=Untested.FEW_VERDICTS)
    score = np.where(read == 0, 0.5, read == np.array([1, 2])).mean(axis=1) - 0.5
    towards_first, towards_last = int((score > 0).sum()), int((score < 0).sum())
    estimate = mean_estimate(score)
    p = binomial_p(towards_first, towards_first + towards_last)
    return SideEffect(estimate.value, estimate.low, estimate.high, p, len(read), float(score.mean() + 0.5))


def binomial_p(hits: int, n: int) -> float:
    """Return the two-sided exact p of a share of 1/2: twice the smaller tail, at most 1."""
    if not n:
        return 1.0
    at_least = bdtrc(hits - 1, n, 0.5) if hits else 1.0
    return float(min(1.0, 2 * min(bdtr(hits, n, 0.5), at_least)))


def fisher_p(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """Return the two-sided p of Fisher's exact test of hits / n = other_hits / other_n.

    The sum of the hypergeometric probabilities of all tables with these margins that are not more probable.
    """
    total = hits + other_hits
    counts = np.arange(max(0, total - other_n), min(n, total) + 1)
    logs = _log_choose(n, counts) + _log_choose(other_n, total - counts) - _log_choose(n + other_n, np.array(total))
    probabilities = np.exp(logs)
    observed = probabilities[counts == hits][0]
    return float(min(1.0, probabilities[probabilities <= observed * (1 + TOLERANCE)].sum()))


def _log_choose(n: int, k: np.typing.NDArray[np.int64]) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), float)
