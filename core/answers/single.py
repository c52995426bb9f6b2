"""Answers with one value: rules in layers, from structured output to a plain final sentence.

Number formats: decimal commas, thousands, fractions, and the top of a scale. Of several answers in a reply the
last one counts, unless two finals differ or the reply retracts it.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any, ClassVar, Generic, TypeVar

from core.answers import words
from core.answers.answer import Answer, Reading
from core.answers.sentences import FINAL, PLAIN, REST, Labelled, announcement, in_doubt, introduced, is_forced, labelled
from core.answers.text import LONGEST, Text, Unit, fields
from core.answers.words import alternatives, readable, squash
from core.errors import UnreadableReply

UNSIGNED = (
    r"(?:\d{1,3}(?:[. ]\d{3})+,\d+|\d{1,3}(?:[, ']\d{3})+(?:\.\d+)?(?![\d,])|\d{1,3}(?:\.\d{3}){2,}|"
    r"\d{1,15}(?:[.,]\d{1,20})?|\.\d{1,20})"
)
"""Bounded, because replies are untrusted."""
AMOUNT = rf"[-+]?{UNSIGNED}"

_NUMERALS: dict[str, int] = {
    word: number
    for row in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty",
        "null eins zwei drei vier fünf sechs sieben acht neun zehn",
        "zéro un deux trois quatre cinq six sept huit neuf dix",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
        "zero um dois três quatro cinco seis sete oito nove dez",
        "zero uno due tre quattro cinque sei sette otto nove dieci",
        "ноль один два три четыре пять шесть семь восемь девять десять",
        "nul één twee drie vier vijf zes zeven acht negen tien",
        "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
        "صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة",
    )
    for number, word in enumerate(row.split())
}
_NUMERALS |= dict(пяти=5, десяти=10, 셋=3, 넷=4, 다섯=5, 여섯=6, 일곱=7, 여덟=8, 아홉=9)
_IDEOGRAPHS = "零一二三四五六七八九"
ARTICLES = ("un", "uno", "um", "one")
"""Numerals that are articles or pronouns if another word follows."""
_TENS = dict(twenty=20, thirty=30, forty=40, fifty=50, sixty=60, seventy=70, eighty=80, ninety=90)
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_SPELLED = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{_ONES}))?|{alternatives(tuple(_NUMERALS))})(?![\w-])"
NUMERAL = rf"(?:{_SPELLED}|(?<!\w)[{_IDEOGRAPHS}](?=[分点](?!之)|\W|$))"


def value(text: str) -> float:
    """Return the number of a text that `AMOUNT` or `NUMERAL` matches; whole numbers are int."""
    word = text.strip().lower()
    if word in _NUMERALS:
        return _NUMERALS[word]
    if word in _IDEOGRAPHS:
        return _IDEOGRAPHS.index(word)
    tens, _, ones = word.replace(" ", "-").partition("-")
    if tens in _TENS:
        return _TENS[tens] + _NUMERALS.get(ones, 0)
    return whole(float(_plain(word)))


def whole(number: float) -> float:
    """Return an int if the number is whole."""
    return int(number) if float(number).is_integer() else number


def fraction(top: float, bottom: float) -> float | None:
    """Return a quotient without floating-point noise, or None if there is none."""
    return whole(float(Fraction(str(top)) / Fraction(str(bottom)))) if bottom else None


def _plain(text: str) -> str:
    """Parse digits with a point: `1,200.5`, `1.200,5`, `1 200`, `3,5`."""
    digits = text.replace(" ", "").replace("'", "")
    if "," in digits and "." in digits:
        decimal = max(digits.rfind(","), digits.rfind("."))
        return re.sub(r"[.,]", "", digits[:decimal]) + "." + digits[decimal + 1 :]
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+|[-+]?\d{1,3}(?:\.\d{3}){2,}", digits):
        return re.sub(r"[.,]", "", digits)
    return digits.replace(",", ".")


_MEASURE = rf"""[\s"'(\[:|=]*(?:<(?=\s*+[\d.]+\s*+>))?(?:(?P<stars>[★⭐☆]+)|
    (?P<value>{AMOUNT}|{NUMERAL})(?!\d|\.\d|(?!pts?\b)[a-zA-Z]{{2}})
    (?:\s*+(?P<percent>%|percent\b|prozent\b|por\ ciento\b|pour\ cent\b))?
    (?:\s++(?:stars?|points?|punkten?|sternen?|étoiles|points|puntos|estrellas|pontos|punti)(?=\s++(?:(?&out_of))))?
    (?:\s*+(?:(?&out_of))\s*+(?:[01]\s*+(?:to|-|–)\s*+)?(?P<top>{UNSIGNED}|{NUMERAL})(?!\d))?
    (?P<range>\s*+%?\s*+(?:-|–|—|~|…|\.\.\.?|\+|(?&either))\s*+(?:an?\s++)?[-+]?\d+(?![.):]\s)|\s++and\s++a\s++half)?)"""


@dataclass(frozen=True)
class Measure:
    """A value on a scale, as written: `8/10`, `4 out of 5 stars`, `70 %`."""

    value: float
    top: float | None
    percent: bool
    end: int
    problem: str = ""


def measure(text: str) -> Measure | None:
    """Return the value that `text` begins with, after brackets; None if none does. A range has a problem."""
    match = words.pattern(_MEASURE, re.X | re.I).match(text)
    if match is None:
        return None
    if stars := match["stars"]:
        count = len(stars) - stars.count("☆")
        return Measure(count, float(len(stars)) if count < len(stars) else None, False, match.end()) if count else None
    number = value(match["value"])
    top = value(match["top"]) if match["top"] else None
    problem = f"“{' '.join(match[0].split())}” is not one value" if match["range"] else ""
    return Measure(number, top, bool(match["percent"]), match.end(), problem)


T = TypeVar("T")

_STATED = re.compile(r"\s*(?:[^\W\d]+\s*){0,3}(?:[:=(|%?–-]|\d|$)")
MARKED, SENTENCE, WEAK = FINAL, 1, 0


@dataclass(frozen=True)
class Candidate(Generic[T]):
    """A possible answer in a reply. An unusable one has a problem instead of a value."""

    value: T | None
    rule: str
    start: int
    end: int
    rank: int
    problem: str = ""


def decided(candidates: Iterable[Candidate[T]], text: Text, missing: Callable[[], str]) -> Reading[T]:
    """Return the candidate of the reply's author that counts; raises UnreadableReply if none does."""
    own = [
        one
        for one in candidates
        if not introduced(text, one.start) and not text.is_foreign(one.start, one.end, one.rule)
    ]
    if not own:
        declines = any(words.has(unit.text, "refusal") for unit in (*text.units[:2], *text.units[-2:]))
        raise UnreadableReply("it declines to answer" if declines else missing())
    ordered = sorted(own, key=lambda candidate: (candidate.start, candidate.end))
    rank = max(candidate.rank for candidate in ordered)
    best = [candidate for candidate in ordered if candidate.rank == rank]
    last = best[-1]
    weaker = (candidate for candidate in ordered if candidate.rank < rank)
    rivals = [*best[:-1], *(candidate for candidate in weaker if _contradicts(candidate, last, text))]
    rivals = [rival for rival in rivals if rival.value != last.value or rival.value is None]
    for rival in rivals:
        start, end = sorted((rival.start, last.start))
        between = (unit for unit in text.units if start < unit.end and unit.start <= end)
        if not any(announcement(unit.text) for unit in between):
            raise UnreadableReply(last.problem or rival.problem or f"it states both {rival.value} and {last.value}")
    last = next((rival for rival in reversed(rivals) if rival.start > last.start), last)
    if any(announcement(unit.text) for unit in text.units if unit.start >= last.end):
        raise UnreadableReply("it takes its answer back and gives no other")
    if last.value is None:
        raise UnreadableReply(last.problem)
    return Reading(last.value, last.rule, text.span(last.start, last.end))


