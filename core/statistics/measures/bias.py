"""What moves a judge besides quality: the order of the responses, their length, its own kin.

Choices are 1, 2 or 0 for a tie, as everywhere; nan is no verdict. A tie or no verdict is not a
choice for either side, so it is left out and counted in `items_there`.
"""

from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Floats, Ints
from core.statistics.data.dataset import Joined, Judged
from core.statistics.data.estimate import Estimate
from core.statistics.measures import means

LEANINGS = {
    "shown_first": "first_shown_preferred",
    "longer": "longer_preferred",
    "own": "own_preferred",
}
ENDINGS = {"judge": "", "people": "_people", "judge less people": "_less_people"}


@dataclass(frozen=True)
class PositionBias:
    """How the order in which two responses were shown moves the verdict."""

    first: Estimate
    """Share of decided verdicts for the response shown first; 0.5 is no bias."""
    consistent: Estimate
    """Of items judged in both orders, the share with one and the same verdict."""


def position(choice: Floats, shown_first: Ints, item: Ints) -> PositionBias:
    """Choices (N,), which response was shown first (N,) and the item (N,) of each verdict."""
    decided = (choice == 1) | (choice == 2)
    first = proportion(choice[decided] == shown_first[decided], choice.size)
    return PositionBias(first, consistency(choice, shown_first, item))


def consistency(choice: Floats, shown_first: Ints, item: Ints) -> Estimate:
    """The share of items judged in both orders whose verdicts are the same response, or both a tie."""
    said: dict[tuple[int, int], float] = {}
    for number, order, value in zip(item.tolist(), shown_first.tolist(), choice.tolist(), strict=True):
        said.setdefault((number, order), value)
    both = [(value, said[number, 2]) for (number, order), value in said.items() if order == 1 and (number, 2) in said]
    kept = [one == other for one, other in both if not np.isnan(one + other)]
    estimate = proportion(np.array(kept, bool), len(both))
    return estimate


def length(choice: Floats, longer: Ints, people: Floats | None = None) -> dict[str, Estimate]:
    """How often the longer response is preferred: "judge", "people", and "judge less people".

    `longer` (N,) is 1 or 2, 0 where both are as long. People may rightly prefer longer answers, so
    the judge's excess over people on the same items is what to call a bias. `people` is their
    majority choice (N,), nan where there is none.
    """
    return preferring(choice, longer, people)


def own_kin(choice: Floats, own: Ints, people: Floats | None = None) -> dict[str, Estimate]:
    """Self-preference: how often a judge prefers the response of its own family, as in `length`.

    `own` (N,) is 1 or 2 where exactly that response comes from the judge's family, else 0.
    """
    return preferring(choice, own, people)


def of_judge(joined: Joined, judged: Judged) -> dict[str, Estimate]:
    """What a judge's preferences lean to, for each of `joined.SIDES` that is known.

    `first_shown_preferred`; `longer_preferred` and `own_preferred`, each also with `_people` for the
    gold and `_less_people` for the difference.
    """
    choice, people = (joined.numbers(codes) for codes in (judged.values, joined.gold))
    found: dict[str, Estimate] = {}
    for column, side in judged.sides.items():
        known = np.nan_to_num(np.where(judged.asked, side, 0)).astype(np.int64)
        name = LEANINGS[column]
        if column == "shown_first":
            found[name] = preferring(choice, known, None)["judge"]
        else:
            for who, one in preferring(choice, known, people).items():
                found[name + ENDINGS[who]] = one
    return found


def preferring(choice: Floats, side: Ints, people: Floats | None) -> dict[str, Estimate]:
    """How often the judge and people choose the side (1 or 2) among decided verdicts."""
    sided = side > 0
    decided = sided & ((choice == 1) | (choice == 2))
    found = {"judge": proportion((choice == side)[decided], int(sided.sum()))}
    if people is None:
        return found
    theirs = sided & ((people == 1) | (people == 2))
    found["people"] = proportion((people == side)[theirs], int(sided.sum()))
    both = decided & theirs
    apart = (choice == side)[both].astype(float) - (people == side)[both]
    found["judge less people"] = means.mean(apart, raters=1, pairs=int(both.sum()))
    return found


def proportion(hits: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], there: int) -> Estimate:
    """The share of hits among those decided, with Wilson's interval."""
    value, low, high = means.share(int(hits.sum()), hits.size)
    reason = "" if hits.size else "no decided verdict"
    return Estimate(value, low, high, hits.size, there, 1, 0, 0, reason)
