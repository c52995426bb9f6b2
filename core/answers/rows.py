"""Rows of numbers without names: `8 7.5`, `40% | 25% | 35%`, a table below a header."""

import re
from collections.abc import Iterator
from itertools import pairwise

from core.answers.labels import FINAL, PLAIN
from core.answers.named import Block, Entry, mentions
from core.answers.numbers import AMOUNT, Measure, measure
from core.answers.sentences import in_doubt
from core.answers.text import Text, Unit

LAST = 30
"""Number of lines, from the end, that are searched in addition to the first one."""


def rows(text: Text, names: tuple[str, ...], end: int) -> Iterator[Block]:
    """Read lines with as many numbers as names and nothing else, in the order of the names or of a header above."""
    lines = [line for line in text.lines if line.start < end]
    header: tuple[str, ...] = ()
    for place, line in enumerate(lines):
        if 0 < place < len(lines) - LAST:
            continue
        above = lines[place - 1].text if place else ""
        below = lines[place + 1].text if place + 1 < len(lines) else ""
        fresh = _header(text, above, names)
        header = fresh or (header if "|" in line.text else ())
        label, numbers = _row(text, line.text[: max(0, end - line.start)])
        if len(numbers) != len(names) or _is_no_answer(text, label) or _is_other_order(text, label, above, names):
            continue
        final = bool(text.words.find("final", label) or text.words.find("final", above))
        edge = place == 0 or not below or bool(label)
        if final or (bool(fresh) and "|" not in below if header else edge):
            twice = place == 0 and bool(_row(text, lines[-1].text)[1])
            rank = FINAL if final or not below or twice else PLAIN - 1
            yield Block(_entries(header or names, numbers, line), rank)


def ratios(text: Text, names: tuple[str, ...], end: int) -> Iterator[Block]:
    """Read `Accuracy : Style = 70 : 30`: all names and as many numbers, joined by the same sign."""
    for line in text.lines[-LAST:]:
        match = _RATIO.fullmatch(re.sub(r"\s+", " ", line.text))
        sign = match["sign"] if match and line.start < end else ""
        order = _header(text, match["names"], names) if match and match["names"].count(sign) == len(names) - 1 else ()
        numbers = [measure(part, text.words) for part in match["numbers"].split(sign)] if match and order else []
        known = tuple(number for number in numbers if number is not None)
        if len(known) == len(names) == len(numbers):
            yield Block(_entries(order, known, line), FINAL if line is text.lines[-1] else PLAIN - 1)


def in_named_order(text: Text, names: tuple[str, ...], end: int) -> Iterator[Block]:
    """Read all names and then as many numbers, in the order of the line: `Response 2, Response 1: 8, 6`."""
    pattern = mentions(text.words, names)
    for line in text.lines[-LAST:]:
        marks = list(pattern.finditer(line.text.lower()))
        order = tuple(names[int((mark.lastgroup or "n0")[1:])] for mark in marks)
        if line.start >= end or len(marks) < 2 or sorted(order) != sorted(names):
            continue
        parts = [line.text[: marks[0].start()], *(line.text[a.end() : b.start()] for a, b in pairwise(marks))]
        found = _NUMBERS.fullmatch(re.sub(r"\s+", " ", line.text[marks[-1].end() :]))
        if found is None or any(_UNORDERED.search(part) for part in parts) or _is_no_answer(text, parts[0]):
            continue
        numbers = [measure(number[0], text.words) for number in _NUMBER.finditer(found["numbers"])]
        known = tuple(number for number in numbers if number is not None)
        if len(known) == len(names) == len(numbers):
            yield Block(_entries(order, known, line), FINAL if line is text.lines[-1] else PLAIN - 1)


def _is_other_order(text: Text, label: str, above: str, names: tuple[str, ...]) -> bool:
    """Return whether the numbers may stand in another order than the names were asked in: `Best first: 8 6`."""
    pattern = mentions(text.words, names)
    if _ORDER.search(label) or pattern.search(label.lower()):
        return True
    order = [int((mark.lastgroup or "n0")[1:]) for mark in pattern.finditer(above.lower())]
    named = _FIRST.search(above) is not None and order != sorted(order)
    return named or (not order and above.rstrip().endswith(":") and _ORDER.search(above) is not None)


def _is_no_answer(text: Text, label: str) -> bool:
    """Return whether the words before a row make it an earlier, uncertain or conditional one."""
    return bool(text.words.find("initial", label) or text.words.find("condition", label)) or in_doubt(label, text.words)


