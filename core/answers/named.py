"""Values by name: the number of each name in lines, sentences and tables; and rows of numbers."""

import re
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise, takewhile, zip_longest
from typing import Any, ClassVar, NamedTuple

from core.answers import words
from core.answers.answer import Answer, Reading, listed
from core.answers.sentences import FINAL, PLAIN, in_doubt
from core.answers.single import AMOUNT, NUMERAL, Candidate, Measure, decided, measure, trailing, whole
from core.answers.text import Text, Unit, listed_numbers, pairs
from core.answers.words import readable, squash

# Tables of scores: the column that holds the value if a row has several numbers.

ABOVE = 40
"""Maximum number of lines between a row and its header."""
CELLS = 40
"""Maximum number of cells in a row that is parsed."""
_RULE = re.compile(r"[\s|:=-]*")
_EDGE = " \t*_`()[]"


def value_cell(lines: Sequence[Unit], line: Unit, start: int) -> tuple[int, bool]:
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
    numeric = [(left, cell) for left, cell in cells if _is_number(cell)]
    if len(numeric) < 2:
        return start, True
    titles = _header(lines, line, len(borders)).split("|")[1:] or [""] * len(borders)
    title = dict(zip(borders, titles, strict=True))
    for concepts in (("final", "total"), ("rating", "weight")):
        named = [left for left, _ in numeric if words.has(title[left], *concepts)]
        if len(named) == 1:
            return named[0] + 1, True
    return start, False


def _is_number(cell: str) -> bool:
    text = cell.strip(_EDGE)
    amount = measure(text) if text else None
    return amount is not None and not text[amount.end :].strip(_EDGE)


def _header(lines: Sequence[Unit], line: Unit, borders: int) -> str:
    """Return the nearest row above with as many borders and without a number; empty if there is none."""
    place = bisect_left(lines, line.start, key=lambda other: other.start)
    table = takewhile(lambda row: "|" in row, (other.text for other in reversed(lines[max(0, place - ABOVE) : place])))
    like = (row for row in table if row.count("|") == borders and not _RULE.fullmatch(row))
    return next((row for row in like if not any(_is_number(cell) for cell in row.split("|"))), "")


MARKS = 30
"""Maximum number of names in a line; a line with more is not a list of scores."""
SECTION_LINES = 120
"""Maximum number of lines with headings, from the end."""
_HEADING = " .:*#()|-–—=>"
TAIL = 80
"""Maximum number of characters before a name that are searched for its number."""
HEAD = 1000
"""Maximum number of characters before a number that are searched for words that cast doubt on it."""
LINES = 40
"""Maximum number of lines with a name, from the end."""

_NUMBERED = re.compile(r"^(.*\S)\s+(\d{1,2})$")
_NUMBERED_LINE = re.compile(
    r"[\s(#]{0,3}(\d{1,2})(?:\)?\s*[:=]\s*|[.)]\s+(?=[\d.,]+\s*%))(\d[\d.,]{0,8}\s*%?(?:\s*/\s*\d{1,3})?)\W{0,5}"
)
_AFTER = re.compile(
    r"[\s\"')\]|*>]*(?:$|\||[.,;:!?/)\]+&=；。！？](?!\d)|[–—(\[-]|\s*+(?:points?|pts?|stars?|分|点|점|punkte?|puntos|pontos|punti|балл\w*|अंक|percent|because|since|as|and|"
    r"while|for|with|to|weight|due|reflecting|which|but|et|und|y|e|и|和|on|in|given|overall|out)(?![a-z])|[^\W\d_]\S*\s*+\d?\s*+[:=]|\n)",
    re.I,
)


