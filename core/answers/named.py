"""Values by name: the number of each name in lines, sentences and tables; and rows of numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from core.answers.labels import FINAL, PLAIN
from core.answers.numbers import AMOUNT, NUMERAL, Measure, measure
from core.answers.sentences import in_doubt
from core.answers.signs import squash
from core.answers.tables import value_cell
from core.answers.text import Text, Unit
from core.answers.words import Words

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

_ORDINALS = {"first": 1, "second": 2, "third": 3, "erste": 1, "zweite": 2, "premier": 1, "première": 1, "deuxième": 2}
_NUMBERED = re.compile(r"^(.*\S)\s+(\d{1,2})$")
_NUMBERED_LINE = re.compile(r"[\s(#]{0,3}(\d{1,2})\)?\s*[:=]\s*(\d[\d.,]{0,8}\s*%?(?:\s*/\s*\d{1,3})?)\W{0,5}")
_AFTER = re.compile(
    r"[\s\"')\]|*>]*(?:$|[.,;:!?/)\]|+&=；。！？](?!\d)|[–—(\[-]|\s*+(?:points?|pts?|stars?|分|点|점|punkte?|puntos|pontos|punti|балл\w*|अंक|percent|because|since|as|and|"
    r"while|for|with|to|weight|due|reflecting|which|but|et|und|y|e|и|和|on|in|given|overall|out)(?![a-z])|[^\W\d_]\S*\s*+\d?\s*+[:=]|\n)",
    re.I,
)


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
    pattern = mentions(text.words, names)
    collected: list[Entry] = []
    looked_at = 0
    for line in reversed(text.lines):
        marks = [(match, match.lastgroup or "") for match in pattern.finditer(line.text.lower())]
        if not 0 < len(marks) <= MARKS:
            continue
        behind = list(_behind(text, line, marks, names))
        before = list(_before(text, line, marks, names)) if len(behind) < len(marks) else []
        here = before if len(before) > len(behind) else [*behind, *_each(text, line, marks, names)]
        collected = [*(entry for entry in here if not _doubted(text, line, entry)), *collected]
        looked_at += 1
        if looked_at == LINES:
            break
    return collected or list(_sections(text, names)) or _numbered(text, names)


def _sections(text: Text, names: tuple[str, ...]) -> Iterator[Entry]:
    """Read a heading with a name alone, and the first "Score: 4" below it."""
    pattern, place = mentions(text.words, names), None
    for line in text.lines[-SECTION_LINES:]:
        heading = pattern.fullmatch(re.sub(r"^\d{1,2}[.)]\s+", "", line.text.lower()).strip(_HEADING))
        if heading:
            place = int((heading.lastgroup or "n0")[1:])
        elif pattern.search(line.text.lower()):
            place = None
        label = text.words.starts("rating", line.text) or text.words.starts("weight", line.text)
        amount = measure(line.text[label.end() :].lstrip(" :=-–"), text.words) if label and place is not None else None
        if (
            label
            and amount
            and place is not None
            and _AFTER.match(line.text[label.end() :].lstrip(" :=-–")[amount.end :])
        ):
            yield Entry(names[place], amount, line.start, line.end)
            place = None


def _numbered(text: Text, names: tuple[str, ...]) -> list[Entry]:
    """Read `1: 5` and `2: 7` on lines of their own."""
    found = [(line, match) for line in text.lines[-LINES:] if (match := _NUMBERED_LINE.fullmatch(line.text))]
    if [int(match[1]) for _, match in found] != list(range(1, len(names) + 1)):
        return []
    amounts = [(name, line, measure(match[2], text.words)) for name, (line, match) in zip(names, found, strict=True)]
    return [Entry(name, amount, line.start, line.end) for name, line, amount in amounts if amount]


def blocks(text: Text, collected: Sequence[Entry]) -> list[Block]:
    """Return the entries in groups: a repeated name, or a heading, begins the next group."""
    groups: list[list[Entry]] = []
    for entry in collected:
        fresh = (
            not groups
            or entry.name in {member.name for member in groups[-1]}
            or _apart(text, groups[-1][-1].end, entry.start)
        )
        groups += [[entry]] if fresh else []
        if not fresh:
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


def mentions(words: Words, names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern with a group for each name."""
    return _mentions(words, names)


@lru_cache(maxsize=256)
def _mentions(words: Words, names: tuple[str, ...]) -> re.Pattern[str]:
    order = sorted(range(len(names)), key=lambda place: -len(names[place]))
    return re.compile("|".join(rf"(?P<n{place}>{_forms(words, names, place)})" for place in order))


def _forms(words: Words, names: tuple[str, ...], place: int) -> str:
    """Return the accepted forms of a name: another noun in "Response 1", or fewer words of an aspect's name."""
    name = names[place].lower()
    if numbered := _NUMBERED.match(name):
        number = numbered[2]
        ordinal = "|".join(word for word, at in _ORDINALS.items() if str(at) == number) or "(?!)"
        nouns = rf"(?:{words.any('response')}|(?<!\w){re.escape(numbered[1])}|(?<!\w)[ra](?=\d))"
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