def trailing(text: Text) -> int:
    """Return the position at which courtesies, notes and confidence lines at the end of the reply begin."""
    end = len(text.spoken)
    for unit, above in zip_longest(reversed(text.units), text.units[-2::-1]):
        below_heading = above and len(unit.text) < 12 and _is_confidence_heading(text, above.text)
        if not (below_heading or words.starts("courtesy", unit.text) or is_confidence(text, unit.text)):
            break
        end = unit.start
    return end


def own_units(text: Text) -> list[Unit]:
    """Return the sentences before those."""
    end = trailing(text)
    return [unit for unit in text.units if unit.start < end]


def without_confidence(text: Text, line: str) -> str:
    """Return a line without the confidence in brackets at its end: `2 (confidence: 1)`."""
    aside = re.search(r"\s*[(\[]([^()\[\]]{3,60})[)\]]\W*$", line)
    return line[: aside.start()] if aside and is_confidence(text, aside[1]) else line


def _is_confidence_heading(text: Text, line: str) -> bool:
    """Return whether a line announces the confidence on the next one: `## Confidence`, `How sure am I?`"""
    return len(line) <= 40 and not re.search(r"\d", line) and words.starts("confidence", line) is not None


def is_confidence(text: Text, line: str) -> bool:
    """Return whether a line states the model's confidence."""
    phrase = words.find("confidence", line[:40])
    if phrase is None:
        return False
    after = line[phrase.end() :]
    if re.search(r"\w\s*[(\[]\s*$", line[: phrase.start()]) and re.search(r"\d", after):
        return False  # `2 (confidence: 1)`
    below = re.match(r"\W*\d", line) and not after.strip(" )].")  # `4 (confidence)`
    return bool(_STATED.match(after) or below or re.match(r"\W*I(?:'m| am)\b", line))


