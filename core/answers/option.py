"""The letter of one of the options of a question."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.answers.answer import listed
from core.answers.finals import Candidate
from core.answers.sentences import by_others, clauses, in_doubt
from core.answers.single import Parsed, Single
from core.answers.text import Text, Unit, shorten

_EDGE = " \t\"'()[]<>|:=.,;!*-–—。"
_NOUN = (
    r"(?:(?-i:the|la|el|a|o|die|l'|il)\s+)?"
    r"(?:(?:option|choice|answer|letter|antwort|opción|opção|opzione|letra|lettera|lettre|buchstabe|litera|harfi|выбор|вариант|选项|선택지)\s*)?"
)
_LETTER = re.compile(rf"[\s\"'(\[<|:=]*(?i:{_NOUN})[\s\"'(\[]*(?P<letter>[A-Z]|[a-z](?=[).:\]]|\s*$))(?![A-Za-z0-9_'])")
_ANOTHER = re.compile(
    r"[\"')\]]*\s*(?:/|,|&|\+|-(?=[A-Z])|\b(?:or|and|oder|und|ou|et|o|y|e)\b|或|和|или|и\b)\s*(?:option\s+)?[\"'(\[]*[A-Z](?!\w)"
)
_REMARK = re.compile(r"[\"')\]]*\s*,\s*[\"'(]*[A-Z][\"')]*\s+(?:is|was|has)\b")
"""`B, A is too long` names one answer."""
_AFTER = re.compile(
    r"[\"')\]>|\s]*(?:$|[).:,;\]–—=!。]|\s*[-–—(:]|\s+(?:because|since|as|is\s+(?:the\s+)?(?:correct|right|best|answer)|which|for|on|in|weil|da|car|porque|perché|ist|est|es)\b|\s*(?:입니다|です|है|が|を|선택))"
)
_CORRECT = re.compile(
    rf"(?:^\W*(?i:{_NOUN})|[,:;]\s*|\b(?i:that|so|hence|thus|therefore|and|think|believe|say|option|answer|choice|letter)\s+)"
    r"[(\"']*(?P<letter>[A-Z])[)\"']*\s+(?:is|ist|est|es|é|è)\s+(?:the\s+|clearly\s+|therefore\s+|thus\s+|die\s+|la\s+)*"
    r"(?:correct|right|best|answer|richtig|korrekt|correcte?|bonne|correcta|correto|correta|corretta)(?!\w)"
)
_MARKED = re.compile(r"[\"'(]*(?P<letter>[A-Z])[\"')]*\s*[:–-]\s*(?:correct|right|true|yes|richtig|korrekt)\W*$", re.I)
_REJECTED = re.compile(r"[).:]\s+(?:in|not\b|un|wrong|false|no\b|falsch|nicht\b)", re.I)
_CHOSEN = re.compile(
    r"(?:\b(?:choose|pick|select|I say|I'd say|go with|going with|settle on|opt for|leaves|left with|leaves us with|"
    r"wähle|choisis|elijo|escolho|scelgo)\b|选择?|выбираю)\s*"
    rf"(?:the\s+)?(?i:{_NOUN})[\"'(\[]*(?P<letter>[A-Z])(?!\w)"
)
_PLAINLY = re.compile(
    r"\W*(?i:clearly|definitely|obviously|it's|it is|it must be|it has to be|i'd say|i would say|i say|so it's),?\s+"
    rf"(?i:{_NOUN})[\"'(\[]*(?P<letter>[A-Z])\W*"
)
_IT_IS = re.compile(
    rf"\W*(?i:{_NOUN})[\"'(\[]*(?P<letter>[A-Z])[\"')\]]*\s+(?:it is|it must be|it has to be)(?:,? then)?\W*"
)
_LISTED = re.compile(r"[\"'(\[]*[A-Z][).:]\s+\S")
_HENCE = re.compile(
    rf"(?:[,;:]\s*|\band\s+)(?:therefore|hence|so|thus|also|donc|daher)[,:]?\s+(?i:{_NOUN})[\"'(\[]*(?P<letter>[A-Z])[\"')\]]*\W*$"
)
_ONLY = re.compile(
    rf"\b[Oo]nly\s+(?i:{_NOUN})[\"'(\[]*(?P<letter>[A-Z])[\"')\]]*\s+(?:is|satisfies|fits|works|holds|meets|remains|matches|can)\b"
)
_SO = re.compile(rf"^\W*(?i:{_NOUN})[\"'(\[]*(?P<letter>[A-Z])(?=[)\"'\]]*\s*(?:[.:]|$))")


@dataclass(frozen=True)
class Option(Single[str]):
    """One of `letters`."""

    letters: str = "ABCD"

    key = "answer"

    def shortest(self) -> str:
        return self.letters[0]

    def longest(self) -> str:
        return self.letters[-1]

    def _text_instruction(self) -> str:
        return f'{self._closing}"{self.label}: " and {self._described()}.'

    def _field(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.letters)}

    def _encoded(self, value: str) -> str:
        return value

    def _shape(self) -> str:
        return '"..."'

    def _described(self) -> str:
        return f"one letter, {listed(tuple(self.letters))}"

    def _concepts(self) -> tuple[str, ...]:
        return ("answer",)

    def _names(self) -> tuple[str, ...]:
        return (self.label, "letter", "selected", "correct")

    def _decoded(self, value: Any) -> Parsed[str] | None:
        if value is None:
            return Parsed(None, 0, "its answer is null")
        return (
            self._parse_rest(value) or Parsed(None, 0, f"“{shorten(value)}” is not {self._described()}")
            if isinstance(value, str)
            else None
        )

    def _alone(self, line: str) -> Parsed[str] | None:
        """Read `B`, `(b)`, `B) 12 km`."""
        bare = line.strip(_EDGE)
        if re.fullmatch(rf"(?i:{_NOUN})[(\"']*[A-Za-z]", bare) and (
            bare[-1].isupper() or len(bare) < len(line.strip())
        ):
            return self._checked(bare[-1], len(line))
        if match := _PLAINLY.fullmatch(line.strip()):
            return self._checked(match["letter"], len(line))
        match = re.match(
            r"[\"'(\[]*([A-Z])(?:(?:\)|\.|:)\s+\S|\W{1,3}(?:because|since|weil|car|porque)\b)", line.strip()
        )
        return (
            self._checked(match[1], match.end(1))
            if match and not any(pattern.match(line.strip()[match.end(1) :]) for pattern in (_ANOTHER, _REJECTED))
            else None
        )

    def _lines(self, text: Text) -> Iterator[Candidate[str]]:
        """Yield the lines that may be the answer: none of a list of all options."""
        listing = sum(_LISTED.match(line.text) is not None for line in text.lines) > 1
        return (
            candidate
            for candidate in super()._lines(text)
            if not listing or not _LISTED.match(text.spoken[candidate.start :])
        )

    def _last(self, unit: Unit) -> Candidate[str] | None:
        return None if _LISTED.match(unit.text) else super()._last(unit)

    def _parse_rest(self, rest: str) -> Parsed[str] | None:
        match = _LETTER.match(rest)
        if match is None:
            return None
        after = rest[match.end() :]
        if re.match(r"[\s,]+[A-H](?:\W|$)", after) and not _REMARK.match(after):
            return Parsed(None, match.end(), f"it names more than one: “{shorten(rest)}”")
        if _ANOTHER.match(after) and not _REMARK.match(after):
            letters = set(re.findall(r"(?<!\w)[A-Z](?!\w)", after)) | {match["letter"]}
            return None if len(letters) > 2 else Parsed(None, match.end(), f"it names more than one: “{shorten(rest)}”")
        if not _AFTER.match(after):
            return None
        return self._checked(match["letter"], match.end())

    def _begins(self, text: str) -> tuple[str, int] | None:
        match = _LETTER.match(text)
        return (match["letter"].upper(), match.end()) if match else None

    def _checked(self, letter: str, end: int) -> Parsed[str]:
        if letter.upper() not in self.letters:
            return Parsed(None, end, f"{letter} is not {self._described()}")
        return Parsed(letter.upper(), end)

    def _stated(self, sentence: str) -> str | None:
        if (match := _MARKED.match(sentence)) and match["letter"] in self.letters:
            return match["letter"]
        hence = _HENCE.search(sentence)
        if hence and hence["letter"] in self.letters and not in_doubt(sentence[: hence.start()], self.words):
            return hence["letter"]
        letters = {letter for clause in clauses(sentence, self.words) for letter in self._concluded(clause)}
        return letters.pop() if len(letters) == 1 else None

    def _concluded(self, clause: str) -> set[str]:
        """Read `Option D is correct`, `I choose B`, `Therefore, D.`"""
        if in_doubt(clause, self.words):
            return set()
        letters = {
            match["letter"]
            for pattern in (_CORRECT, _CHOSEN, _ONLY)
            for match in pattern.finditer(clause)
            if pattern is not _CHOSEN or not by_others(clause[: match.start()], match[0], self.words)
        }
        therefore = self.words.starts("therefore", clause)
        rest = clause[therefore.end() :] if therefore else clause
        if match := _PLAINLY.fullmatch(clause.strip()) or _IT_IS.fullmatch(rest.strip()):
            letters.add(match["letter"])
        if therefore and (match := _SO.match(rest)):
            letters.add(match["letter"])
        return {letter for letter in letters if letter in self.letters}
