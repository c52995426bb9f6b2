"""Biases of a judge's preferences: position, length and self-preference.

Choices are 1, 2 or 0 for a tie; nan is no verdict. A tie or no verdict is not a choice for either side, so it is
left out; `items_total` counts it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.statistics.data.arrays import Bools, Floats, Ints
from core.statistics.data.dataset import SIDE_COLUMNS, Dataset, JudgeOpinions
from core.statistics.data.estimate import Estimate
from core.statistics.measures.means import mean_estimate
from core.statistics.measures.shares import selected_groups, share_estimate

NO_VERDICT = "no decided verdict"
NO_PREFERENCE = "the reference prefers no response"
NO_PAIR_OF_BOTH = "no pair on which the judge and the reference both prefer a response"
NO_BOTH_ORDERS = "no pair was judged in both orders"
NO_SIDE = {
    "shown_first": "the order in which the responses were shown is not known",
    "longer": "no two responses differ in length",
    "own": "no response is known to be of a judge's own model family",
}
"""Side -> why no response of any pair is on it."""
SUFFIXES = {"judge": "", "reference": "_people", "difference": "_less_people"}


def order_consistency(choice: Floats, shown_first: Ints, item: Ints) -> Estimate:
    """Estimate the share of items judged in both orders with the same verdict: the same response, or both a tie."""
    choices: dict[tuple[int, int], float] = {}
    for number, first, value in zip(item.tolist(), shown_first.tolist(), choice.tolist(), strict=True):
        choices.setdefault((number, first), value)
    in_both_orders = [
        (value, choices[number, 2])
        for (number, first), value in choices.items()
        if first == 1 and (number, 2) in choices
    ]
    same = [value == swapped for value, swapped in in_both_orders if not np.isnan(value + swapped)]
    return share_estimate(
        np.array(same, bool),
        total=len(in_both_orders),
        raters=1,
        reason=NO_VERDICT if in_both_orders else NO_BOTH_ORDERS,
    )


def length_bias(
    choice: Floats, longer: Ints, reference: Floats | None = None, groups: Sequence[str] | None = None
) -> dict[str, Estimate]:
    """Estimate how often the longer response is preferred: by "judge", by "reference", and their "difference".

    `longer` (N,) is 1 or 2, 0 for equal lengths. People may prefer longer responses with reason, so only the
    judge's excess over them on the same items is a bias. `reference` is their majority choice (N,), nan for none.
    """
    return side_preference(choice, longer, reference, groups, NO_SIDE["longer"])


def own_family_bias(
    choice: Floats, own: Ints, reference: Floats | None = None, groups: Sequence[str] | None = None
) -> dict[str, Estimate]:
    """Estimate self-preference: how often a judge prefers the response of its own family; see `length_bias`.

    `own` (N,) is 1 or 2 if exactly that response comes from the judge's family, otherwise 0.
    """
    return side_preference(choice, own, reference, groups, NO_SIDE["own"])


def judge_biases(dataset: Dataset, opinions: JudgeOpinions) -> dict[str, Estimate]:
    """Estimate the biases of a judge's preferences, for each of `SIDE_COLUMNS` that is available.

    `first_shown_preferred`; `longer_preferred` and `own_preferred`, each also with `_people` for the gold labels and
    `_less_people` for the difference.
    """
    choice, reference = dataset.to_numbers(opinions.values), dataset.to_numbers(dataset.gold)
    groups = dataset.ratings.groups
    estimates: dict[str, Estimate] = {}
    for column in (column for column in SIDE_COLUMNS if column in opinions.sides):
        side = np.nan_to_num(np.where(opinions.asked, opinions.sides[column], 0)).astype(np.int64)
        if column == "shown_first":
            # People saw the responses in another order, so they are no reference here.
            estimates["first_shown_preferred"] = side_preference(choice, side, None, groups, NO_SIDE[column])["judge"]
        elif column == "longer":
            estimates |= named_estimates("longer_preferred", length_bias(choice, side, reference, groups))
        elif column == "own":
            estimates |= named_estimates("own_preferred", own_family_bias(choice, side, reference, groups))
    return estimates


def named_estimates(name: str, estimates: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Return the estimates of `side_preference` under the names of their statistics."""
    return {name + SUFFIXES[source]: estimate for source, estimate in estimates.items()}


def side_preference(
    choice: Floats, side: Ints, reference: Floats | None, groups: Sequence[str] | None, no_side: str
) -> dict[str, Estimate]:
    """Estimate how often the judge and the reference choose the side (1 or 2) among their decided verdicts.

    `groups` (N,) are the documents or dialogues of the targets; `no_side` is the reason if no target has the side.
    """

    def share(chosen: Floats, decided: Bools, reason: str) -> Estimate:
        clusters = selected_groups(groups, decided)
        hit = (chosen == side)[decided]
        return share_estimate(
            hit, clusters, total=int(has_side.sum()), raters=1, reason=reason if has_side.any() else no_side
        )

    has_side = side > 0
    decided = has_side & ((choice == 1) | (choice == 2))
    estimates = {"judge": share(choice, decided, NO_VERDICT)}
    if reference is None:
        return estimates
    reference_decided = has_side & ((reference == 1) | (reference == 2))
    estimates["reference"] = share(reference, reference_decided, NO_PREFERENCE)
    both = decided & reference_decided
    excess = (choice == side)[both].astype(float) - (reference == side)[both]
    clusters = selected_groups(groups, both)
    difference = mean_estimate(excess, groups=clusters, raters=1, pairs=int(both.sum()))
    if not both.any():
        difference = replace(difference, reason=NO_PAIR_OF_BOTH if has_side.any() else no_side)
    estimates["difference"] = difference
    return estimates