def _header(text: Text, line: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in the order in which a line without numbers gives them all; empty if it does not."""
    order = [names[int((match.lastgroup or "n0")[1:])] for match in mentions(text.words, names).finditer(line.lower())]
    free = mentions(text.words, names).sub("", line.lower())
    other = bool(re.search(r"\d", free) if "|" in line else _SIGNS.sub("", free))
    return tuple(order) if sorted(order) == sorted(names) and not other and len(line) < 300 else ()


def _entries(names: tuple[str, ...], numbers: tuple[Measure, ...], line: Unit) -> tuple[Entry, ...]:
    return tuple(Entry(name, number, line.start, line.end) for name, number in zip(names, numbers, strict=True))


def _row(text: Text, line: str) -> tuple[str, tuple[Measure, ...]]:
    """Return the label and the numbers of a line that holds nothing else; no numbers if it does."""
    line = re.sub(r"\s{2,}", "  ", line)  # the expressions below take quadratic time on a long run of spaces
    label = re.match(
        r"^[^\d:：=|]{0,60}[:=]\s*|^[|\s]*[^\W\d][^\d|]{0,40}\|\s*(?=\d)|^[^\d:]{1,40}\b(?:are|sind|sont|son|são|is)\s+(?=\S*\d)|^(?:I|Je|Ich|Yo|Eu|Io)\s[^\d:|]{1,40}\s(?=\d)",
        line,
    )
    body = line[label.end() :] if label else line
    body = re.sub(r"=\s*100\s*%?\s*$|\s*(?:입니다|です|है)\W*$", "", body)
    body = re.sub(r",?\s*\b(?:and|und|et|y|e|и)\b\s*|\s*和\s*", ", ", body)
    body = (
        re.sub(r"(?<=\d)(%?)\s*(?:/|\s-\s)\s*(?=\d+(?:[.,]\d+)?%?\s*(?:/|-|$))", r"\1 ", body)
        if _SLASHED.match(body.strip())
        else body
    )
    body = body.strip(" \t[](){}'\"|.;*")
    out = r"(?:\s*/\s*(?:10|5|100|7)(?![\d.]))?"
    token = rf"[\"']?({AMOUNT}){out}\s*[%$]?[\"']?"
    for separator in (r"\s*[;|]\s*|\s+(?![%/\d]*%?\s*$)\s*|,\s+|\s+", r"\s*,\s*|\s+"):
        pieces = [piece for piece in re.split(separator, body) if piece and piece not in "|,;%"]
        if len(pieces) > 1 and all(re.fullmatch(token, piece.rstrip(",")) for piece in pieces) and len(pieces) <= 30:
            numbers = [measure(piece.strip("\"'$ ").rstrip(",$"), text.words) for piece in pieces]
            if all(number is not None and not number.problem for number in numbers):
                return (label[0] if label else ""), tuple(number for number in numbers if number is not None)
    return "", ()


_SLASHED = re.compile(r"\d[\d.,]*\s*%?(?:\s*/\s*\d[\d.,]*\s*%?){2,}\W*$|\d[\d.,]*\s*%?(?:\s+-\s+\d[\d.,]*\s*%?)+\W*$")
_NUMBER = re.compile(rf"{AMOUNT}(?:\s*%|\s*/\s*(?:100|10|7|5)(?![\d.]))?")
_BETWEEN = r"\s*(?:[,;/:>|]|\b(?:and|to|against|vs|versus|und|zu|et|y|e|a)\b\.?)(?:\s*and\b)?\s*"
_NUMBERS = re.compile(
    rf"[^\d.!?]{{0,30}}?[\s:=(\[,>]+(?P<numbers>{_NUMBER.pattern}(?:{_BETWEEN}{_NUMBER.pattern})+)"
    r"[\s)\]]*(?:points?)?,?\s*(?:respectively|in that order)?\W*"
)
_UNORDERED = re.compile(
    r"\d|[!?]|\b(?:worse|behind|loses?|lower|below|trails|weaker|inferior|not|or)\b|[^\n]{41}", re.I
)
"""Words between two names after which the numbers may stand in the other order."""
_ORDER = re.compile(
    r"\b(?:revers\w*|backwards?|best|better|worst|rank\w*|sorted|descending|ascending|decreasing|increasing|highest|lowest|"
    r"winner|loser|latter|former|order)\b|\b(?:second|2)\b[^.]{0,12}\bfirst\b|\b2,?\s+(?:then\s+)?1\b",
    re.I,
)
_FIRST = re.compile(r"\b(?:first|then|before|after|order|rank\w*|sorted|revers\w*)\b", re.I)
_SIGNS = re.compile(
    r"[\s|,;/&:>()\[\]=*.–—-]|\b(?:and|und|et|y|e|vs|versus|scores?|ratings?|for|of|the|weights?|aspects?)\b"
)
_RATIO = re.compile(
    rf"(?P<names>[^\d:/=]{{1,80}}(?P<sign>[:/])[^\d=]{{1,200}}?)\s*[:=]\s*(?P<numbers>{AMOUNT}\s*%?(?:\s*(?P=sign)\s*{AMOUNT}\s*%?)+)\W*"
)
