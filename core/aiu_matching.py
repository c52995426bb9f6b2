"""Proposes which AIUs of two extractions of one critique are the same statement in other words.

A proposal is for a person to confirm: labels belong to an AIU's text, and texts that look alike can differ in a "not".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.critiques import Aiu

LEAST_SIMILARITY = 0.75
"""Pairs below are not proposed."""


@dataclass(frozen=True)
class AiuMatch:
    """An AIU of the earlier extraction, and the one of the later that may state the same."""

    old: Aiu
    new: Aiu
    similarity: float
    """Of the texts, 0 to 1: rapidfuzz's ratio of the sorted words."""


def match_aius(old: Sequence[Aiu], new: Sequence[Aiu], least: float = LEAST_SIMILARITY) -> list[AiuMatch]:
    """Return at most one pair for each AIU, the most similar first. AIUs with equal ids are the same already."""
    from rapidfuzz import fuzz, utils

    same = {aiu.id for aiu in old} & {aiu.id for aiu in new}
    pairs = [
        AiuMatch(aiu, other, fuzz.token_sort_ratio(aiu.text, other.text, processor=utils.default_process) / 100)
        for aiu in old
        for other in new
        if not {aiu.id, other.id} & same
    ]
    matches: list[AiuMatch] = []
    used: set[str] = set()
    for pair in sorted(pairs, key=lambda pair: -pair.similarity):
        if pair.similarity >= least and not {f"old {pair.old.id}", f"new {pair.new.id}"} & used:
            matches.append(pair)
            used |= {f"old {pair.old.id}", f"new {pair.new.id}"}
    return matches
