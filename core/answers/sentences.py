"""What the sentences and lines of a reply assert.

Clauses without reasons, concessions and remarks, and whether they are in doubt; lines above an answer that make it an
example, the answer to a condition, or another person's; labels such as "Final answer: 2", "**Rating** – 4".
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.answers import words
from core.answers.text import Text, Unit
from core.answers.words import heads_others

CLAUSES = 12
"""Maximum length: longer sentences are not parsed."""

_ASIDE = re.compile(r"\((?!\w\))[^()\n]{0,300}\)|, (?:which|who) [^,\n]{0,200},")
_RANKS = (
    r"(?:clear |overall |final |definite )?"
    r"(?:winner|better|best|stronger|strongest|preferred|superior|more|most|answer|choice)"
)
_BOUNDARY = (
    r"[;:]\s(?!\s{0,3}[\"'(\[]*\d\W*$)|[,.]?\s{0,3}(?&contrast)[\s,]{0,3}|\s[-–—]\s|"
    r",\s{1,3}(?:and|und|et|y|e)\s|,\s{0,3}(?:and\s+)?(?&therefore)[\s,]{0,3}"
)
_REASONS = rf"(?!which is why\b)(?&reason)|\sas the\s(?!{_RANKS})|,\s*(?&concession)|\s(?&concession)\s(?!good\b)"
_LEAD = re.compile(r"(?:\W|\b(?:oh|no|hmm|but|sorry|okay|ok|ah|so|and|hm|well)\b){0,20}", re.I)
_OWN = re.compile(r"\b(?:i|we|my|our|me|us|let|should|must)\b")
_CHOOSES = re.compile(r"(?:prefer|recommend|choos|chose|pick|select|vote|favou?r|opt|go|side|lean|settle|decide)\w*\b")
_FINDS = re.compile(r"\b(?:finds?|considers?|deems?|regards?|perceives?)\b")
_FIRST_PERSON = re.compile(
    r"\bje (?:pense|crois|estime|trouve|considère) que\b|(?<!不)我(?:个人|還是|还是)?(?:认为|認為|觉得|覺得)"
)
_CONTRACTED = re.compile(r"\w+n't\b")


def clauses(sentence: str) -> Iterator[str]:
    """Yield the main clauses of a sentence: without reasons, concessions and asides."""
    if words.find("condition", _without_reasons(sentence)) or sentence.rstrip(" \"')]").endswith(("?", "？")):
        return
    text = _without_reasons(sentence)
    start = 0
    borders = list(words.pattern(_BOUNDARY).finditer(text.lower()))
    if len(borders) > CLAUSES:
        return
    for match in [*borders, None]:
        end = match.start() if match else len(text)
        clause = _without_concession(text[start:end])
        if clause.strip(" ,.;:"):
            yield clause.strip()
        start = match.end() if match else end


def in_doubt(clause: str) -> bool:
    """Return whether it is negated, hedged, or another person's view."""
    low = re.sub(r"(?<=[\w,] )May\b", "   ", clause).lower()
    low = _FIRST_PERSON.sub(" ", low)
    return _CONTRACTED.search(low) is not None or words.has(low, "negation", "hedge", "reported")


def by_others(before: str, verb: str) -> bool:
    """Return whether the words before "choose" and similar verbs name another person: `Many students choose B`.

    It looks at English verbs: those of other languages in the table are in the first person.
    """
    return _CHOOSES.match(verb.lower()) is not None and _names_another(words.without("therefore", before))


def _names_another(low: str) -> bool:
    """Return whether words in lower case are a subject other than the first person."""
    names = re.sub(r"[^\w']", " ", low).split()
    return bool(names) and not _OWN.search(low) and not set(names) <= {*words.PHRASES["no_subject"]}


def found_by_others(before: str) -> bool:
    """Return whether the words before a name say that another person finds something: `Readers will find`."""
    low = words.without("therefore", before)
    verb = _FINDS.search(low)
    return verb is not None and _names_another(low[: verb.start()])


def announcement(sentence: str) -> int:
    """Return the end of the words that announce a correction; 0 if the sentence begins otherwise."""
    lead = _LEAD.match(sentence)
    for start in (lead.end() if lead else 0, 0):
        if match := words.starts("correction", sentence[start:]):
            return start + match.end()
    return 0


def _without_reasons(sentence: str) -> str:
    """Blank asides, and the text after "because" and similar words unless the sentence begins with them."""
    text = sentence if sentence.startswith("(") else _ASIDE.sub(lambda aside: " " * len(aside[0]), sentence)
    text = _without_concession(text)
    for match in words.pattern(_REASONS).finditer(text.lower()):
        if text[: match.start()].strip(" ,.;:\"'"):
            return text[: match.start()] + " " * (len(text) - match.start())
    return text


def _without_concession(text: str) -> str:
    """Blank a subordinate clause that begins the text, up to its comma."""
    rest = words.after("therefore", text)
    opening = words.starts("concession", rest) or words.starts("opening", rest)
    end = rest.find(",", opening.end()) + 1 if opening else 0
    return text[: len(text) - len(rest)] + " " * end + rest[end:]


LONGEST_HEADING = 80
"""Maximum number of characters of such a line."""
DEPTH = 3
"""Maximum number of headings above a line that are read: `Example:`, `Final answer:`, `1`."""

