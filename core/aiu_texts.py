"""The span of a critique that an AIU restates, for highlighting.

Models rewrite AIUs when they extract them, so an AIU seldom occurs in its critique word for word. The span is the
stretch of one sentence whose content words are most similar to the AIU's, in any order and inflection. A span that the
AIU itself names is used as it is; an AIU that resembles no part of the text has no span.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.critiques import Aiu, Critique

# Character offsets into the critique: start and end, the end excluded.
Span = tuple[int, int]

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"'”’)\]]*\s+|\n+")
# English function words, and the nouns that nearly every AIU about an answer begins with.
_STOP_WORDS = frozenset(
    _WORD.findall(
        """
        a an and are as at be been but by can could did do does for from had has have he her his if in into is it its
        may might more no not of on or out should so such than that the their them then there these they this to too
        was were which while who why will with would you your
        answer model generated correct critique reference
        """
    )
)
# A span never begins with one of these: they connect it to the preceding text.
_CONJUNCTIONS = frozenset(("and", "or", "but", "that", "as", "if", "while"))
# Percent. Below it, related and unrelated sentences can no longer be distinguished.
_MIN_SIMILARITY = 50
# Percent from which two words count as forms of one: "confuses" and "confused" have 88, "ends" and "ended" 67.
_SAME_WORD = 65
# Percent for a span after the previous AIU's: extraction mostly follows the text.
_ORDER_BONUS = 5


@dataclass(frozen=True)
class Segment:
    """A stretch of a critique and the ids of the AIUs whose spans cover it."""

    start: int
    end: int
    aius: tuple[str, ...]


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    end: int


def locate_aius(critique: Critique) -> dict[str, Span]:
    """Return the span of each AIU by its id; AIUs without a span are left out."""
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(critique.text)), len(critique.text)]
    sentences = [_words(critique.text[start:end], start) for start, end in pairwise(starts)]
    spans: dict[str, Span] = {}
    previous_start = 0
    for aiu in critique.aius or ():
        span = aiu.at
        if span is None or not 0 <= span[0] < span[1] <= len(critique.text):
            span = _most_similar_span(aiu.text, sentences, previous_start)
        if span is not None:
            spans[aiu.id] = span
            previous_start = span[0]
    return spans


def split_text(text: str, spans: Mapping[str, Span]) -> list[Segment]:
    """Return the whole text in segments, cut at every start and end of a span."""
    cuts = sorted({0, len(text), *(edge for span in spans.values() for edge in span)})
    return [
        Segment(start, end, tuple(aiu for aiu, (first, last) in spans.items() if first <= start and end <= last))
        for start, end in pairwise(cuts)
    ]


def _most_similar_span(aiu: str, sentences: Sequence[Sequence[_Word]], previous_start: int) -> Span | None:
    words = [word.text for word in _words(aiu, 0)]
    content = [word for word in words if word not in _STOP_WORDS] or words
    best_score, best_span = 0.0, None
    for sentence in sentences:
        for first, last, similarity in _compare_windows(content, sentence):
            score = similarity + _ORDER_BONUS * (sentence[first].start >= previous_start)
            if score > best_score:
                best_score, best_span = score, _extend(sentence, first, last, frozenset(words))
    return best_span if best_score >= _MIN_SIMILARITY else None


def _compare_windows(content: Sequence[str], sentence: Sequence[_Word]) -> Iterator[tuple[int, int, float]]:
    """Yield (first word, last word, similarity in percent) of the windows that begin and end with a word of `content`.

    Words are sorted before they are compared, so their order does not matter. Only words related to the AIU can
    be edges and a window has at most twice its words, which keeps a long sentence without punctuation affordable.
    """
    candidates = [n for n, word in enumerate(sentence) if word.text in content or word.text not in _STOP_WORDS]
    if not content or not candidates:
        return
    from rapidfuzz import fuzz, process

    word_similarities = process.cdist([sentence[n].text for n in candidates], content, score_cutoff=_SAME_WORD)
    edges = [place for place, scores in enumerate(word_similarities) if scores.any()]
    windows = [(a, b) for n, a in enumerate(edges) for b in edges[n : n + len(content)] if b - a < 2 * len(content)]
    texts = [" ".join(sorted(sentence[n].text for n in candidates[a : b + 1])) for a, b in windows]
    if texts:
        similarities = process.cdist([" ".join(sorted(content))], texts, scorer=fuzz.ratio)[0]
        for (a, b), similarity in zip(windows, similarities, strict=True):
            yield candidates[a], candidates[b], float(similarity)


def _extend(sentence: Sequence[_Word], first: int, last: int, words: frozenset[str]) -> Span:
    """Return the window's span, extended by the adjacent words that also occur in the AIU."""
    while first > 0 and sentence[first - 1].text in words - _CONJUNCTIONS:
        first -= 1
    end = last
    while end + 1 < len(sentence) and sentence[end + 1].text in words:
        end += 1
        last = last if sentence[end].text in _STOP_WORDS else end
    return sentence[first].start, sentence[last].end


def _words(text: str, offset: int) -> list[_Word]:
    return [_Word(match[0].lower(), offset + match.start(), offset + match.end()) for match in _WORD.finditer(text)]


# Proposals which AIUs of two extractions of one critique are the same statement in other words.
#
# A proposal is for a person to confirm: labels belong to the text of an AIU, and similar texts can differ in a "not".

# Pairs below are not proposed.
LEAST_SIMILARITY = 0.75


@dataclass(frozen=True)
class AiuMatch:
    """An AIU of the earlier extraction, and the one of the later that may state the same."""

    old: Aiu
    new: Aiu
    similarity: float
    """Of the texts, 0 to 1: rapidfuzz's ratio of the sorted words."""


def match_aius(old: Sequence[Aiu], new: Sequence[Aiu]) -> list[AiuMatch]:
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
        if pair.similarity >= LEAST_SIMILARITY and not {f"old {pair.old.id}", f"new {pair.new.id}"} & used:
            matches.append(pair)
            used |= {f"old {pair.old.id}", f"new {pair.new.id}"}
    return matches
