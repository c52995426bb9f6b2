"""Which of the answers in a reply counts: the last one, unless two finals differ or the reply retracts it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from core.answers.answer import Reading
from core.answers.headings import introduced
from core.answers.labels import FINAL, PLAIN
from core.answers.sentences import announcement
from core.answers.text import Text
from core.errors import UnreadableReply

T = TypeVar("T")

_STATED = re.compile(r"\s*(?:[^\W\d]+\s*){0,3}(?:[:=(|%–-]|\d|$)")
_ABOUT_ITSELF = re.compile(
    r"\W*(?:(?:reliability|security|strength|difficulty|ease|certainty|likelihood|degree|level)\s+(?:of|"
    r"that)\s+(?:i\b[^\d:=]{0,30}|"
    r"(?:confidence|certainty|preference|error|(?:this|my|the)\s+(?:\w+\s+)?(?:rating|judge?ment|verdict|"
    r"answer|score|evaluation|"
    r"decision|choice|preference|item))|(?:rating|judge?ment)s?\b)|how\s+(?:sure|certain|"
    r"confident)[^\d:=?]{0,30}\??|conf|"
    r"preference\s+(?:strength|margin)|p\s*\(\s*correct\s*\)|(?:estimated|expected)\s+(?:accuracy|agreement)|"
    r"self[- ](?:rating|assessment))\W{0,4}[:=]|\W*(?:how\s+(?:sure|certain|confident)[^\d:=?]{0,30}\?)",
    re.I,
)
"""`Strength of preference: 1`, `Reliability of this rating: 5`: a line about the answer."""
MARKED, SENTENCE, WEAK = FINAL, 1, 0
__all__ = [
    "FINAL",
    "MARKED",
    "PLAIN",
    "SENTENCE",
    "WEAK",
    "Candidate",
    "decided",
    "is_of_others",
    "refused",
    "trailing",
    "without_confidence",
]


@dataclass(frozen=True)
class Candidate(Generic[T]):
    """A possible answer in a reply. An unusable one has a problem instead of a value."""

    value: T | None
    rule: str
    start: int
    end: int
    rank: int
    problem: str = ""


def decided(candidates: Sequence[Candidate[T]], text: Text, missing: str) -> Reading[T]:
    """Return the candidate that counts; raises UnreadableReply if none does."""
    if not candidates:
        refused(text, missing)
    ordered = sorted(candidates, key=lambda candidate: (candidate.start, candidate.end))
    rank = max(candidate.rank for candidate in ordered)
    best = [candidate for candidate in ordered if candidate.rank == rank]
    last = best[-1]
    rivals = [
        *best[:-1],
        *(candidate for candidate in ordered if candidate.rank < rank and _contradicts(candidate, last, text)),
    ]
    for rival in rivals:
        if _differ(rival, last) and not _corrected(text, min(rival.start, last.start), max(rival.start, last.start)):
            raise UnreadableReply(_both(rival, last))
    if latest := [candidate for candidate in rivals if candidate.start > last.start and _differ(candidate, last)]:
        last = latest[-1]
    if _taken_back(text, last.end):
        raise UnreadableReply("it takes its answer back and gives no other")
    if last.value is None:
        raise UnreadableReply(last.problem)
    return Reading(last.value, last.rule, text.span(last.start, last.end))


def is_of_others(candidate: Candidate[Any], text: Text) -> bool:
    """Return whether the words around a possible answer take it from the reply's author."""
    return introduced(text, candidate.start) or text.is_foreign(candidate.start, candidate.end, candidate.rule)


def refused(text: Text, missing: str) -> NoReturn:
    """Raise UnreadableReply: it declines to answer, or the requested value is missing."""
    ends = [unit.text for unit in (*text.units[:2], *text.units[-2:])]
    declines = any(text.words.find("refusal", end) for end in ends)
    raise UnreadableReply("it declines to answer" if declines else missing)


def trailing(text: Text) -> int:
    """Return the position at which courtesies, notes and confidence lines at the end of the reply begin."""
    end = len(text.spoken)
    units = list(text.units)
    while units:
        above = units[-2].text if len(units) > 1 else ""
        below_heading = len(units[-1].text) < 12 and _is_confidence_heading(text, above)
        if not (below_heading or text.words.starts("courtesy", units[-1].text) or is_confidence(text, units[-1].text)):
            break
        end = units.pop().start
    return end


def without_confidence(text: Text, line: str) -> str:
    """Return a line without the confidence in brackets at its end: `2 (confidence: 1)`."""
    aside = re.search(r"\s*[(\[]([^()\[\]]{3,60})[)\]]\W*$", line)
    return line[: aside.start()] if aside and is_confidence(text, aside[1]) else line


def _is_confidence_heading(text: Text, line: str) -> bool:
    """Return whether a line announces the confidence on the next one: `## Confidence`, `How sure am I?`"""
    if len(line) > 40 or re.search(r"\d", line):
        return False
    return _ABOUT_ITSELF.match(line) is not None or text.words.starts("confidence", line) is not None


def is_confidence(text: Text, line: str) -> bool:
    """Return whether a line states the model's confidence."""
    if _ABOUT_ITSELF.match(line):
        return True
    phrase = text.words.find("confidence", line[:40])
    after = line[phrase.end() :] if phrase else ""
    if phrase and re.search(r"\w\s*[(\[]\s*$", line[: phrase.start()]) and re.search(r"\d", after):
        return False  # `2 (confidence: 1)`
    below = re.match(r"\W*\d", line) and not after.strip(" )].")  # `4 (confidence)`
    return phrase is not None and bool(_STATED.match(after) or below or re.match(r"\W*I(?:'m| am)\b", line))


def _contradicts(first: Candidate[T], last: Candidate[T], text: Text) -> bool:
    """Return whether a weaker answer contradicts the accepted one: it follows it or directly precedes it."""
    if first.rank <= WEAK:
        return False
    if first.start >= last.end:
        return True
    between = [unit for unit in text.units if first.end <= unit.start and unit.end <= last.start]
    return last.rank <= PLAIN and first.end <= last.start and not between


def _differ(first: Candidate[T], second: Candidate[T]) -> bool:
    return first.value != second.value or first.value is None


def _both(first: Candidate[T], second: Candidate[T]) -> str:
    if first.problem or second.problem:
        return second.problem or first.problem
    return f"it states both {first.value} and {second.value}"


def _corrected(text: Text, start: int, end: int) -> bool:
    """Return whether a sentence between two places announces a correction."""
    return any(announcement(unit.text, text.words) for unit in text.units if start < unit.end and unit.start <= end)


def _taken_back(text: Text, end: int) -> bool:
    return any(announcement(unit.text, text.words) for unit in text.units if unit.start >= end)