def _contradicts(first: Candidate[T], last: Candidate[T], text: Text) -> bool:
    """Return whether a weaker answer contradicts the accepted one: it follows it or directly precedes it."""
    if first.rank <= WEAK:
        return False
    if first.start >= last.end:
        return True
    between = [unit for unit in text.units if first.end <= unit.start and unit.end <= last.start]
    return last.rank <= PLAIN and first.end <= last.start and not between


# Lines that state several answers after one label: `1 for accuracy, 2 for style`.

Begins = Callable[[str], tuple[T, int] | None]
"""Returns the value that a text begins with, and where its name ends; None if it begins with something else."""

SHORT = 5
"""Maximum number of words after an answer in a sentence without a verb: `Submission 2 for style.`"""
_RANKED = re.compile(
    r"\b(?:then|followed by|ahead of|before|than|over|compared (?:to|with)|superior to|preferable to|beats|outperforms|"
    r"surpasses)\b",
    re.I,
)
"""After these words other answers follow that are not chosen."""
_ENCLOSED = re.compile(r"\s*\(([^()]*)\)?\s*$")
_ASIDE = re.compile(r"\((?!\w{1,2}\))[^()]*\)?")
_RETRACTION = r"[\s.;,!?。？！，…)\]*-]*(?:(?&retraction|correction)[\s,:，：.!！-]*){1,3}"
_JOINT = r"(?:(?&conjunction|contrast)|(?<!\w)(?:vs|versus)(?!\w)\.?)"
_SEPARATOR = rf"(?:[,;.](?=\s)|\s[/|]\s|(?={_JOINT})|\()\s*{_JOINT}?[\s\"'(]*"
_END = re.compile(r"[\s.!。！*\"')\]]*")
_SCOPE = re.compile(
    r"[\"')\]]*\s*(?!on the other hand|(?:in|by) contrast|(?:in|by) comparison)(?:$|[=:(,;.]|"
    r"(?:if|for|on|in|when|where|with|at|by|under|given|as to|regarding|concerning|otherwise|else|"
    r"wenn|für|bei|pour|si|para|per|se|для)(?!\w))",
    re.I,
)
"""What follows a value that is an answer, possibly to a part of the question; a verb makes it a remark."""


def unclear(line: str, value: T, begins: Begins[T]) -> str:
    """Return why a line that begins with `value` does not state it alone: another answer, or a condition."""
    enclosed = _ENCLOSED.match(line)
    line = (enclosed[1] if enclosed else line).lstrip(" \"'([|:=")
    first = begins(line)
    if first is None or first[0] != value:
        return ""
    rest = line[first[1] :]
    if (later := _retracted(rest, begins)) not in (None, value):
        return f"it states {value}, and then {later}"
    if reason := words.find("reason", rest) or _RANKED.search(rest):
        rest = rest[: reason.start()]
    if words.starts("supposition", rest) and not is_forced(rest):
        return f"its answer {value} depends on a condition"
    for sentence, part in _parts(rest):
        other = begins(part)
        if other is None and (sentence == "." or (sentence and ":" in part)):  # another label: `B. Wrong answers: A, C`
            break
        scoped = other and _SCOPE.match(part, other[1]) and not (sentence and _is_remark(part[other[1] :]))
        if other and other[0] != value and scoped:
            return f"it states both {value} and {other[0]}"
    return ""


