"""Arithmetic of aspect weights: normalisation, weighted sums, and the weights at which the verdict changes.

DnA-Eval's "external calculation module" (Li et al. 2024, arXiv:2405.15329, Eqs. 3 and 4). The protocol, the pages and
the import of published weights all call these functions, so a figure is the same wherever it is shown.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.answers.scores import ROUNDING

# Weights are percentages.
TOTAL = 100.0
# Overall scores closer than this are equal: in floating point 0.1 + 0.2 differs from 0.3.
TOLERANCE = 1e-9

# Aspect -> weight in percent.
Weights = Mapping[str, float]
# Aspect -> one response's score.
Scores = Mapping[str, float]


@dataclass(frozen=True)
class Flip:
    """The weight of one aspect beyond which another response has the highest overall score."""

    aspect: str
    at: float
    """Percent."""
    side: Literal["under", "over"]
    to: int
    """The number of the response that wins beyond it; the lowest number if several are equal."""


def normalize_weights(raw: Sequence[float]) -> tuple[float, ...]:
    """Return weights in the same proportions that sum to 100; raises ValueError for a negative weight or a sum of 0.

    Weights that already sum to 100 are returned unchanged, to the last digit.
    """
    total = sum(raw)
    if min(raw, default=0) < 0:
        raise ValueError("a weight is negative")
    if total <= 0:
        raise ValueError("all weights are 0")
    return tuple(float(weight) if total == TOTAL else weight * TOTAL / total for weight in raw)


def in_percent(weights: Weights) -> dict[str, float]:
    """Return the weights by name in the same proportions, with a sum of 100; raises as `normalize_weights` does."""
    return dict(zip(weights, normalize_weights(list(weights.values())), strict=True))


def has_other_total(weights: Weights) -> bool:
    """Return whether the weights do not sum to 100, beyond rounding."""
    return abs(sum(weights.values()) - TOTAL) > ROUNDING


def equal_weights(aspects: Sequence[str]) -> dict[str, float]:
    """Return the same weight for each aspect."""
    return {aspect: TOTAL / len(aspects) for aspect in aspects}


def mean_weights(weightings: Sequence[Weights]) -> dict[str, float]:
    """Return each aspect's mean weight over several annotators' weightings; the means sum to 100."""
    if not weightings:
        return {}
    return {aspect: sum(weights[aspect] for weights in weightings) / len(weightings) for aspect in weightings[0]}


def overall_score(weights: Weights, scores: Scores) -> float:
    """Return the weighted sum of a response's scores (Eq. 3), on the scale of the scores."""
    # Divided once at the end: sums of whole weights times whole scores are exact, their hundredths are not.
    return sum(weight * scores[aspect] for aspect, weight in weights.items()) / TOTAL


def preferred_response(overall_scores: Sequence[float]) -> int:
    """Return the number of the best response (Eq. 4, for any number of responses); 0 if the best are equal."""
    highest = max(overall_scores)
    best = [number for number, score in enumerate(overall_scores, start=1) if highest - score < TOLERANCE]
    return best[0] if len(best) == 1 else 0


def rank_responses(overall_scores: Sequence[float]) -> tuple[int, ...]:
    """Return the rank of each response, 1 for the best; equal scores share the better rank (1, 1, 3)."""
    return tuple(1 + sum(other - score >= TOLERANCE for other in overall_scores) for score in overall_scores)


def set_weight(weights: Weights, aspect: str, percent: float) -> dict[str, float]:
    """Return the weights with one aspect at `percent` and the others rescaled to sum to 100.

    The others keep their proportions; if all of them are 0 they share the remainder equally.
    """
    others = TOTAL - weights[aspect]
    factor = (TOTAL - percent) / others if others > TOLERANCE else 0.0
    equal_share = (TOTAL - percent) / max(len(weights) - 1, 1)
    return {
        name: percent if name == aspect else weight * factor if others > TOLERANCE else equal_share
        for name, weight in weights.items()
    }


def find_flips(weights: Weights, scores: Sequence[Scores], aspect: str) -> list[Flip]:
    """Return the weights of one aspect at which the verdict changes: at most one below the current weight, one above.

    The difference of two responses' overall scores is linear in that weight, so each crossing takes one division.
    Empty if the best responses are already equal, or if no weight of this aspect changes the verdict.
    """
    best = preferred_response([overall_score(weights, response) for response in scores])
    if not best or len(weights) < 2:
        return []
    at_zero, at_total = set_weight(weights, aspect, 0), set_weight(weights, aspect, TOTAL)
    crossings = []
    for other in range(1, len(scores) + 1):
        percent = _crossing(at_zero, at_total, scores[best - 1], scores[other - 1])
        if other != best and percent is not None:
            crossings.append((percent, other))
    current = weights[aspect]
    below = max(((percent, -other) for percent, other in crossings if percent < current), default=None)
    above = min(((percent, other) for percent, other in crossings if percent > current), default=None)
    flips = []
    if below and below[0] > TOLERANCE:  # a crossing at exactly 0 % or 100 % is a tie there, not a change
        flips.append(Flip(aspect, below[0], "under", -below[1]))
    if above and TOTAL - above[0] > TOLERANCE:
        flips.append(Flip(aspect, above[0], "over", above[1]))
    return flips


def _crossing(at_zero: Weights, at_total: Weights, best: Scores, other: Scores) -> float | None:
    """Return the weight in percent at which two responses are equal; None if no weight from 0 to 100 is.

    `at_zero` and `at_total` are the weightings with the aspect at 0 % and at 100 %.
    """
    lead_at_zero = overall_score(at_zero, best) - overall_score(at_zero, other)
    lead_at_total = overall_score(at_total, best) - overall_score(at_total, other)
    if abs(lead_at_zero - lead_at_total) < TOLERANCE:
        return None
    percent = TOTAL * lead_at_zero / (lead_at_zero - lead_at_total)
    return percent if 0 <= percent <= TOTAL else None


def truncate_rankings(first: Weights, second: Weights, k: int) -> tuple[list[float], list[float]]:
    """Return two weightings restricted to their k heaviest aspects, over the aspects that either list contains.

    An aspect missing from one list gets the weight -1 there, so all of those are tied at the bottom. Without
    ties the lists are Fagin's top-k lists; an aspect as heavy as the k-th is included, so ties are never broken.
    """
    top_first, top_second = heaviest_aspects(first, k), heaviest_aspects(second, k)
    aspects = [aspect for aspect in first if aspect in top_first or aspect in top_second]
    return [top_first.get(aspect, -1.0) for aspect in aspects], [top_second.get(aspect, -1.0) for aspect in aspects]


def heaviest_aspects(weights: Weights, k: int) -> dict[str, float]:
    """Return the k heaviest aspects with their weights, and those that are as heavy as the k-th."""
    threshold = sorted(weights.values(), reverse=True)[min(k, len(weights)) - 1]
    return {aspect: weight for aspect, weight in weights.items() if weight >= threshold}


def aspect_set_id(aspects: Sequence[str]) -> str:
    """Return the part of a target that identifies a set of aspects, independent of their order.

    Weights of two different sets of aspects of the same item are not comparable, so they are different targets.
    """
    names = "\n".join(sorted(aspects))
    return f"aspects {hashlib.sha256(names.encode()).hexdigest()[:8]}"