class Mark(NamedTuple):
    """A name in a text."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Entry:
    """A number with its name."""

    name: str
    amount: Measure
    start: int
    end: int


@dataclass(frozen=True)
class Block:
    """Adjacent numbers for several names, at most one for each."""

    entries: tuple[Entry, ...]
    rank: int

    @property
    def start(self) -> int:
        return min(entry.start for entry in self.entries)

    @property
    def end(self) -> int:
        return max(entry.end for entry in self.entries)

    def measures(self) -> dict[str, Measure]:
        return {entry.name: entry.amount for entry in self.entries}


def entries(text: Text, names: tuple[str, ...]) -> list[Entry]:
    """Return every number after a name, or before it ("70% for accuracy"), except in uncertain sentences."""
    marked = ((line, marks_in(line.text, names)) for line in reversed(text.lines))
    collected: list[Entry] = []
    for line, marks in islice(((line, marks) for line, marks in marked if 0 < len(marks) <= MARKS), LINES):
        behind = list(_behind(text, line, marks))
        before = list(_before(text, line, marks)) if len(behind) < len(marks) else []
        here = before if len(before) > len(behind) else [*behind, *_each(text, line, marks)]
        collected = [*(entry for entry in here if not _doubted(text, line, entry)), *collected]
    return collected or list(_sections(text, names)) or _numbered(text, names)


def _sections(text: Text, names: tuple[str, ...]) -> Iterator[Entry]:
    """Read a heading with a name alone, and the first "Score: 4" below it."""
    pattern, name = mentions(names), ""
    for line in text.lines[-SECTION_LINES:]:
        heading = pattern.fullmatch(re.sub(r"^\d{1,2}[.)]\s+", "", line.text.lower()).strip(_HEADING))
        if heading or pattern.search(line.text.lower()):
            name = names[place_of(heading)] if heading else ""
        label = words.starts("rating", line.text) or words.starts("weight", line.text)
        rest = line.text[label.end() :].lstrip(" :=-–") if label and name else ""
        amount = measure(rest)
        if amount and _AFTER.match(rest[amount.end :]):
            yield Entry(name, amount, line.start, line.end)
            name = ""


def _numbered(text: Text, names: tuple[str, ...]) -> list[Entry]:
    """Read `1: 5` and `2: 7`, or `1. 30%` and `2. 70%`, on lines of their own."""
    found = [(line, match) for line in text.lines[-LINES:] if (match := _NUMBERED_LINE.fullmatch(line.text))]
    found.sort(key=lambda one: int(one[1][1]))
    if [int(match[1]) for _, match in found] != list(range(1, len(names) + 1)):
        return []
    amounts = [(name, line, measure(match[2])) for name, (line, match) in zip(names, found, strict=True)]
    return [Entry(name, amount, line.start, line.end) for name, line, amount in amounts if amount]


def blocks(text: Text, collected: Sequence[Entry]) -> list[Block]:
    """Return the entries in groups: a repeated name, or a heading, begins the next group."""
    groups: list[list[Entry]] = []
    for entry in collected:
        last = groups[-1] if groups else []
        if not last or entry.name in {one.name for one in last} or _apart(text, last[-1].end, entry.start):
            groups.append([])
        groups[-1].append(entry)
    return [Block(tuple(group), _rank(text, group[0])) for group in groups]


def repeated(before: Block | None, block: Block, text: Text) -> str:
    """Return a name with another number in the lines directly before a block."""
    if before is None or len(before.entries) == len(block.entries) or before.rank < block.rank:
        return ""
    if any(line.start >= before.end and line.end <= block.start for line in text.lines):
        return ""
    numbers = block.measures()
    return next((name for name, element in before.measures().items() if element.value != numbers[name].value), "")


@lru_cache(maxsize=256)
def mentions(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern with a group for each name."""
    order = sorted(range(len(names)), key=lambda place: -len(names[place]))
    return re.compile("|".join(rf"(?P<n{place}>{_forms(names, place)})" for place in order))


def place_of(match: re.Match[str]) -> int:
    """Return the place of the name that a match of `mentions` refers to."""
    return int((match.lastgroup or "n0")[1:])


def marks_in(text: str, names: tuple[str, ...]) -> list[Mark]:
    """Return the names in a text, in its order."""
    found = mentions(names).finditer(text.lower())
    return [Mark(names[place_of(match)], *match.span()) for match in found]


