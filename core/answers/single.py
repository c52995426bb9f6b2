"""Answers with one value: rules in layers, from structured output to a plain final sentence."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Generic, TypeVar

from core.answers.answer import Answer, Reading
from core.answers.finals import (
    FINAL,
    MARKED,
    PLAIN,
    SENTENCE,
    Candidate,
    decided,
    is_confidence,
    is_of_others,
    trailing,
    without_confidence,
)
from core.answers.headings import is_forced
from core.answers.labels import REST, Labelled, labelled
from core.answers.sentences import announcement, in_doubt
from core.answers.structured import fields
from core.answers.text import LONGEST, Text, Unit
from core.answers.words import Words, readable, squash

# Lines that state several answers after one label: `1 for accuracy, 2 for style`.

T = TypeVar("T")
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
_END = re.compile(r"[\s.!。！*\"')\]]*")
_SCOPE = re.compile(
    r"[\"')\]]*\s*(?!on the other hand|(?:in|by) contrast|(?:in|by) comparison)(?:$|[=:(,;.]|"
    r"(?:if|for|on|in|when|where|with|at|by|under|given|as to|regarding|concerning|otherwise|else|"
    r"wenn|für|bei|pour|si|para|per|se|для)(?!\w))",
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
    if reason := words.find("reason", rest) or _RANKED.search(rest):
        rest = rest[: reason.start()]
    if words.starts("supposition", rest) and not is_forced(rest):
        return f"its answer {value} depends on a condition"
    if (other_value := _retracted(line[first[1] :], begins, words)) not in (None, value):
        return f"it states {value}, and then {other_value}"
    for sentence, part in _parts(rest, words):
        other = begins(part)
        if other is None and (sentence == "." or (sentence and ":" in part)):  # another label: `B. Wrong answers: A, C`
            break
        scoped = other and _SCOPE.match(part, other[1]) and not (sentence and _is_remark(part[other[1] :]))
        if other and other[0] != value and scoped:
            return f"it states both {value} and {other[0]}"
    return ""


def _retracted(rest: str, begins: Begins[T], words: Words) -> T | None:
    """Return the other answer if nothing but a retraction is between the two: `1. No, sorry: 2.`"""
    match = _retraction(words).match(rest.lower())
    other = begins(rest[match.end() :]) if match else None
    return other[0] if match and other and _END.fullmatch(rest, match.end() + other[1]) else None


def _parts(line: str, words: Words) -> Iterator[tuple[str, str]]:
    """Yield the later parts of a line, without asides except `(or 3)`, and the sign "." or ";" before each."""
    alternative = _alternative(words)
    open_line = _ASIDE.sub(lambda aside: aside[0] if alternative.match(aside[0]) else " " * len(aside[0]), line)
    for separator in _separator(words).finditer(open_line.lower()):
        before, after = line[: separator.start()].rstrip(), line[separator.end() :]
        if before[-1:].isdigit() and after[:1].isdigit():  # `on points 1 and 2`
            continue
        yield separator[0][0] if separator[0][0] in ".;" else "", after


def _is_remark(after: str) -> bool:
    """Return whether a sentence that begins with an answer is about it: `Response 2, although good, is vague.`"""
    sentence = re.split(r"[.;]", after, maxsplit=1)[0]
    return sentence.lstrip(" )]\"'").startswith(":") or len(sentence.split()) > SHORT


@lru_cache(maxsize=16)
def _retraction(words: Words) -> re.Pattern[str]:
    taken_back = words.any("retraction", "correction")
    return re.compile(rf"[\s.;,!?。？！，…)\]*-]*(?:{taken_back}[\s,:，：.!！-]*){{1,3}}", re.I)


@lru_cache(maxsize=16)
def _alternative(words: Words) -> re.Pattern[str]:
    return re.compile(rf"\(\s*{words.any('conjunction')}", re.I)


@lru_cache(maxsize=16)
def _separator(words: Words) -> re.Pattern[str]:
    joint = rf"(?:{words.any('conjunction', 'contrast')}|(?<!\w)(?:vs|versus)(?!\w)\.?)"
    return re.compile(rf"(?:[,;.](?=\s)|\s[/|]\s|(?={joint})|\()\s*{joint}?[\s\"'(]*")


MARKS = 12
"""Maximum number of marks of a kind, from the end."""

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{((?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,60}\}){0,80}\}){0,120})\}")
_TAGGED = re.compile(r"<([a-z][\w -]{1,24})>\s*([^<>\n]{1,120}?)\s*</\1>", re.I)
_BRACKETED = re.compile(r"\[\[\s*([^\[\]\n]{1,40}?)\s*\]\]")
_LATEX = re.compile(r"\\(?:text\w*|math\w*|left|right|,|;|!|\s)|[{}$]|\\(?=[%$(])")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]{1,20})\}\s*\{([^{}]{1,20})\}")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """The value at the beginning of a text, and where it ends; or the reason why there is none."""

    value: T | None
    end: int
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Single(Answer[T]):
    """An answer with one value. `label` begins the line that the text instruction asks for."""

    label: str = "Final answer"
    nouns: ClassVar[bool] = False
    """Whether the answer names responses: then "answer 1" is no label with a value."""

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[T]:
        text = Text(reply, self.words, shown)
        candidates = [
            *self._structured(text),
            *self._marked(text),
            *self._labelled(text),
            *self._corrections(text),
            *self._lines(text),
            *self._sentences(text),
        ]
        own = [one for one in candidates if not is_of_others(one, text)]
        return decided(own, text, self._missing())

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

    @abstractmethod
    def _concepts(self) -> tuple[str, ...]:
        """Return the labels that may precede the value."""

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
                    yield Candidate(parsed.value, "json", document.start, document.end, rank, parsed.problem)

    def _key_rank(self, key: str) -> int:
        """Return the priority of a key: 0 if it is another field's."""
        plain = squash(key)
        if plain == self.key:
            return FINAL + 1
        match = next((m for concept in self._concepts() if (m := self.words.find(concept, plain))), None)
        named = plain in {squash(name) for name in self._names()}
        if (match is None and not named) or self.words.find("confidence", plain) or self.words.find("initial", plain):
            return 0
        return FINAL if self.words.find("final", plain) or named else PLAIN

    def _marked(self, text: Text) -> Iterator[Candidate[T]]:
        """Read boxes, tags and double brackets: marks that judges put around a final answer."""
        for pattern in (_BOXED, _BRACKETED, _TAGGED):
            for match in list(pattern.finditer(text.own))[-MARKS:]:
                if pattern is _TAGGED and not self._key_rank(match[1]):
                    continue
                inner = _FRACTION.sub(r"\1/\2", match[match.lastindex or 1].replace("{,}", ","))
                inner = _LATEX.sub(" ", inner)
                parsed = self._alone(inner.strip()) or self._parse_rest(inner.strip())
                if parsed:
                    parsed = self._only(parsed, inner)
                    yield Candidate(parsed.value, "marked", match.start(), match.end(), MARKED, parsed.problem)

    def _labelled(self, text: Text) -> Iterator[Candidate[T]]:
        for label in labelled(text, self._concepts(), self._names(), self.nouns):
            parsed = self._alone(label.rest) if label.below else self._behind(label, text)
            line = text.spoken.rfind("\n", 0, label.start) + 1
            about = (text.spoken[line : label.rest_start], text.spoken[label.start : label.rest_start])
            if parsed and not any(is_confidence(text, head.strip()) for head in about):
                end = label.rest_start + parsed.end
                yield Candidate(parsed.value, "labelled", label.start, end, label.rank, parsed.problem)

    def _behind(self, label: Labelled, text: Text) -> Parsed[T] | None:
        """Return the value in the text after a label, unless its line states another one as well."""
        parsed = self._parse_rest(label.rest)
        return self._only(parsed, _line(text, label.rest_start)) if parsed else None

    def _only(self, parsed: Parsed[T], line: str) -> Parsed[T]:
        """Return a value without the value if the line that it begins states another one, or a condition."""
        if parsed.value is None:
            return parsed
        problem = unclear(readable(line), parsed.value, self._begins, self.words)
        return Parsed(None, parsed.end, problem) if problem else parsed

    def _corrections(self, text: Text) -> Iterator[Candidate[T]]:
        """Read `Correction: 3`."""
        for unit in text.units[-20:]:
            end = announcement(unit.text, self.words)
            sign = re.match(r"\s*[:,-]\s*(?:it is\s|it's\s|make that\s)?", unit.text[end:]) if end else None
            parsed = self._parse_rest(unit.text[end + sign.end() :]) if sign else None
            if sign and parsed:
                parsed = self._only(parsed, _line(text, unit.start + end + sign.end()))
                yield Candidate(
                    parsed.value,
                    "labelled",
                    unit.start,
                    unit.start + end + sign.end() + parsed.end,
                    FINAL,
                    parsed.problem,
                )

    def _lines(self, text: Text) -> Iterator[Candidate[T]]:
        """Yield the value alone on the last line, or on the first one before an explanation."""
        end = trailing(text)
        lines = [line for line in text.lines if line.start < end]
        for place, rank in ((-1, PLAIN), (0, SENTENCE)):
            if lines and (place or len(lines) > 1) and len(lines[place].text) < LONGEST:
                line = lines[place]
                parsed = self._alone(without_confidence(text, line.text[: end - line.start].strip()))
                if parsed:
                    yield Candidate(parsed.value, "line", line.start, min(line.end, end), rank, parsed.problem)

    def _sentences(self, text: Text) -> Iterator[Candidate[T]]:
        """Read plain sentences at the end of the reply, or at its beginning."""
        end = trailing(text)
        units = [unit for unit in text.units if unit.start < end]
        for unit in _ending(units):
            value = self._stated(unit.text)
            if value is not None:
                yield Candidate(value, "sentence", unit.start, unit.end, SENTENCE)
        if units and (last := self._last(units[-1])):
            yield last

    def _last(self, unit: Unit) -> Candidate[T] | None:
        """Read `... That settles it. Response 2.`, `... has the better argument, so: 1`."""
        therefore = self.words.starts("therefore", unit.text)
        text = unit.text[therefore.end() :].lstrip(" ,") if therefore else unit.text
        if self.words.starts("opening", text) and "," in text:  # `Based on the evaluation, "1"`
            text = text.rpartition(",")[2]
        head, _, tail = text.rpartition(":")
        concluding = any(self.words.find(concept, head) for concept in (*self._concepts(), "therefore"))
        doubtful = in_doubt(head, self.words) or self.words.find("condition", head)
        parsed = self._alone(tail if concluding and not doubtful else text)
        return Candidate(parsed.value, "sentence", unit.start, unit.end, SENTENCE, parsed.problem) if parsed else None


def _line(text: Text, start: int) -> str:
    """Return the rest of a line, up to the length that is parsed."""
    return text.plain[start : start + REST].partition("\n")[0]


def _ending(units: list[Unit]) -> list[Unit]:
    """Return the first sentence and the last two."""
    return units if len(units) <= 3 else [units[0], *units[-2:]]


def _inner(value: Any) -> Any:
    """Return the value in `{"value": 2, "max": 5}`."""
    if not isinstance(value, Mapping):
        return value
    return next(
        (element for key, element in value.items() if squash(str(key)) in ("value", "score", "rating", "answer")), value
    )
