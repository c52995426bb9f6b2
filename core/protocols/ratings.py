"""What a form says: a rating on a scale, the letter of an option, a number; and the comment that stands before it.

A form ends with a line of its own, "Rating: N" or "Answer: X". A line with the value alone is taken too where no such
line is there. Nothing else is: not a range, not two different values, not a value beside the scale.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from core.labels import Scale
from core.problems import Unreadable

_EDGE = " \t*_#>`~|\"'“”‘’-–—•"
_NUMBER = r"[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[-−+]?\.\d+"
_BARE = re.compile(rf"\W*?({_NUMBER})(?:\s*(?:/|out of)\s*({_NUMBER}))?[\s*_`\"'”’.)\]]*")
_AMOUNT = re.compile(_NUMBER)
_OPTION = re.compile(r"[\s*_`\"'“‘(\[]*(?:option|choice|answer)?\s*[(\[*\"'“]*([A-Z])(?:[)\].:,*\"'”][\s\S]*|\s*)")
_ANALYSIS = re.compile(r"^\W*analysis\W*?:[\s*_]*", re.I)
_OR = re.compile(r"\b(?:or|and)\b", re.I)


def rating(reply: str, scale: Scale, names: Collection[str] = ()) -> int | float:
    """The value of the last line "Rating: N"; `names` are other words that may stand for "Rating".

    Accepted on a scale of 1, 2, 3: `Rating: 2`, `**Rating:** 2/3`, `Engagingness: 2 out of 3`, `2` alone.
    """
    said = _said(reply, ("rating", "score", *names))
    found = {_rated(text, scale) for text in said}
    if len(found) > 1:
        raise Unreadable(f"it gives the ratings {_list(found)}")
    value = found.pop()
    if not scale.holds(value):
        raise Unreadable(f"{value:g} is not on the scale: {values(scale)}")
    return value


def option(reply: str, letters: Sequence[str]) -> str:
    """The letter of the last line "Answer: X": `Answer: B`, `**Answer:** (B)`, `Answer: B) 12 km`, `B` alone."""
    said = _said(reply, ("answer", "final answer"))
    found = {match[1] for text in said if not _two(text, letters) and (match := _OPTION.fullmatch(text))}
    if not found:
        raise Unreadable("the answer is not one letter")
    if len(found) > 1:
        raise Unreadable(f"it gives the answers {_list(found)}")
    letter = found.pop()
    if letter not in letters:
        raise Unreadable(f"{letter} is not one of {', '.join(letters)}")
    return letter


def number(reply: str) -> int | float:
    """The number of the last line "Answer: N"; a currency or a unit beside it does no harm: `Answer: $1,200.50`."""
    said = _said(reply, ("answer", "final answer"))
    found = {_plain(amount) for text in said for amount in _AMOUNT.findall(text)}
    if len(found) != 1:
        raise Unreadable("the answer holds no number" if not found else f"the answer holds {_list(found)}")
    return found.pop()


def comment(reply: str, names: Collection[str] = ()) -> str:
    """What stands before the value, without the word "Analysis:"; it does not give the value away."""
    kept = [line for line in reply.splitlines() if not _labelled(line, ("rating", "score", "answer", *names))]
    text = _ANALYSIS.sub("", "\n".join(kept).strip())
    lines = text.splitlines()
    return "\n".join(lines[:-1] if lines and _alone(lines[-1]) else lines).strip()


def numeric(scale: Scale | None) -> bool:
    """Whether scores on a scale can be averaged: all its values are numbers, or it has two ends."""
    if scale is None or not (scale.categories or (scale.low is not None and scale.high is not None)):
        return False
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in scale.categories)


def grammar(label: str, offered: Sequence[object]) -> str:
    """The form in llama.cpp's GBNF: an analysis of one line, then the label and one of the values."""
    last = " | ".join(f'"{value}"' for value in offered)
    return rf'root ::= "Analysis: " [^\n]{{40,300}} "\n{label}: " ({last})'


def values(scale: Scale) -> str:
    """`1, 2 or 3`, or `a number from 0 to 100`."""
    if scale.categories:
        *most, last = [
            f"{category:g}" if isinstance(category, float) else str(category) for category in scale.categories
        ]
        return f"{', '.join(most)} or {last}" if most else last
    low, high = (None if end is None else f"{end:g}" for end in (scale.low, scale.high))
    return "a number" + (f" from {low}" if low else "") + (f" to {high}" if high else "")


def _said(reply: str, names: Collection[str]) -> list[str]:
    """What the lines with a label say; where none has one, the last line if a value stands there alone."""
    lines = [line for line in unicodedata.normalize("NFKC", reply).splitlines() if line.strip(_EDGE)]
    if not lines:
        raise Unreadable("the reply is empty")
    label = f"{next(iter(names)).capitalize()}: …"
    found = list(_after(lines, names))
    if not found and not _alone(lines[-1]):
        raise Unreadable(f'no "{label}" line')
    return found or [lines[-1]]


def _after(lines: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """What stands behind each label; the next line where the label stands alone."""
    for place, line in enumerate(lines):
        rest = _labelled(line, names)
        if rest is None:
            continue
        if rest[0].strip(_EDGE + ":"):
            yield rest[0]
        elif place + 1 < len(lines):
            yield lines[place + 1]


def _labelled(line: str, names: Collection[str]) -> tuple[str] | None:
    """What stands behind "Rating:" at the beginning of a line; None where no label is."""
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    found = re.match(
        rf"[\W_]*(?:final\s+|overall\s+|my\s+)?(?:{words})(?:\s*\([^)]*\))?[\s*_`\"]*(?::|=|$)(.*)", line, re.I
    )
    return (found[1],) if found else None


def _rated(text: str, scale: Scale) -> int | float:
    found = _BARE.fullmatch(text.strip())
    if found is None:
        raise Unreadable(f"{' '.join(text.split())[:40]!r} is not one rating")
    top = scale.categories[-1] if scale.categories else scale.high
    if found[2] is not None and _plain(found[2]) != top:
        raise Unreadable(f"it rates out of {found[2]}, and the scale ends at {top}")
    return _plain(found[1])


def _plain(text: str) -> int | float:
    value = float(text.replace(",", "").replace("−", "-"))
    return int(value) if value.is_integer() else value


def _alone(line: str) -> bool:
    """A number or a letter, and nothing beside it."""
    return bool(re.fullmatch(rf"[\W_]*(?:{_NUMBER}|[A-Z])[\W_]*", line))


def _two(text: str, letters: Sequence[str]) -> bool:
    """`A or B`, `A, C`: more than one letter is named."""
    head = re.split(r"[.:;]", text)[0]
    named = {letter for letter in letters if re.search(rf"(?<!\w){re.escape(letter)}(?!\w)", head)}
    return len(named) > 1 and (bool(_OR.search(head)) or "," in head)


def _list(found: Collection[object]) -> str:
    return " and ".join(sorted(f"{value:g}" if isinstance(value, float) else str(value) for value in found))
