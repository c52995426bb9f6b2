"""The arithmetic of aspects: weights that sum to 100, weighted sums, and where another weight would turn the verdict.

DnA-Eval's "external calculation module" (Li et al. 2024, arXiv:2405.15329, Eq. 3 and 4). Pure functions: the flow, the
view, the desk and the replay of a recorded trace all call these, so a figure is the same wherever it is shown.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

WHOLE = 100.0
"""Percent."""
TIE = 1e-9
"""Overall scores closer than this are equal: 0.1 + 0.2 is not quite 0.3 in a computer."""

Weights = Mapping[str, float]
"""Aspect -> percent of the whole."""
Scores = Mapping[str, float]
"""Aspect -> one response's score."""


@dataclass(frozen=True)
class Flip:
    """The weight of one aspect at which another response comes out on top."""

    aspect: str
    at: float
    """Percent."""
    side: Literal["under", "over"]
    to: int
    """The response that wins beyond it; where it has company there, the first of them."""


def normalised(raw: Sequence[float]) -> tuple[float, ...]:
    """Weights as percent that sum to 100, in the same proportions; raises ValueError where there are none.

    Weights that sum to 100 already are left as they are, to the last digit.
    """
    total = sum(raw)
    if min(raw, default=0) < 0:
        raise ValueError("a weight is negative")
    if total <= 0:
        raise ValueError("all weights are 0")
    return tuple(float(weight) if total == WHOLE else weight * WHOLE / total for weight in raw)


def equal(aspects: Sequence[str]) -> dict[str, float]:
    """The same weight for each aspect."""
    return {aspect: WHOLE / len(aspects) for aspect in aspects}


def mean(given: Sequence[Weights]) -> dict[str, float]:
    """The mean weight of each aspect over people; it sums to 100 again."""
    return {aspect: sum(weights[aspect] for weights in given) / len(given) for aspect in given[0]} if given else {}


def contributions(weights: Weights, scores: Scores) -> dict[str, float]:
    """What each aspect adds to the overall score: weight x score, w_ij S_ij of Eq. 3."""
    return {aspect: weight * scores[aspect] / WHOLE for aspect, weight in weights.items()}


def overall(weights: Weights, scores: Scores) -> float:
    """Eq. 3: the weighted sum of a response's scores, on the scale of the scores."""
    return sum(weight * scores[aspect] for aspect, weight in weights.items()) / WHOLE


def best(overalls: Sequence[float]) -> tuple[int, ...]:
    """The numbers, from 1, of the responses that nobody beats: several where they are equal."""
    top = max(overalls)
    return tuple(number for number, value in enumerate(overalls, start=1) if top - value < TIE)


def preferred(overalls: Sequence[float]) -> int:
    """Eq. 4 for any number of responses: the best one, 0 where the best are equal."""
    winners = best(overalls)
    return winners[0] if len(winners) == 1 else 0


def ranking(overalls: Sequence[float]) -> tuple[int, ...]:
    """The place of each response, 1 for the best; equal ones share the better place (1, 1, 3)."""
    return tuple(1 + sum(other - value >= TIE for other in overalls) for value in overalls)


def reweighted(weights: Weights, aspect: str, percent: float) -> dict[str, float]:
    """The weights with one aspect at `percent`, the others in their old proportions (equal, where all were 0)."""
    others = WHOLE - weights[aspect]
    share = (WHOLE - percent) / others if others > TIE else 0.0
    alike = (WHOLE - percent) / max(len(weights) - 1, 1)
    return {
        name: percent if name == aspect else weight * share if others > TIE else alike
        for name, weight in weights.items()
    }


def flips(weights: Weights, scores: Sequence[Scores], aspect: str) -> list[Flip]:
    """Where the verdict turns as one aspect gains or loses weight: at most one place below and one above.

    The lead of a response over another is linear in that weight, so each crossing is one division. Nothing where the
    best are equal already, or where no weight of this aspect changes who wins.
    """
    winner = preferred([overall(weights, one) for one in scores])
    if not winner or len(weights) < 2:
        return []
    none, whole = reweighted(weights, aspect, 0), reweighted(weights, aspect, WHOLE)
    crossings = []
    for other in range(1, len(scores) + 1):
        at = _crossing(none, whole, scores[winner - 1], scores[other - 1])
        if other != winner and at is not None:
            crossings.append((at, other))
    now = weights[aspect]
    below = max(((at, -other) for at, other in crossings if at < now), default=None)
    above = min(((at, other) for at, other in crossings if at > now), default=None)
    found = [Flip(aspect, below[0], "under", -below[1])] if below and below[0] > TIE else []
    return found + ([Flip(aspect, above[0], "over", above[1])] if above and WHOLE - above[0] > TIE else [])


def _crossing(none: Weights, whole: Weights, leader: Scores, other: Scores) -> float | None:
    """The percent at which two responses are equal, from their distance at 0 and at 100 %; None where there is none."""
    at_none = overall(none, leader) - overall(none, other)
    at_whole = overall(whole, leader) - overall(whole, other)
    if abs(at_none - at_whole) < TIE:
        return None
    at = WHOLE * at_none / (at_none - at_whole)
    return at if 0 <= at <= WHOLE else None


def tops(first: Weights, second: Weights, k: int) -> tuple[list[float], list[float]]:
    """Two rankings cut to their k heaviest aspects, over the aspects that either keeps; the rest is tied at the bottom.

    Without ties they are Fagin's top-k lists; an aspect that weighs as much as the k-th stays in, so that ties are
    never broken.
    """
    cut = [_heaviest(first, k), _heaviest(second, k)]
    kept = [aspect for aspect in first if any(aspect in one for one in cut)]
    return [cut[0].get(aspect, -1.0) for aspect in kept], [cut[1].get(aspect, -1.0) for aspect in kept]


def _heaviest(weights: Weights, k: int) -> dict[str, float]:
    least = sorted(weights.values(), reverse=True)[min(k, len(weights)) - 1]
    return {aspect: weight for aspect, weight in weights.items() if weight >= least}


def part(aspects: Sequence[str]) -> str:
    """What tells a set of aspects from another of the same item, in any order: weights of the two do not compare."""
    told = "\n".join(sorted(aspects))
    return f"aspects {hashlib.sha256(told.encode()).hexdigest()[:8]}"