def _forms(names: tuple[str, ...], place: int) -> str:
    """Return the accepted forms of a name: another noun in "Response 1", or fewer words of an aspect's name."""
    name = names[place].lower()
    if numbered := _NUMBERED.match(name):
        number = numbered[2]
        ordinal = words.any_of(f"ordinal_{number}") if number in ("1", "2", "3") else "(?!)"
        nouns = rf"(?:{words.any_of('response')}|(?<!\w){re.escape(numbered[1])}|(?<!\w)[ra](?=\d))"
        letter = chr(96 + int(number)) if int(number) <= 8 else "(?!)"
        mark = rf"(?:{number}(?!\d|[.,]\d)|{letter}(?=\s*[:=(|\]-]))"
        return rf"{nouns}\s*(?:#|no\.?)?\s*[\"'(\[]*{mark}|(?:{ordinal})\s+{nouns}"
    index = rf"(?:aspect|criterion|question)\s*{place + 1}(?!\d)"
    return "|".join([*_shorter(names, place), index])


def _shorter(names: tuple[str, ...], place: int) -> list[str]:
    """Return the name, and each part of it that is unique among the names."""
    plain = [squash(name).split() for name in names]
    own = plain[place]
    parts = [own] + [
        [word] for word in own if len(word) > 4 and sum(word in other for other in plain) == 1 and len(own) <= 4
    ]
    bounds = [(r"(?<!\w)", r"(?!\w)") if part[0].isascii() else ("", "") for part in parts]
    return [
        before + r"\W+".join(map(re.escape, part)) + r"\??" + after
        for part, (before, after) in zip(parts, bounds, strict=True)
    ]


def _behind(text: Text, line: Unit, marks: list[Mark]) -> Iterator[Entry]:
    """Read a number after each name, before the next one."""
    for mark, following in zip_longest(marks, marks[1:]):
        limit = following.start if following else len(line.text)
        begin, is_single = mark.end, True
        if "|" in line.text and len(marks) == 1:
            begin, is_single = value_cell(text.lines, line, mark.end)
        join = _joined(line.text[begin:limit])
        amount = measure(line.text[begin + join : limit]) if is_single and join is not None else None
        if join is None or amount is None:
            continue
        end = begin + join + amount.end
        if _ends_there(line.text[end:], amount):
            problem = "it gives several numbers" if _SEVERAL.match(line.text[end:limit]) else amount.problem
            yield Entry(mark.name, replace(amount, problem=problem), line.start + mark.start, line.start + end)


_SEVERAL = re.compile(
    r"\s*(?:(?:for|in|on)\s+[a-z ]{3,30})?(?:[,;]\s*|\s+)(?:and\s+)?(?:an?\s+)?\d{1,3}(?:\.\d)?\s*"
    r"(?:[,;|]|$|(?:for|in|on)\s+[a-z])",
    re.I,
)
"""`9, 8, 7`, `9 for accuracy, 8 for clarity`: several numbers after one name."""


def _ends_there(after: str, amount: Measure) -> bool:
    """Return whether a number is a value and not part of a phrase: `2 errors`, `80% of users`."""
    if amount.value == 1 and re.match(r"[.)]\s+[^\W\d]", after):
        return False  # "1. It greets the user." begins a list
    return bool(_AFTER.match(after)) or (amount.percent and not re.match(r"\s*(?:of|der|des|de|von)\b", after))


def _joined(piece: str) -> int | None:
    """Return the position at which the number begins, if only filler words precede it."""
    match = words.pattern(_JOINING).match(piece.lower()) or _REMARK.match(piece)
    return match.end() if match else None


_REMARK = re.compile(
    r"[^\d:.;|\n]{0,40}[:(]\s*(?=\d{1,3}(?:[.,]\d+)?\s*%)|"
    r"[^\d:.;|\n]{0,60}\(\s*(?=\d{1,3}(?:[.,]\d+)?\s*/\s*\d)|"
    r"[^\d:.;|\n]{0,80}\b(?:gets|receives|deserves|earns|scores|with)\s+(?:only\s+)?(?:an?\s+)?(?=\d)"
)


_JOINING = (
    r"(?:\s*\([^()\d]{1,40}(?:\d(?:nd|st|rd|th)?[^()\d]{0,20})?\))?"
    r"(?:[\s\"'()\[\]|:=,\-–—→>]|\.{2,}|(?&filler|rating|weight|final|response)){0,30}?"
    rf"(?={AMOUNT}|{NUMERAL}|[★⭐])"
)


