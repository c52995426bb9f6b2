"""Labels of answers in a reply: "Final answer: 2", "**Rating** – 4", "So the correct option is (B)"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from core.answers.sentences import announcement, in_doubt
from core.answers.text import Text, Unit
from core.answers.words import Words

LABELS = 25
"""Maximum number of labels that are parsed, from the end of the reply."""
HEAD = 240
"""Number of characters before a label that are parsed."""
REST = 160
"""Number of characters after a label that are parsed."""
FINAL, PLAIN = 3, 2
"""Ranks: an answer that calls itself final outranks one that does not."""

_ASIDE = r"(?:\s*\([^()\n]{0,40}\)|\s*\[[^\[\]\n]{0,40}\])?"
_VALUE = re.compile(r"\s*[\"'(\[]*(?:\d|[A-Z](?![A-Za-z]))")
_EDGE = " \t\"'()[]<>|:=.,-–—→"


@dataclass(frozen=True)
class Labelled:
    """The text after a label, and the label's strength."""

    rest: str
    start: int
    """Where the label begins."""
    rest_start: int
    rank: int
    colon: bool
    """A sign joins them, and not a word."""
    below: bool
    """The value is expected alone on the next line."""
    joined: bool
    """A sign, a word or a line break separates them."""


def labelled(
    text: Text, concepts: tuple[str, ...], names: tuple[str, ...] = (), nouns: bool = False
) -> Iterator[Labelled]:
    """Yield every label of these concepts, or with these names, in the order of the text, without preliminary ones.

    Some words are a label and the name of a response ("回答1"): with `nouns`, they need a sign or a verb after them.
    """
    units = text.units
    label = _label(text.words, concepts, names)
    places = [
        (unit, following, match)
        for unit, following in zip_longest(units, units[1:])
        if unit and not unit.text.rstrip(" \"')]").endswith("?")
        for match in label.finditer(unit.text.lower())
    ]
    for unit, following, match in places[-LABELS:]:
        if unit:
            low = unit.text.lower()
            before = low[max(0, match.start() - HEAD) : match.start()]
            ranked = _rank(before, text.words)
            labelled_text = _behind(text, unit, match, ranked, following) if ranked else None
            loose = nouns and match[0] in text.words["response"]
            if labelled_text and (
                labelled_text.joined
                or labelled_text.rank == FINAL
                or not (match[0].isascii() or loose or not _VALUE.match(labelled_text.rest))
            ):
                yield labelled_text


def _behind(
    text: Text, unit: Unit, match: re.Match[str], ranked: tuple[int, int], following: Unit | None
) -> Labelled | None:
    """Return the text after a label: the rest of the sentence, otherwise the next line."""
    low = unit.text.lower()
    joined = _join(text.words).match(low, match.end())
    if joined is None:
        return None
    rank = FINAL if joined["final"] else ranked[0]
    colon = not (joined["join"] or ":")[-1].isalpha()
    start = unit.start + match.start() - ranked[1]
    if unit.text[joined.end() :].strip(_EDGE):
        rest, place = unit.text[joined.end() :][:REST], unit.start + joined.end()
        return Labelled(rest, start, place, rank, colon, below=False, joined=bool(joined["join"]))
    begins = not low[: match.start()].strip(_EDGE) or rank == FINAL
    if following is None or not (joined["join"] or begins):
        return None
    rest, place = _line(text, following)
    return Labelled(rest, start, place, rank, colon, below=True, joined=True)


def _line(text: Text, unit: Unit) -> tuple[str, int]:
    """Return the line that a sentence begins, and its position."""
    line = next((line for line in text.lines if line.start <= unit.start < line.end), unit)
    return line.text[:REST], line.start


def _rank(before: str, words: Words) -> tuple[int, int] | None:
    """Return the rank that the words before a label give it, and the number of their characters that belong to it.

    None if they make it another label, or an uncertain one.
    """
    rank, head, beside = PLAIN, before, False
    adjective = _adjective(words)
    for _ in range(8):
        match = adjective.search(head[-60:])
        if match is None:
            break
        if match["initial"]:
            return None
        rank = FINAL if match["final"] else rank
        head, beside = head[: len(head) - len(match[0])], True
    own = len(before) - len(head)
    head = head[announcement(head, words) :]
    if in_doubt(head, words) or words.find("condition", head):
        return None
    fits = beside or not head.strip(_EDGE) or head.rstrip()[-1] in ",:;.!|)]。/"
    return (rank, own) if fits else None


@lru_cache(maxsize=64)
def _label(words: Words, concepts: tuple[str, ...], names: tuple[str, ...]) -> re.Pattern[str]:
    extra = "|".join(rf"(?<!\w){re.escape(name.lower())}(?!\w)" for name in names if name)
    return re.compile(words.any(*concepts) + (f"|{extra}" if extra else ""))


@lru_cache(maxsize=16)
def _adjective(words: Words) -> re.Pattern[str]:
    initial, final, other = words.any("initial"), words.any("final"), words.any("determiner", "answer", "response")
    return re.compile(rf"(?:(?P<initial>{initial})|(?P<final>{final})|{other})['\s,:\"-]*$")


@lru_cache(maxsize=16)
def _join(words: Words) -> re.Pattern[str]:
    final = words.any("final")
    of = r"(?:\s+(?:of|for|on|de|für|pour|para|per)\s+(?:the\s+)?[^\W\d][\w' ]{0,30}?(?:\s\d)?(?=\s*[:=]))?"
    join = rf":|=+>?|>{{2,3}}|->|→|⇒|\||[-–—](?=\s)|{words.any('connective')}"
    return re.compile(
        rf"(?P<final>\s*{final})?(?:\s*{words.any('determiner')})?{of}{_ASIDE}[\s\"'\])]*(?P<join>{join})?[\s:]*"
    )