def _retracted(rest: str, begins: Begins[T]) -> T | None:
    """Return the other answer if nothing but a retraction is between the two: `1. No, sorry: 2.`"""
    match = words.pattern(_RETRACTION, re.I).match(rest.lower())
    other = begins(rest[match.end() :]) if match else None
    return other[0] if match and other and _END.fullmatch(rest, match.end() + other[1]) else None


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """Yield the later parts of a line, without asides except `(or 3)`, and the sign "." or ";" before each."""
    alternative = words.pattern(r"\(\s*(?&conjunction)", re.I)
    open_line = _ASIDE.sub(lambda aside: aside[0] if alternative.match(aside[0]) else " " * len(aside[0]), line)
    for separator in words.pattern(_SEPARATOR).finditer(open_line.lower()):
        before, after = line[: separator.start()].rstrip(), line[separator.end() :]
        if before[-1:].isdigit() and after[:1].isdigit():  # `on points 1 and 2`
            continue
        yield separator[0][0] if separator[0][0] in ".;" else "", after


def _is_remark(after: str) -> bool:
    """Return whether a sentence that begins with an answer is about it: `Response 2, although good, is vague.`"""
    sentence = re.split(r"[.;]", after)[0]
    return sentence.lstrip(" )]\"'").startswith(":") or len(sentence.split()) > SHORT