def _before(text: Text, line: Unit, marks: list[Mark]) -> Iterator[Entry]:
    """Read `70% accuracy`, `an 8 for Assistant 1`: a number right before each name."""
    done = 0
    for mark in marks:
        done = max(done, mark.start - TAIL)
        piece = line.text[done : mark.start]
        numbers = [match.start("value") for match in _BEFORE.finditer(piece)]
        if numbers and (amount := measure(piece[numbers[-1] :])):
            yield Entry(mark.name, amount, line.start + done + numbers[-1], line.start + mark.end)
        done = mark.end


def _each(text: Text, line: Unit, marks: list[Mark]) -> Iterator[Entry]:
    """Yield the amount that "each" assigns to the two names before it: `Helpfulness and accuracy: 40% each`."""
    for left, right, following in zip_longest(marks, marks[1:], marks[2:]):
        each = _EACH.match(line.text[right.end : following.start if following else None]) if right else None
        amount = measure(each["value"]) if each else None
        if each and amount and _AND.fullmatch(line.text[left.end : right.start]):
            for mark in (left, right):
                yield Entry(mark.name, amount, line.start + mark.start, line.start + right.end + each.end())


_EACH = re.compile(rf"[^\d:;.|\n]{{0,40}}[\s:(=–-]{{1,3}}(?P<value>{AMOUNT}\s*%?)\s*(?:points?\s*)?each\b", re.I)
_AND = re.compile(r"\s*(?:,|and|&|und|et|y|e|,\s*and)\s*", re.I)
_BEFORE = re.compile(
    rf"(?<![\w.,])(?P<value>{AMOUNT})\s*+(?:%|percent|points?)?(?:\s*+/\s*+\d+)?"
    r"\s*+(?:of the (?:total )?weight\s++)?(?:goes\s++|is\s++)?"
    r"(?:for|to|on|of|für|pour|para|per|al?|à)?\s*+(?:the\s++|la\s++|l')?[-:\s]*+$",
    re.I,
)
"""Possessive: a long run of spaces, such as blanked text, is tried once."""


def _doubted(text: Text, line: Unit, entry: Entry) -> bool:
    begin = max(0, entry.start - line.start - HEAD)
    unit = next((unit for unit in text.units if unit.start <= entry.start < unit.end), line)
    about_itself = words.has(line.text[begin : entry.end - line.start], "confidence")
    if about_itself or words.has(unit.text, "condition"):
        return True
    before = text.spoken[max(unit.start, entry.start - HEAD) : entry.start]
    return in_doubt(before) or in_doubt(text.spoken[entry.start : entry.end][:80])


def _apart(text: Text, end: int, start: int) -> bool:
    """Return whether a heading or sentences separate the lines of two entries."""
    between = [line for line in text.lines if line.start >= end and line.end <= start]
    heading = any(line.text.rstrip().endswith(":") and len(line.text) < 60 for line in between)
    return heading or any(words.starts("correction", line.text) for line in between)


def _rank(text: Text, first: Entry) -> int:
    """Return the rank of a block: higher below "Final scores:", or with "score" in its lines."""
    begin = first.start - len(text.spoken[: first.start].rpartition("\n")[2])
    same = text.spoken[max(begin, first.start - HEAD) : first.end]
    above = [line.text for line in text.lines if line.end <= begin][-1:]
    heading = above[0] if above and len(above[0]) < 60 and not re.search(r"\d\s*$", above[0]) else ""
    if re.match(r"\s*\[[^\[\]\n]{3,80}\]", heading) or words.has(heading, "confidence"):
        return 0
    for said, others in ((same, ("initial",)), (heading, ("initial", "reported"))):
        if words.has(said, *others):
            return 0
        if words.has(said, "final"):
            return FINAL
    return PLAIN if words.has(same, "rating") else PLAIN - 1


