"""A level on a declared scale."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from core.answers.answer import listed
from core.answers.finals import SENTENCE, Candidate
from core.answers.numbers import Measure, measure, whole
from core.answers.sentences import clauses, in_doubt
from core.answers.single import Parsed, Single
from core.answers.text import Text, Unit, shorten
from core.answers.words import Words, readable, squash

Level = float | str

_EDGE = " \t\"'()[]<>|:=.,;!*-–—。"
_ENDS = re.compile(
    r"[\s\"')\]*>|]*(?:$|[.,;:!()\[\]<|/–—。，；！★⭐]|-\s|-$|\s*+(?:stars?|sterne?n?|points?|pts?|punkte?n?|étoiles?|estrellas?|puntos?|pontos?|stelle|"
    r"punti|分|点|점|балл|बिंदु|because|since|as|for|which|given|from|out|overall|and|but|weil|da|car|porque|perché|due|based|on|with|by|under|rather|입니다|です|है|level)(?![a-z]))",
    re.I,
)


@dataclass(frozen=True)
class Rating(Single[Level]):
    """A level: one of `levels`, or a number from `low` to `high` in steps of `step` (any number if it is None).

    `names` are other labels that may precede it, such as the criterion's name.
    """

    label: str = "Rating"
    levels: tuple[Level, ...] = ()
    low: float = 1
    high: float = 5
    step: float | None = None
    names: tuple[str, ...] = ()

    key = "rating"

    def holds(self, value: Level) -> bool:
        """Return whether the scale has this level."""
        if self.levels:
            return value in self.levels
        if isinstance(value, str) or not self.low <= value <= self.high:
            return False
        return self.step is None or abs((steps := (value - self.low) / self.step) - round(steps)) < 1e-6

    def shortest(self) -> Level:
        return self.levels[0] if self.levels else whole(self.low)

    def longest(self) -> Level:
        return self.levels[-1] if self.levels else whole(self.high)

    @property
    def top(self) -> Level:
        """The highest level."""
        return self.levels[-1] if self.levels else self.high

    def _text_instruction(self) -> str:
        return f'{self._closing}"{self.label}: " and {self._described()}.'

    def _field(self) -> dict[str, Any]:
        if self.levels and len(self.levels) <= 25:
            kind = {type(level) for level in self.levels}
            return {"type": "string" if kind == {str} else "number", "enum": list(self.levels)}
        return {"type": "number", "description": f"It is {self._described()}."}

    def _encoded(self, value: Level) -> Level:
        return value if isinstance(value, str) else whole(value)

    def _shape(self) -> str:
        return '"..."' if self._worded() else "..."

    def _described(self) -> str:
        if self.levels:
            return f"one of {listed(self.levels)}"
        steps = f" in steps of {self.step:g}" if self.step else ""
        return f"a number from {self.low:g} to {self.high:g}{steps}"

    def _missing(self) -> str:
        return f"it states no rating; expected {self._described()}"

    def _concepts(self) -> tuple[str, ...]:
        return ("rating", "answer", "final")

    def _names(self) -> tuple[str, ...]:
        return (self.label, *self.names)

    def _decoded(self, value: Any) -> Parsed[Level] | None:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return Parsed(None, 0, "its rating is null") if value is None else None
        text = readable(str(value))
        return (
            self._alone(text)
            or self._parse_rest(text)
            or Parsed(None, 0, f"“{shorten(text)}” is not {self._described()}")
        )

    def _alone(self, line: str) -> Parsed[Level] | None:
        line = re.sub(r"\([^()\d]{0,80}\)\W*$", "", line).strip()
        line = line[lead.end() :] if (lead := self.words.starts("rating", line)) else line
        amount = self._measured(line.strip(" :="))
        line = line.strip(" :=")
        if amount and not _UNIT.sub("", line.strip()[amount.end :]).strip(_EDGE):
            return self._checked(amount)
        return self._named(line.strip(), alone=True)

    def _parse_rest(self, rest: str) -> Parsed[Level] | None:
        """Read `4`, `4/5`, `4 out of 5, because`, `Level 4`, `Good (4)`, `four`; not `3-4`, `3 of the 5 points`."""
        lead = re.match(rf"[\s\"'(\[|:=]*(?:an?\s+|of\s+|{self.words.any('rating')}\s*:?\s*)*", rest, re.I)
        start = lead.end() if lead else 0
        amount = self._measured(rest[start:])
        if amount and _ANOTHER.match(rest[start + amount.end :]):
            return Parsed(None, start + amount.end, f"“{shorten(rest)}” is not one value")
        if amount and (amount.problem or _ENDS.match(rest[start + amount.end :])):
            parsed = self._checked(amount)
            return Parsed(parsed.value, start + parsed.end, parsed.problem)
        return self._named(rest) or self._bracketed(rest) or self._between(rest)

    def _begins(self, text: str) -> tuple[Level, int] | None:
        for level in sorted(self.levels, key=lambda level: -len(str(level))) if self._worded() else ():
            if match := re.match(rf"{re.escape(str(level))}(?!\w)", text, re.I):
                return level, match.end()
        amount = self._measured(text) if re.match(r"\W*\d", text) else None
        return (amount.value, amount.end) if amount else None

    def _bracketed(self, rest: str) -> Parsed[Level] | None:
        """Read `Good (4)`."""
        match = re.match(r"\s*[^\W\d][\w ]{0,20}\(\s*(?=\d)", rest)
        amount = self._measured(rest[match.end() :]) if match else None
        if match is None or amount is None or not rest[match.end() + amount.end :].lstrip().startswith(")"):
            return None
        parsed = self._checked(amount)
        return Parsed(parsed.value, match.end() + parsed.end, parsed.problem)

    def _between(self, rest: str) -> Parsed[Level] | None:
        """Read a range that begins with a word: an answer without a value."""
        either = self.words.starts("either", rest)
        if either and re.match(r"\s*\d", rest[either.end() :]):
            return Parsed(None, len(rest), f"“{shorten(rest)}” is not one value")
        return None

    def _measured(self, text: str) -> Measure | None:
        return None if self._worded() else measure(text, self.words)

    def _worded(self) -> bool:
        return any(isinstance(level, str) for level in self.levels)

    def _named(self, text: str, alone: bool = False) -> Parsed[Level] | None:
        """Read a level that is a word."""
        if not self._worded():
            return None
        plain = squash(text)
        for level in sorted(map(str, self.levels), key=len, reverse=True):
            name = squash(level)
            if plain == name or (plain.startswith(f"{name} ") and not alone and not self._another(plain, name)):
                return Parsed(next(amount for amount in self.levels if str(amount) == level), len(text))
        return None

    def _another(self, plain: str, name: str) -> bool:
        rest = plain[len(name) :].split()
        return bool({"or", "to", "and"} & set(rest[:1])) or any(squash(str(level)) in rest[:3] for level in self.levels)

    def _checked(self, amount: Measure) -> Parsed[Level]:
        if amount.problem:
            return Parsed(None, amount.end, amount.problem)
        if amount.top is not None and amount.top != self.top:
            return Parsed(None, amount.end, f"it rates out of {amount.top:g}, and the scale ends at {self.top}")
        if amount.percent and self.top != 100:
            return Parsed(None, amount.end, f"{amount.value:g}% is not {self._described()}")
        value = next((level for level in self.levels if level == amount.value), whole(amount.value))
        if not self.holds(value):
            return Parsed(None, amount.end, f"{amount.value:g} is not {self._described()}")
        return Parsed(value, amount.end)

    def _sentences(self, text: Text) -> Iterator[Candidate[Level]]:
        """Read plain sentences; ratings of several other criteria, one per line, are not an overall rating."""
        sentences = list(super()._sentences(text))
        criteria = {match[1] for line in text.lines if (match := _CRITERION.match(line.text))}
        if len(criteria) > 1:
            sentences = [
                sentence for sentence in sentences if not _CRITERION.match(text.spoken[sentence.start : sentence.end])
            ]
        yield from sentences

    def _last(self, unit: Unit) -> Candidate[Level] | None:
        """Read `Bad sources, no structure: poor.`"""
        if self._worded() and ":" in unit.text and (named := self._named(unit.text.rsplit(":", 1)[1], alone=True)):
            return Candidate(named.value, "sentence", unit.start, unit.end, SENTENCE)
        return super()._last(unit)

    def _stated(self, sentence: str) -> Level | None:
        if len({match[1] for match in _FOR_A_PART.finditer(sentence)}) > 1:
            return None
        if reasoned := _REASONED.match(sentence):
            amount = self._measured(reasoned[1])
            return self._checked(amount).value if amount else None
        values = {value for clause in clauses(sentence, self.words) for value in self._given(clause)}
        return values.pop() if len(values) == 1 else None

    def _given(self, clause: str) -> list[Level]:
        """Read `I'd give it a 4`, `it deserves 4 out of 5`, `4/5`: a verb that gives, or the top of the scale."""
        if in_doubt(clause, self.words) or self.words.find("bound", clause):
            return []
        if self._worded():
            verb = _CALLS.search(clause)
            parsed = self._level_word(clause[verb.end() :]) if verb else None
            return [parsed] if parsed is not None else []
        clause = _SCALE.sub(lambda scale: " " * len(scale[0]), clause)
        levels: list[Level | None] = []
        for match in _DIGITS.finditer(clause):
            amount = measure(clause[match.start() :], self.words)
            given = amount and (amount.top == self.top or _gives(self.words).search(clause[: match.start()].lower()))
            if amount and given and _ENDS.match(clause[match.start() + amount.end :]):
                levels.append(self._checked(amount).value)
        return [level for level in levels if level is not None] if None not in levels else []

    def _level_word(self, rest: str) -> Level | None:
        words = squash(rest).split()
        named = [level for level in self.levels if squash(str(level)) in (words[-1:] or [""])[0]]
        return named[0] if len(named) == 1 and words and squash(str(named[0])) == words[-1] else None


_ANOTHER = re.compile(r"\s*[,;&]\s*\d+\s*(?:$|[,;.&])")
_FOR_A_PART = re.compile(
    r"(?<![\d.,/])(\d(?:[.,]\d)?)(?:\s*/\s*\d+)?\s+(?:for|in|on|für|pour|para|per|bei)\s+[^\W\d]", re.I
)
"""`a 3 for grammar and a 5 for content`"""
_UNIT = re.compile(r"^\s*(?:points?|pts?|stars?|punkte?|sterne?|puntos?|pontos?|punti|étoiles?|балл\w*)(?!\w)", re.I)
_REASONED = re.compile(r"\W*(\d{1,3}(?:[.,]\d)?)\s*,\s*(?:because|since|as it|weil|porque|car|perché)\b", re.I)
_CRITERION = re.compile(r"\W*(?:\d{1,2}[.)]\s*)?([^\W\d][\w /&-]{1,40}?)\s*[:=–-]+\s*\d")
_SCALE = re.compile(r"\b(?:on|auf|sur|en|in|na)\b[^\d.;]{1,25}\d+\s*(?:to|-|–|bis|à|a)\s*\d+", re.I)
_CALLS = re.compile(r"\b(?:call|rate|judge|consider|deem|find|grade|is)\b")
_DIGITS = re.compile(
    r"(?<![A-Za-z0-9_.,/-])\d|\b(?:one|two|three|four|five|six|seven|eight|nine)(?=\s+out\s+of\b)", re.I
)


@lru_cache(maxsize=16)
def _gives(words: Words) -> re.Pattern[str]:
    """Return whether a verb of rating precedes it; "to deserve a 4" is not one."""
    return re.compile(
        rf"(?<!to ){words.any('gives')}[^\d.;]{{0,60}}$|"
        r"^\W*(?:(?:so|overall|all in all),?\s+)?(?:it|this|that)(?:'s| is) an?\s+$|^\W*an?\s+[a-z-]{3,15}\s+$"
    )
