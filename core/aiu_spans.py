"""Where an AIU stands in its critique: the shortest stretch of the text that says most of its words.

AIUs are written anew by whoever extracts them, so they are seldom in the text word for word. A place that a person has
named is kept; an AIU that resembles nothing has no place.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.critiques import Aiu, Critique

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_END = re.compile(r"(?<=[.!?;])[\"'”’)\]]*\s+|\n+")
_COMMON = """
    a an and are as at be been but by can could did do does for from had has have he her his if in into is it its may
    might more no not of on or out should so such than that the their them then there these they this to too was were
    which while who why will with would you your answer model generated correct critique reference
"""
_LEAST = 0.25
"""The share of an AIU's telling words that a stretch has to have."""
_GAP = 0.12
"""What a word of the stretch costs that the AIU does not have, as a share of one that it has."""
_FORWARD = 0.05
"""What it is worth to stand after the AIU before: extraction mostly follows the text."""
Place = tuple[int, int]


@dataclass(frozen=True)
class Segment:
    """A stretch of a critique, and the AIUs that stand in it."""

    start: int
    end: int
    aius: tuple[str, ...]


@dataclass(frozen=True)
class _Word:
    stem: str
    start: int
    end: int


def places(critique: Critique) -> dict[str, Place]:
    """AIU -> where it stands, from letter to letter."""
    sentences = _sentences(critique.text)
    found: dict[str, Place] = {}
    before = 0
    for aiu in critique.aius or ():
        place = aiu.at if _fits(aiu, critique.text) else _best(aiu.text, sentences, before)
        if place is not None:
            found[aiu.id] = place
            before = place[0]
    return found


def segments(text: str, there: Mapping[str, Place]) -> list[Segment]:
    """The whole text, cut wherever an AIU begins or ends."""
    cuts = sorted({0, len(text), *(edge for place in there.values() for edge in place)})
    return [
        Segment(start, end, tuple(aiu for aiu, (first, last) in there.items() if first <= start and end <= last))
        for start, end in pairwise(cuts)
    ]


def _fits(aiu: Aiu, text: str) -> bool:
    return aiu.at is not None and 0 <= aiu.at[0] < aiu.at[1] <= len(text)


def _best(aiu: str, sentences: Sequence[Sequence[_Word]], before: int) -> Place | None:
    """The stretch of one sentence with the best balance of what it has and what it has too much."""
    spoken = {word.stem for word in _words(aiu, 0)}
    wanted = spoken - _IDLE or spoken
    best, place = 0.0, None
    for words in sentences:
        for first in (index for index, word in enumerate(words) if word.stem in wanted):
            worth, last = _stretch(words, first, wanted)
            worth += _FORWARD * (words[first].start >= before)
            if last is not None and worth > best + 1e-9:
                best, place = worth, _widened(words, first, last, spoken)
    return place


def _stretch(words: Sequence[_Word], first: int, wanted: set[str]) -> tuple[float, int | None]:
    """The best stretch that begins with a word, by the number of its last."""
    had: set[str] = set()
    extra, best, end = 0, 0.0, None
    for last, word in enumerate(words[first:], first):
        if word.stem in wanted and word.stem not in had:
            had.add(word.stem)
            worth = (len(had) - _GAP * extra) / len(wanted)
            if len(had) / len(wanted) >= _LEAST and worth > best:
                best, end = worth, last
        elif word.stem not in _IDLE | wanted:
            extra += 1
    return best, end


def _widened(words: Sequence[_Word], first: int, last: int, spoken: set[str]) -> Place:
    """The stretch with the words around it that the AIU says too, as far as they belong to it."""
    while first > 0 and words[first - 1].stem in spoken - _JOINING:
        first -= 1
    end = last
    while end + 1 < len(words) and words[end + 1].stem in spoken:
        end += 1
        last = last if words[end].stem in _IDLE else end
    return words[first].start, words[last].end


def _sentences(text: str) -> list[list[_Word]]:
    starts = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    return [_words(text[start:end], start) for start, end in pairwise(starts)]


def _words(text: str, offset: int) -> list[_Word]:
    return [
        _Word(_stem(match[0].lower()), offset + match.start(), offset + match.end()) for match in _WORD.finditer(text)
    ]


def _stem(word: str) -> str:
    """Singular and plural, present and past are one word: enough to find a sentence again."""
    for ending in ("'s", "’s", "ing", "ies", "ed", "es", "ly", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


_IDLE = frozenset(word.stem for word in _words(_COMMON, 0))
_JOINING = frozenset(("and", "or", "but", "that", "as", "if", "while"))