# Rows of numbers without names: `8 7.5`, `40% | 25% | 35%`, a table below a header.

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
        fresh = _row_header(text, above, names)
        header = fresh or (header if "|" in line.text else ())
        label, numbers = _row(text, line.text[: max(0, end - line.start)])
        if len(numbers) != len(names) or _is_no_answer(text, label) or _is_other_order(text, label, above, names):
            continue
        final = words.has(label, "final") or words.has(above, "final")
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
        order = (
            _row_header(text, match["names"], names) if match and match["names"].count(sign) == len(names) - 1 else ()
        )
        if match and order:
            yield from _in_order(text, line, order, match["numbers"].split(sign))


def in_named_order(text: Text, names: tuple[str, ...], end: int) -> Iterator[Block]:
    """Read all names and then as many numbers, in the order of the line: `Response 2, Response 1: 8, 6`."""
    for line in text.lines[-LAST:]:
        marks = marks_in(line.text, names)
        order = tuple(mark.name for mark in marks)
        if line.start >= end or len(marks) < 2 or sorted(order) != sorted(names):
            continue
        parts = [line.text[: marks[0].start], *(line.text[one.end : other.start] for one, other in pairwise(marks))]
        found = _NUMBERS.fullmatch(re.sub(r"\s+", " ", line.text[marks[-1].end :]))
        if found is None or any(_UNORDERED.search(part) for part in parts) or _is_no_answer(text, parts[0]):
            continue
        yield from _in_order(text, line, order, [number[0] for number in _NUMBER.finditer(found["numbers"])])


def pair(text: Text, names: tuple[str, ...], end: int) -> Iterator[Block]:
    """Read `70 % / 30 %` on the last line."""
    for line in text.lines[-1:] if len(names) == 2 else ():
        if slashed := _PAIR.fullmatch(line.text):
            yield from _in_order(text, line, names, slashed.groups())


def _in_order(text: Text, line: Unit, order: tuple[str, ...], parts: Sequence[str]) -> Iterator[Block]:
    """Yield the numbers of a line for the names in their order, if there are as many."""
    numbers = tuple(number for part in parts if (number := measure(part)))
    if len(order) == len(parts) == len(numbers):
        yield Block(_entries(order, numbers, line), FINAL if line is text.lines[-1] else PLAIN - 1)


def _is_other_order(text: Text, label: str, above: str, names: tuple[str, ...]) -> bool:
    """Return whether the numbers may stand in another order than the names were asked in: `Best first: 8 6`."""
    if _ORDER.search(label) or mentions(names).search(label.lower()):
        return True
    order = [names.index(mark.name) for mark in marks_in(above, names)]
    named = _FIRST.search(above) is not None and order != sorted(order)
    return named or (not order and above.rstrip().endswith(":") and _ORDER.search(above) is not None)


def _is_no_answer(text: Text, label: str) -> bool:
    """Return whether the words before a row make it an earlier, uncertain or conditional one."""
    return words.has(label, "initial", "condition") or in_doubt(label)