_SPEECH = (
    r"(?<!\w)(?!(?:as|is|was|were|be|been|what|how|(?&response))\s)\w+\s+(?&speech)"
    r"(?:\s*:|(?:\s+(?:the following|these|this|his|her|their|as))?(?:\s+[^\W\d]+)?\s*:)?$"
)
"""The end of `Speaker A gave`, `The author wrote the following:`."""
_SPEAKER = re.compile(r"(?<!\w)(?:i|we|ich|wir|je|nous|yo|eu|io)(?!\w)", re.I)
_FORCED = re.compile(
    r"(?<!\w)(?:must|have to|had to|forced|pressed|anything|choose|pick|decide|wählen|entscheiden|choisir|elegir|"
    r"escolher|scegliere)(?!\w)",
    re.I,
)
"""`If I must choose:` introduces a choice."""


def introduced(text: Text, start: int) -> bool:
    """Return whether a heading directly above the line at `start` takes the answer there from the reply's author."""
    starts = [line.start for line in text.lines]
    place = bisect_left(starts, text.clean.rfind("\n", 0, max(0, start)) + 1)
    for above in reversed(text.lines[max(0, place - DEPTH) : place]):
        heading = above.text.rstrip()
        if len(heading) > LONGEST_HEADING:
            return False
        if heading == "json":  # the sign of a fence
            continue
        if _is_foreign(heading) or heads_others(heading):
            return True
        if not heading.endswith(":"):
            return False
    return False


def is_forced(condition: str) -> bool:
    """Return whether a condition announces a choice nevertheless: `if I must choose`."""
    return _FORCED.search(condition) is not None


def _is_foreign(heading: str) -> bool:
    if heading.endswith(":") and words.find("example", re.split(r"[.!?]\s", heading)[-1]):
        return True
    if heading.endswith(":") and words.starts("supposition", heading):
        return not is_forced(heading)
    return words.pattern(_SPEECH).search(heading.lower()) is not None and not _SPEAKER.search(heading)


LABELS = 25
"""Maximum number of labels that are parsed, from the end of the reply."""
HEAD = 240
"""Number of characters before a label that are parsed."""
REST = 160
"""Number of characters after a label that are parsed."""
FINAL, PLAIN = 3, 2
"""Ranks: an answer that calls itself final outranks one that does not."""

_ADJECTIVE = r"(?:(?P<initial>(?&initial))|(?P<final>(?&final))|(?&determiner|answer|response))['\s,:\"-]*$"
_JOIN = (
    r"(?P<final>\s*(?&final))?(?:\s*(?&determiner))?"
    r"(?:\s+(?:of|for|on|de|für|pour|para|per)\s+(?:the\s+)?[^\W\d][\w' ]{0,30}?(?:\s\d)?(?=\s*[:=]))?"
    r"(?:\s*\([^()\n]{0,40}\)|\s*\[[^\[\]\n]{0,40}\])?[\s\"'\])]*"
    r"(?P<join>:|=+>?|>{2,3}|->|→|⇒|\||[-–—](?=\s)|(?&connective))?[\s:]*"
)
"""What stands between a label and its value: `(1-5):`, `of this judge is`."""
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
    label = _label(concepts, names)
    places = [
        (unit, following, match)
        for unit, following in zip(units, (*units[1:], None), strict=False)
        if not unit.text.rstrip(" \"')]").endswith("?")
        for match in label.finditer(unit.text.lower())
    ]
    for unit, following, match in places[-LABELS:]:
        ranked = _rank(match.string[max(0, match.start() - HEAD) : match.start()])
        found = _behind(text, unit, match, ranked, following) if ranked else None
        loose = match[0].isascii() or (nouns and match[0] in words.PHRASES["response"])
        if found and (found.joined or found.rank == FINAL or (not loose and _VALUE.match(found.rest))):
            yield found


def _behind(
    text: Text, unit: Unit, match: re.Match[str], ranked: tuple[int, int], following: Unit | None
) -> Labelled | None:
    """Return the text after a label: the rest of the sentence, otherwise the next line."""
    low = unit.text.lower()
    joined = words.pattern(_JOIN).match(low, match.end())
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
    line = next((line for line in text.lines if line.start <= following.start < line.end), following)
    return Labelled(line.text[:REST], start, line.start, rank, colon, below=True, joined=True)


def _rank(before: str) -> tuple[int, int] | None:
    """Return the rank that the words before a label give it, and the number of their characters that belong to it.

    None if they make it another label, or an uncertain one.
    """
    rank, head, beside = PLAIN, before, False
    for _ in range(8):
        match = words.pattern(_ADJECTIVE).search(head[-60:])
        if match is None:
            break
        if match["initial"]:
            return None
        rank = FINAL if match["final"] else rank
        head, beside = head[: len(head) - len(match[0])], True
    own = len(before) - len(head)
    head = head[announcement(head) :]
    if in_doubt(head) or words.find("condition", head):
        return None
    fits = beside or not head.strip(_EDGE) or head.rstrip()[-1] in ",:;.!|)]。/"
    return (rank, own) if fits else None


@lru_cache(maxsize=64)
def _label(concepts: tuple[str, ...], names: tuple[str, ...]) -> re.Pattern[str]:
    extra = "|".join(rf"(?<!\w){re.escape(name.lower())}(?!\w)" for name in names if name)
    return re.compile(words.any_of(*concepts) + (f"|{extra}" if extra else ""))
