"""Tables of scores: the column that holds the value if a row has several numbers."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from core.answers.numbers import measure
from core.answers.text import Unit
from core.answers.words import Words

ABOVE = 40
"""Maximum number of lines between a row and its header."""
CELLS = 40
"""Maximum number of cells in a row that is parsed."""
_RULE = re.compile(r"[\s|:=-]*")
_EDGE = " \t*_`()[]"


def value_cell(lines: Sequence[Unit], line: Unit, start: int, words: Words) -> tuple[int, bool]:
    """Return where the cell with the value begins in a row, after position `start`, and whether there is one.

    A row with one number has it there. Of several, it is the one below "Overall", "Total" or "Score" in the header;
    without such a header the row states no single value. Text that is no table is returned as it is.
    """
    row = line.text
    borders = [place for place, sign in enumerate(row) if sign == "|"]
    if len(borders) > CELLS:
        return start, True
    behind = [place for place in borders if place >= start]
    cells = [(left, row[left + 1 : right]) for left, right in pairwise([*behind, len(row)])]
    numeric = [(left, cell) for left, cell in cells if _is_number(cell, words)]
    if len(numeric) < 2:
        return start, True
    header = _header(lines, line, len(borders), words)
    for concepts in (("final", "total"), ("rating", "weight")):
        named = [
            left for left, _ in numeric if any(words.find(one, _cell(header, borders.index(left))) for one in concepts)
        ]
        if len(named) == 1:
            return named[0] + 1, True
    return start, False


def _is_number(cell: str, words: Words) -> bool:
    text = cell.strip(_EDGE)
    amount = measure(text, words) if text else None
    return amount is not None and not text[amount.end :].strip(_EDGE)


def _header(lines: Sequence[Unit], line: Unit, borders: int, words: Words) -> str:
    """Return the nearest row above with as many borders and without a number; empty if there is none."""
    place = bisect_left(lines, line.start, key=lambda other: other.start)
    for other in reversed(lines[max(0, place - ABOVE) : place]):
        if other.text.count("|") == 0:
            break
        if other.text.count("|") == borders and not _RULE.fullmatch(other.text):
            cells = other.text.split("|")
            if not any(_is_number(cell, words) for cell in cells):
                return other.text
    return ""


def _cell(header: str, place: int) -> str:
    """Return the cell of a header after its border number `place`."""
    cells = header.split("|")
    return cells[place + 1] if place + 1 < len(cells) else ""
