"""Readers of a persona's contribution: two scores, or a vote. They raise Unreadable with the reason."""

import re
import unicodedata

from core.problems import Unreadable
from core.protocols.choices import MAX_LINE_LENGTH, read_choice

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


def read_scores(reply: str, lowest: float, highest: float) -> tuple[float, float]:
    """Return the scores of the first and the second response, in the order in which they were shown.

    Accepted: lines such as `Score of Assistant 1: 8`, `**Assistant 2:** 7.5/10`; else a last line `8 7`. Refused: a
    missing score, a range, a score outside the scale, two different scores for the same assistant.
    """
    lines = _content_lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    scores = _labelled_scores(lines) or _row_of_scores(lines[-1])
    if not scores:
        raise Unreadable('no "Score of Assistant 1: …" line')
    for side in ("1", "2"):
        if side not in scores:
            raise Unreadable(f"no score of assistant {side}")
        if len(scores[side]) > 1:
            raise Unreadable(f"it scores assistant {side} with both {' and '.join(sorted(scores[side]))}")
    first, second = (_parse_score(scores[side].pop(), lowest, highest) for side in ("1", "2"))
    return first, second


def read_vote(reply: str) -> int:
    """Return 1, 2 or 0 in the order shown: `2`, `Assistant 1`, `Assistant 2 is better.`; see `choices.read_choice`."""
    return read_choice(_ASSISTANT.sub(r"response \1", reply))


def _labelled_scores(lines: list[str]) -> dict[str, set[str]]:
    """Return the texts after each assistant's label."""
    scores: dict[str, set[str]] = {}
    for line in lines:
        match = _LABEL.match(line)
        if match:
            scores.setdefault(match[1] or match[2], set()).add(match[3].strip(_MARKS))
    return scores


def _row_of_scores(line: str) -> dict[str, set[str]]:
    match = _ROW.fullmatch(line)
    return {"1": {match[1]}, "2": {match[2]}} if match else {}


def _parse_score(text: str, lowest: float, highest: float) -> float:
    match = _SCORE.fullmatch(text)
    if match is None:
        raise Unreadable(f"{text[:40]!r} is not one score")
    value = float(match[1].replace("−", "-"))
    if not lowest <= value <= highest:
        raise Unreadable(f"{value:g} is not a score from {lowest:g} to {highest:g}")
    if match[2] is not None and float(match[2]) != highest:
        raise Unreadable(f"it scores out of {match[2]}, and the scale ends at {highest:g}")
    return value


def _content_lines(reply: str) -> list[str]:
    """Return the lines with content, without decoration at their ends."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip(_EDGE)[-MAX_LINE_LENGTH:] for line in text.splitlines() if line.strip(_EDGE)]
