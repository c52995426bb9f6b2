"""Lines that state several answers after one label: `1 for accuracy, 2 for style`."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

from core.answers.headings import is_forced
from core.answers.words import Words

T = TypeVar("T")
Begins = Callable[[str], tuple[T, int] | None]
"""Returns the value that a text begins with, and where its name ends; None if it begins with something else."""

SHORT = 5
"""Maximum number of words after an answer in a sentence without a verb: `Submission 2 for style.`"""
_RANKED = re.compile(
    r"\b(?:then|followed by|ahead of|before|than|over|compared (?:to|with)|superior to|preferable to|beats|outperforms|"
    r"surpasses)\b",
    re.I,
)
"""After these words other answers follow that are not chosen."""
_ENCLOSED = re.compile(r"\s*\(([^()]*)\)?\s*$")
_ASIDE = re.compile(r"\((?!\w{1,2}\))[^()]*\)?")
_END = re.compile(r"[\s.!。！*\"')\]]*")
_SCOPE = re.compile(
    r"[\"')\]]*\s*(?!on the other hand|(?:in|by) contrast|(?:in|by) comparison)(?:$|[=:(,;.]|"
    r"(?:if|for|on|in|when|where|with|at|by|under|given|as to|regarding|concerning|otherwise|else|"
    r"wenn|für|bei|pour|si|para|per|se|для)(?!\w))",
    re.I,
)
"""What follows a value that is an answer, possibly to a part of the question; a verb makes it a remark."""


def unclear(line: str, value: T, begins: Begins[T], words: Words) -> str:
    """Return why a line that begins with `value` does not state it alone: another answer, or a condition."""
    enclosed = _ENCLOSED.match(line)
    line = (enclosed[1] if enclosed else line).lstrip(" \"'([|:=")
    first = begins(line)
    if first is None or first[0] != value:
        return ""
    rest = line[first[1] :]
    if reason := words.find("reason", rest) or _RANKED.search(rest):
        rest = rest[: reason.start()]
    if words.starts("supposition", rest) and not is_forced(rest):
        return f"its answer {value} depends on a condition"
    if (other_value := _retracted(line[first[1] :], begins, words)) not in (None, value):
        return f"it states {value}, and then {other_value}"
    for sentence, part in _parts(rest, words):
        other = begins(part)
        if other is None and (sentence == "." or (sentence and ":" in part)):  # another label: `B. Wrong answers: A, C`
            break
        scoped = other and _SCOPE.match(part, other[1]) and not (sentence and _is_remark(part[other[1] :]))
        if other and other[0] != value and scoped:
            return f"it states both {value} and {other[0]}"
    return ""


def _retracted(rest: str, begins: Begins[T], words: Words) -> T | None:
    """Return the other answer if nothing but a retraction is between the two: `1. No, sorry: 2.`"""
    match = _retraction(words).match(rest.lower())
    other = begins(rest[match.end() :]) if match else None
    return other[0] if match and other and _END.fullmatch(rest, match.end() + other[1]) else None


def _parts(line: str, words: Words) -> Iterator[tuple[str, str]]:
    """Yield the later parts of a line, without asides except `(or 3)`, and the sign "." or ";" before each."""
    alternative = _alternative(words)
    open_line = _ASIDE.sub(lambda aside: aside[0] if alternative.match(aside[0]) else " " * len(aside[0]), line)
    for separator in _separator(words).finditer(open_line.lower()):
        before, after = line[: separator.start()].rstrip(), line[separator.end() :]
        if before[-1:].isdigit() and after[:1].isdigit():  # `on points 1 and 2`
            continue
        yield separator[0][0] if separator[0][0] in ".;" else "", after


def _is_remark(after: str) -> bool:
    """Return whether a sentence that begins with an answer is about it: `Response 2, although good, is vague.`"""
    sentence = re.split(r"[.;]", after, maxsplit=1)[0]
    return sentence.lstrip(" )]\"'").startswith(":") or len(sentence.split()) > SHORT


@lru_cache(maxsize=16)
def _retraction(words: Words) -> re.Pattern[str]:
    taken_back = words.any("retraction", "correction")
    return re.compile(rf"[\s.;,!?。？！，…)\]*-]*(?:{taken_back}[\s,:，：.!！-]*){{1,3}}", re.I)


@lru_cache(maxsize=16)
def _alternative(words: Words) -> re.Pattern[str]:
    return re.compile(rf"\(\s*{words.any('conjunction')}", re.I)


@lru_cache(maxsize=16)
def _separator(words: Words) -> re.Pattern[str]:
    joint = rf"(?:{words.any('conjunction', 'contrast')}|(?<!\w)(?:vs|versus)(?!\w)\.?)"
    return re.compile(rf"(?:[,;.](?=\s)|\s[/|]\s|(?={joint})|\()\s*{joint}?[\s\"'(]*")
