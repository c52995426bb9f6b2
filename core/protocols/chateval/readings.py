"""What a persona's contribution says: two scores, or a vote; or why nobody can tell."""

import re
import unicodedata

from core.problems import Unreadable
from core.protocols.readings import LONGEST, choice

_AMOUNT = r"([-−+]?\d+(?:\.\d+)?)"
_SIDE = r"(?:assistant|response|answer)\s*#?\s*([0-9])"
_LABEL = re.compile(
    rf"(?:(?:final|overall|my)\s+)*(?:the\s+)?"
    rf"(?:scores?\s+(?:of|for)\s+(?:the\s+)?{_SIDE}|{_SIDE}(?:['’]s)?(?:\s+(?:answer|score))*)[\s*_`\"]*[:=](.*)",
    re.I,
)
_SCORE = re.compile(rf"[\s*_`\"'“”(\[]*{_AMOUNT}(?:\s*(?:/|out\s+of)\s*{_AMOUNT})?[\s*_`\"'“”)\].]*")
_MARKS = " \t*_`\"'“”"
_EDGE = " \t*_#>`~|\"'“”‘’-–—•"
_ASSISTANT = re.compile(r"\bassistant\s+([0-9])(?:['’]s\s+(?:answer|response))?", re.I)
_ROW = re.compile(rf"{_AMOUNT}[\s,;|]+{_AMOUNT}")


def scores(reply: str, lowest: float, highest: float) -> tuple[float, float]:
    """The scores of the responses as they were read, first and second.

    Accepted: lines such as `Score of Assistant 1: 8`, `**Assistant 2:** 7.5/10`; else a last line `8 7`. Refused: one
    score too few, a range, a score beside the scale, two different ones for the same assistant.
    """
    lines = _lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    found = _labelled(lines) or _row(lines[-1])
    if not found:
        raise Unreadable('no "Score of Assistant 1: …" line')
    for side in ("1", "2"):
        if side not in found:
            raise Unreadable(f"no score of assistant {side}")
        if len(found[side]) > 1:
            raise Unreadable(f"it scores assistant {side} with both {' and '.join(sorted(found[side]))}")
    first, second = (_value(found[side].pop(), lowest, highest) for side in ("1", "2"))
    return first, second


def vote(reply: str) -> int:
    """1, 2 or 0 as the responses were read: `2`, `Assistant 1`, `Assistant 2 is better.`; see `readings.choice`."""
    return choice(_ASSISTANT.sub(r"response \1", reply))


def _labelled(lines: list[str]) -> dict[str, set[str]]:
    """Assistant -> what stands behind its labels."""
    found: dict[str, set[str]] = {}
    for line in lines:
        match = _LABEL.match(line)
        if match:
            found.setdefault(match[1] or match[2], set()).add(match[3].strip(_MARKS))
    return found


def _row(line: str) -> dict[str, set[str]]:
    match = _ROW.fullmatch(line)
    return {"1": {match[1]}, "2": {match[2]}} if match else {}


def _value(text: str, lowest: float, highest: float) -> float:
    match = _SCORE.fullmatch(text)
    if match is None:
        raise Unreadable(f"{text[:40]!r} is not one score")
    value = float(match[1].replace("−", "-"))
    if not lowest <= value <= highest:
        raise Unreadable(f"{value:g} is not a score from {lowest:g} to {highest:g}")
    if match[2] is not None and float(match[2]) != highest:
        raise Unreadable(f"it scores out of {match[2]}, and the scale ends at {highest:g}")
    return value


def _lines(reply: str) -> list[str]:
    """Lines with something on them, without what only decorates them."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip(_EDGE)[-LONGEST:] for line in text.splitlines() if line.strip(_EDGE)]