EDGE = " \t\"'()[]<>|:=.,;!*-–—。"
"""What may stand around a value."""
MARKS = 12
"""Maximum number of marks of a kind, from the end."""

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{((?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,60}\}){0,80}\}){0,120})\}")
_TAGGED = re.compile(r"<([a-z][\w -]{1,24})>\s*([^<>\n]{1,120}?)\s*</\1>", re.I)
_BRACKETED = re.compile(r"\[\[\s*([^\[\]\n]{1,40}?)\s*\]\]")
_LATEX = re.compile(r"\\(?:text\w*|math\w*|left|right|,|;|!|\s)|[{}$]|\\(?=[%$(])")
_CORRECTED = re.compile(r"\s*[:,-]\s*(?:it is\s|it's\s|make that\s)?")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]{1,20})\}\s*\{([^{}]{1,20})\}")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """The value at the beginning of a text, and where it ends; or the reason why there is none."""

    value: T | None
    end: int = 0
    problem: str = ""

    def at(self, rule: str, start: int, end: int, rank: int) -> Candidate[T]:
        """Return it as a possible answer at a place of the reply."""
        return Candidate(self.value, rule, start, end, rank, self.problem)


@dataclass(frozen=True, kw_only=True)
class Single(Answer[T]):
    """An answer with one value. `label` begins the line that the text instruction asks for."""

    label: str = "Final answer"
    rules = ("json", "marked", "labelled", "line", "sentence")
    nouns: ClassVar[bool] = False
    """Whether the answer names responses: then "answer 1" is no label with a value."""

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[T]:
        text = Text(reply, shown)
        candidates = [
            *self._structured(text),
            *self._marked(text),
            *self._labelled(text),
            *self._corrections(text),
            *self._lines(text),
            *self._sentences(text),
        ]
        return decided(candidates, text, self._missing)

    def _text_instruction(self) -> str:
        return f'{self._closing}"{self.label}: " and {self._described()}.'

    def _written(self, value: T) -> str:
        return f"{self.label}: {self._encoded(value)}"

    @abstractmethod
    def _parse_rest(self, rest: str) -> Parsed[T] | None:
        """Return the value in the text after a label; None if no value was intended there."""

    @abstractmethod
    def _begins(self, text: str) -> tuple[T, int] | None:
        """Return the value that a text begins with, and where it ends."""

    @abstractmethod
    def _alone(self, line: str) -> Parsed[T] | None:
        """Return the value of a line that holds nothing else."""

    @abstractmethod
    def _stated(self, sentence: str) -> T | None:
        """Return the conclusion of a plain sentence."""

    @abstractmethod
    def _decoded(self, value: Any) -> Parsed[T] | None:
        """Return the value of a structured answer; None if it is of another kind."""

    def _concepts(self) -> tuple[str, ...]:
        """Return the labels that may precede the value."""
        return ("answer",)

    def _names(self) -> tuple[str, ...]:
        """Return further labels that may precede the value."""
        return (self.label,)

    def _missing(self) -> str:
        return f"it states no answer; expected {self._described()}"

    def _structured(self, text: Text) -> Iterator[Candidate[T]]:
        for document in text.documents:
            for key, value in fields(document.value):
                rank = self._key_rank(key)
                stated = _inner(value)
                parsed = self._decoded(stated) if rank else None
                if parsed:
                    parsed = self._only(parsed, stated) if isinstance(stated, str) else parsed
                    yield parsed.at("json", document.start, document.end, rank)

    def _key_rank(self, key: str) -> int:
        """Return the priority of a key: 0 if it is another field's."""
        plain = squash(key)
        if plain == self.key:
            return FINAL + 1
        named = plain in {squash(name) for name in self._names()}
        other = words.has(plain, "confidence", "initial")
        if other or not (named or words.has(plain, *self._concepts())):
            return 0
        return FINAL if named or words.has(plain, "final") else PLAIN

    def _marked(self, text: Text) -> Iterator[Candidate[T]]:
        """Read boxes, tags and double brackets: marks that judges put around a final answer."""
        for pattern in (_BOXED, _BRACKETED, _TAGGED):
            for match in list(pattern.finditer(text.own))[-MARKS:]:
                if pattern is _TAGGED and not self._key_rank(match[1]):
                    continue
                inner = _FRACTION.sub(r"\1/\2", match.groups()[-1].replace("{,}", ","))
                inner = _LATEX.sub(" ", inner)
                if parsed := self._alone(inner.strip()) or self._parse_rest(inner.strip()):
                    yield self._only(parsed, inner).at("marked", *match.span(), MARKED)

    def _labelled(self, text: Text) -> Iterator[Candidate[T]]:
        for label in labelled(text, self._concepts(), self._names(), self.nouns):
            parsed = self._alone(label.rest) if label.below else self._behind(label.rest, text, label.rest_start)
            named = text.spoken[label.start : label.rest_start]
            about = (text.spoken[: label.start].rpartition("\n")[2] + named, named)
            if parsed and self._labels(label) and not any(is_confidence(text, head.strip()) for head in about):
                yield parsed.at("labelled", label.start, label.rest_start + parsed.end, label.rank)

    def _labels(self, label: Labelled) -> bool:
        """Return whether a label is one of the value."""
        return True

    def _behind(self, rest: str, text: Text, start: int) -> Parsed[T] | None:
        """Return the value in the text after a label, unless its line states another one as well."""
        parsed = self._parse_rest(rest)
        return self._only(parsed, text.plain[start : start + REST].partition("\n")[0]) if parsed else None

    def _only(self, parsed: Parsed[T], line: str) -> Parsed[T]:
        """Return a value without the value if the line that it begins states another one, or a condition."""
        if parsed.value is None:
            return parsed
        problem = unclear(readable(line), parsed.value, self._begins)
        return Parsed(None, parsed.end, problem) if problem else parsed

    def _corrections(self, text: Text) -> Iterator[Candidate[T]]:
        """Read `Correction: 3`."""
        for unit in text.units[-20:]:
            sign = _CORRECTED.match(unit.text, end) if (end := announcement(unit.text)) else None
            parsed = self._behind(unit.text[sign.end() :], text, unit.start + sign.end()) if sign else None
            if sign and parsed:
                yield parsed.at("labelled", unit.start, unit.start + sign.end() + parsed.end, FINAL)

    def _lines(self, text: Text) -> Iterator[Candidate[T]]:
        """Yield the value alone on the last line, or on the first one before an explanation."""
        end = trailing(text)
        lines = [line for line in text.lines if line.start < end]
        for place, rank in ((-1, PLAIN), (0, SENTENCE)):
            if lines and len(lines[place].text) < LONGEST:
                line = lines[place]
                if parsed := self._alone(without_confidence(text, line.text[: end - line.start].strip())):
                    yield parsed.at("line", line.start, min(line.end, end), rank)

    def _sentences(self, text: Text) -> Iterator[Candidate[T]]:
        """Read plain sentences at the end of the reply, or at its beginning."""
        units = own_units(text)
        for unit in (*units[:1], *units[1:][-2:]):
            value = self._stated(unit.text)
            if value is not None:
                yield Candidate(value, "sentence", unit.start, unit.end, SENTENCE)
        if units and (last := self._last(units[-1])):
            yield last

    def _last(self, unit: Unit) -> Candidate[T] | None:
        """Read `... That settles it. Response 2.`, `... has the better argument, so: 1`."""
        text = words.after("therefore", unit.text).lstrip(" ,")
        if words.starts("opening", text) and "," in text:  # `Based on the evaluation, "1"`
            text = text.rpartition(",")[2]
        head, _, tail = text.rpartition(":")
        concluding = words.has(head, *self._concepts(), "therefore")
        doubtful = in_doubt(head) or words.has(head, "condition")
        parsed = self._alone(tail if concluding and not doubtful else text)
        return parsed.at("sentence", unit.start, unit.end, SENTENCE) if parsed else None


def _inner(value: Any) -> Any:
    """Return the value in `{"value": 2, "max": 5}`."""
    inner = value.items() if isinstance(value, Mapping) else ()
    return next((one for key, one in inner if squash(str(key)) in ("value", "score", "rating", "answer")), value)