def _row_header(text: Text, line: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in the order in which a line without numbers gives them all; empty if it does not."""
    order = [mark.name for mark in marks_in(line, names)]
    free = mentions(names).sub("", line.lower())
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
            numbers = [measure(piece.strip("\"'$ ").rstrip(",$")) for piece in pieces]
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
_PAIR = re.compile(r"\W*(\d[\d.,]*)\s*%?\s*/\s*(\d[\d.,]*)\s*%?\W*")
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

# Answers with a number for each of several names; `Scores` and `Weights` differ in the numbers that they allow.

Numbers = dict[str, float]
RowForm = Callable[[Text, tuple[str, ...], int], Iterator[Block]]
_TAGS = 40
"""Maximum number of tags that are searched, from the end."""
_TAGGED = re.compile(r"<([^\W\d][\w -]{0,60})>\s*([^<>\n]{1,60}?)\s*</\1>", re.I)


@dataclass(frozen=True)
class ByName(Answer[Numbers]):
    """A number for each of `names`."""

    names: tuple[str, ...]

    rules: ClassVar[tuple[str, ...]] = ("json", "marked", "named", "row")
    row_forms: ClassVar[tuple[RowForm, ...]] = (rows, in_named_order)
    """How numbers without names may be written."""

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[Numbers]:
        text = Text(reply, shown)
        candidates = [*self._structured(text), *self._tagged(text), *self._written_out(text)]
        return decided(candidates, text, lambda: self._missing(text))

    def _written_out(self, text: Text) -> Iterator[Candidate[Numbers]]:
        """Yield the values in lines, sentences and rows."""
        groups = blocks(text, self._entries(text))
        for before, block in zip([None, *groups], groups, strict=False):
            if len(block.entries) == len(self.names):
                twice = repeated(before, block, text)
                other = f"it gives {twice} two {self.key}" if twice else self._other(text, block)
                yield self._candidate(block, "named", other)
        end = trailing(text)
        for form in self.row_forms:
            yield from (self._candidate(block, "row") for block in form(text, self.names, end))

    def _entries(self, text: Text) -> list[Entry]:
        return entries(text, self.names)

    def _other(self, text: Text, block: Block) -> str:
        """Return why numbers next to a block contradict it; "" if none does."""
        return ""

    @abstractmethod
    def _checked(self, measures: Mapping[str, Measure]) -> tuple[Numbers | None, str]:
        """Return the values, or the reason why there are none."""

    @abstractmethod
    def _place(self, key: str) -> int | None:
        """Return the name that a key refers to."""

    @abstractmethod
    def _one(self) -> Mapping[str, Any]:
        """Return the schema of one number."""

    def _field(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict.fromkeys(self.names, self._one()),
            "required": list(self.names),
            "additionalProperties": False,
        }

    def _encoded(self, value: Numbers) -> Numbers:
        return {name: whole(value[name]) for name in self.names}

    def _shape(self) -> str:
        return "{" + ", ".join(f'"{name}": ...' for name in self.names) + "}"

    def _missing(self, text: Text) -> str:
        named = {entry.name for entry in entries(text, self.names)}
        absent = [name for name in self.names if name not in named]
        noun = self.key.removesuffix("s")
        return f"it gives no {noun} for {listed(tuple(absent), 'and')}" if absent else f"it gives no {self.key}"

    def _structured(self, text: Text) -> Iterator[Candidate[Numbers]]:
        for document in text.documents:
            measures = self._by_key(pairs(document.value)) or self._in_order(document.value)
            if measures is not None:
                value, problem = self._checked(measures)
                yield Candidate(value, "json", document.start, document.end, FINAL, problem)

    def _tagged(self, text: Text) -> Iterator[Candidate[Numbers]]:
        """Read `<response_1>7</response_1>`."""
        tags = list(_TAGGED.finditer(text.own))[-_TAGS:]
        measures = self._by_key([(tag[1], tag[2]) for tag in tags])
        if measures is not None:
            value, problem = self._checked(measures)
            yield Candidate(value, "marked", tags[0].start(), tags[-1].end(), FINAL, problem)

    def _by_key(self, named: Sequence[tuple[str, Any]]) -> dict[str, Measure] | None:
        """Return the numbers in fields that hold the names; None if a name is missing."""
        measures: dict[str, Measure] = {}
        for key, value in named:
            place = self._place(readable(key).replace("_", " ").lower().strip())
            measured = measure(readable(str(value))) if not isinstance(value, bool) else None
            if place is not None and measured:
                measures[self.names[place]] = measured
        return measures if len(measures) == len(self.names) else None

    def _in_order(self, value: Any) -> dict[str, Measure] | None:
        """Return a list of as many numbers as names, in the order that another list of the object gives them."""
        numbers = listed_numbers(value, len(self.names)) or ()
        measures = [Measure(number, None, False, 0) for number in numbers]
        lists = [inner for inner in value.values() if isinstance(inner, list)] if numbers else []
        named = [[self._place(readable(str(one)).lower().strip()) for one in inner] for inner in lists]
        orders = [[place for place in places if place is not None] for places in named]
        order = next((places for places in orders if sorted(places) == list(range(len(self.names)))), None)
        names = self.names if order is None else tuple(self.names[place] for place in order)
        return dict(zip(names, measures, strict=True)) if measures else None

    def _candidate(self, block: Block, rule: str, problem: str = "") -> Candidate[Numbers]:
        value, problem = (None, problem) if problem else self._checked(block.measures())
        return Candidate(value, rule, block.start, block.end, block.rank, problem)