def _behind(text: Text, line: Unit, marks: list[tuple[re.Match[str], str]], names: tuple[str, ...]) -> Iterator[Entry]:
    """Read a number after each name, before the next one."""
    for place, (match, group) in enumerate(marks):
        limit = marks[place + 1][0].start() if place + 1 < len(marks) else len(line.text)
        begin, is_single = match.end(), True
        if "|" in line.text and len(marks) == 1:
            begin, is_single = value_cell(text.lines, line, match.end(), text.words)
        piece = line.text[begin:limit]
        join = _joined(piece, text.words)
        amount = measure(piece[join:], text.words) if join is not None else None
        if join is None or amount is None or not _ends_there(line.text[begin + join + amount.end :], amount):
            continue
        if not is_single:
            continue
        if _SEVERAL.match(line.text[begin + join + amount.end : limit]):
            amount = replace(amount, problem="it gives several numbers")
        end = line.start + begin + join + amount.end
        yield Entry(names[int(group[1:])], amount, line.start + match.start(), end)


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


def _joined(piece: str, words: Words) -> int | None:
    """Return the position at which the number begins, if only filler words precede it."""
    match = _joining(words).match(piece.lower()) or _REMARK.match(piece)
    return match.end() if match else None


_REMARK = re.compile(
    r"[^\d:.;|\n]{0,40}[:(]\s*(?=\d{1,3}(?:[.,]\d+)?\s*%)|"
    r"[^\d:.;|\n]{0,60}\(\s*(?=\d{1,3}(?:[.,]\d+)?\s*/\s*\d)|"
    r"[^\d:.;|\n]{0,80}\b(?:gets|receives|deserves|earns|scores|with)\s+(?:only\s+)?(?:an?\s+)?(?=\d)"
)


@lru_cache(maxsize=16)
def _joining(words: Words) -> re.Pattern[str]:
    filler = rf"(?:[\s\"'()\[\]|:=,\-–—→>]|\.{{2,}}|{words.any('filler', 'rating', 'weight', 'final', 'response')})"
    aside = r"(?:\s*\([^()\d]{1,40}(?:\d(?:nd|st|rd|th)?[^()\d]{0,20})?\))?"
    return re.compile(rf"{aside}{filler}{{0,30}}?(?={AMOUNT}|{NUMERAL}|[★⭐])")


def _before(text: Text, line: Unit, marks: list[tuple[re.Match[str], str]], names: tuple[str, ...]) -> Iterator[Entry]:
    """Read `70% accuracy`, `an 8 for Assistant 1`: a number right before each name."""
    done = 0
    for match, group in marks:
        done = max(done, match.start() - TAIL)
        piece = line.text[done : match.start()]
        numbers = list(_BEFORE.finditer(piece))
        if numbers:
            measured = measure(piece[numbers[-1].start("value") :], text.words)
            if measured:
                start = line.start + done + numbers[-1].start("value")
                yield Entry(names[int(group[1:])], measured, start, line.start + match.end())
        done = match.end()


def _each(text: Text, line: Unit, marks: list[tuple[re.Match[str], str]], names: tuple[str, ...]) -> Iterator[Entry]:
    """Yield the amount that "each" assigns to the two names before it: `Helpfulness and accuracy: 40% each`."""
    for place, ((left, first), (right, second)) in enumerate(pairwise(marks)):
        limit = marks[place + 2][0].start() if place + 2 < len(marks) else len(line.text)
        each = _EACH.match(line.text[right.end() : limit])
        amount = measure(each["value"], text.words) if each else None
        if each and amount and _AND.fullmatch(line.text[left.end() : right.start()]):
            for match, group in ((left, first), (right, second)):
                end = line.start + right.end() + each.end()
                yield Entry(names[int(group[1:])], amount, line.start + match.start(), end)


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
    if text.words.find("confidence", line.text[begin : entry.end - line.start]):
        return True
    unit = next((unit for unit in text.units if unit.start <= entry.start < unit.end), line)
    if text.words.find("condition", unit.text):
        return True
    before = text.spoken[max(unit.start, entry.start - HEAD) : entry.start]
    return in_doubt(before, text.words) or (
        bool(text.words.find("reported", before)) or in_doubt(text.spoken[entry.start : entry.end][:80], text.words)
    )


def _apart(text: Text, end: int, start: int) -> bool:
    """Return whether a heading or sentences separate the lines of two entries."""
    between = [line for line in text.lines if line.start >= end and line.end <= start]
    heading = any(line.text.rstrip().endswith(":") and len(line.text) < 60 for line in between)
    return heading or any(text.words.starts("correction", line.text) for line in between)


def _rank(text: Text, first: Entry) -> int:
    """Return the rank of a block: higher below "Final scores:", or with "score" in its lines."""
    begin = text.spoken.rfind("\n", 0, first.start) + 1
    same = text.spoken[max(begin, first.start - HEAD) : first.end]
    above = [line.text for line in text.lines if line.end <= begin][-1:]
    heading = above[0] if above and len(above[0]) < 60 and not re.search(r"\d\s*$", above[0]) else ""
    if re.match(r"\s*\[[^\[\]\n]{3,80}\]", heading):
        return 0
    if text.words.find("confidence", heading):
        return 0
    for words in (same, heading):
        if text.words.find("initial", words) or (words is heading and text.words.find("reported", words)):
            return 0
        if text.words.find("final", words):
            return FINAL
    return PLAIN if text.words.find("rating", same) else PLAIN - 1
