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

_ENCLOSED = re.compile(r"\s*\(([^()]*)\)?\s*$")
_ASIDE = re.compile(r"\([^()]*\)?")
_SCOPE = re.compile(
    r"[\"')\]]*\s*(?:$|[=:(,;.]|(?:if|for|on|in|when|where|with|regarding|concerning|otherwise|else|at|wenn|für|bei|"
    r"pour|si|para|per|se|для)(?!\w))",
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
    if words.starts("supposition", rest) and not is_forced(rest):
        return f"its answer {value} depends on a condition"
    for sentence, part in _parts(rest, words):
        other = begins(part)
        if sentence and other is None:  # another subject: `B. Wrong answers: A, C`
            break
        if other and other[0] != value and _SCOPE.match(part, other[1]):
            return f"it states both {value} and {other[0]}"
    return ""


def _parts(line: str, words: Words) -> Iterator[tuple[bool, str]]:
    """Yield the later parts of a line, and whether each begins a sentence; asides are left out except `(or 3)`."""
    either = _either(words)
    open_line = _ASIDE.sub(lambda aside: aside[0] if either.match(aside[0]) else " " * len(aside[0]), line)
    for separator in _separator(words).finditer(open_line.lower()):
        yield separator[0][0] in ".;", line[separator.end() :]


@lru_cache(maxsize=16)
def _either(words: Words) -> re.Pattern[str]:
    return re.compile(rf"\(\s*{words.any('either')}", re.I)


@lru_cache(maxsize=16)
def _separator(words: Words) -> re.Pattern[str]:
    joint = rf"(?:{words.any('either', 'contrast')}|(?<!\w)(?:vs|versus)(?!\w)\.?)"
    return re.compile(rf"(?:[,;.](?=\s)|\s/\s|(?={joint})|\()\s*{joint}?[\s\"'(]*")
