"""A score for each of several names: responses, or criteria."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.answers.answer import Answer, Reading, listed
from core.answers.finals import Candidate, decided, trailing
from core.answers.labels import FINAL
from core.answers.named import Block, blocks, entries, mentions, repeated
from core.answers.numbers import Measure, measure, whole
from core.answers.rows import rows
from core.answers.sentences import in_doubt
from core.answers.signs import readable
from core.answers.structured import listed_numbers, pairs
from core.answers.text import Text

_BOTH = re.compile(r"\b(?:both|beide|les deux|ambas|ambos|entrambi)\b[^\d.]{0,60}(?=\d)", re.I)
_KEY = re.compile(r"^(?:score|rating|s|r|a)\W*(?:of|for)?\W*(\d{1,2})$")
_GIVEN = re.compile(r"\b(?:deserve|get|receive|score|earn|erhalten|méritent|merecen)\b", re.I)


@dataclass(frozen=True)
class Scores(Answer[dict[str, float]]):
    """A number from `low` to `high` for each of `names`, in steps of `step` (any number if it is None)."""

    names: tuple[str, ...] = ("Response 1", "Response 2")
    low: float = 1
    high: float = 10
    step: float | None = None

    key = "scores"

    def shortest(self) -> dict[str, float]:
        return dict.fromkeys(self.names, whole(self.low))

    def longest(self) -> dict[str, float]:
        return {name: whole(self.low if place % 2 else self.high) for place, name in enumerate(self.names)}

    def parse(self, reply: str) -> Reading[dict[str, float]]:
        text = Text(reply, self.words)
        candidates = [*self._structured(text), *self._named(text), *self._rows(text), *self._both(text)]
        return decided(candidates, text, "" if candidates else self._missing(text))

    def _text_instruction(self) -> str:
        lines = f"{len(self.names)} lines"
        closing = (
            f"Explain your reasoning first. Then end with {lines}, and write nothing after them. "
            if self.reasoning
            else f"Reply with {lines} and nothing else. "
        )
        return f"{closing}Each line is a name, a colon and {self._described_one()}, like this:\n" + "\n".join(
            f"{name}: (score)" for name in self.names
        )

    def _written(self, value: dict[str, float]) -> str:
        return "\n".join(f"{name}: {whole(value[name])}" for name in self.names)

    def _field(self) -> dict[str, Any]:
        one = {"type": "number", "description": f"{self._described_one().capitalize()}."}
        return {
            "type": "object",
            "properties": dict.fromkeys(self.names, one),
            "required": list(self.names),
            "additionalProperties": False,
        }

    def _encoded(self, value: dict[str, float]) -> dict[str, float]:
        return {name: whole(value[name]) for name in self.names}

    def _shape(self) -> str:
        return "{" + ", ".join(f'"{name}": ...' for name in self.names) + "}"

    def _described(self) -> str:
        return f"{self._described_one()} for each of {listed(self.names, 'and')}"

    def _described_one(self) -> str:
        steps = f" in steps of {self.step:g}" if self.step else ""
        return f"a number from {self.low:g} to {self.high:g}{steps}"

    def _missing(self, text: Text) -> str:
        named = {entry.name for entry in entries(text, self.names)}
        absent = [name for name in self.names if name not in named]
        return f"it gives no score for {listed(tuple(absent), 'and')}" if absent else "it gives no scores"

    def _structured(self, text: Text) -> list[Candidate[dict[str, float]]]:
        candidates = []
        for document in text.documents:
            measures = self._by_key(pairs(document.value)) or self._in_order(document.value)
            if measures is not None:
                value, problem = self._checked(measures)
                candidates.append(Candidate(value, "json", document.start, document.end, FINAL, problem))
        return candidates

    def _by_key(self, named: Sequence[tuple[str, Any]]) -> dict[str, Measure] | None:
        """The scores in fields that hold the names; None if a name is missing."""
        pattern = mentions(self.words, self.names)
        measures: dict[str, Measure] = {}
        for key, value in named:
            plain = readable(key).replace("_", " ").lower()
            match = pattern.search(plain) or pattern.search(_KEY.sub(r"response \1", plain))
            one = measure(readable(str(value)), self.words) if not isinstance(value, bool) else None
            if match and one:
                measures[self.names[int((match.lastgroup or "n0")[1:])]] = one
        return measures if len(measures) == len(self.names) else None

    def _in_order(self, value: Any) -> dict[str, Measure] | None:
        """A list of as many numbers as names."""
        numbers = listed_numbers(value, len(self.names))
        return (
            {name: Measure(one, None, False, 0) for name, one in zip(self.names, numbers, strict=True)}
            if numbers
            else None
        )

    def _named(self, text: Text) -> list[Candidate[dict[str, float]]]:
        groups = blocks(text, entries(text, self.names))
        return [
            self._candidate(block, "named", repeated(before, block, text))
            for before, block in zip([None, *groups], groups, strict=False)
            if len(block.entries) == len(self.names)
        ]

    def _candidate(self, block: Block, rule: str, twice: str = "") -> Candidate[dict[str, float]]:
        value, problem = (None, f"it gives {twice} two scores") if twice else self._checked(block.measures())
        return Candidate(value, rule, block.start, block.end, block.rank, problem)

    def _rows(self, text: Text) -> list[Candidate[dict[str, float]]]:
        candidates = []
        for block in rows(text, self.names, trailing(text)):
            candidates.append(self._candidate(block, "row"))
        return candidates

    def _both(self, text: Text) -> list[Candidate[dict[str, float]]]:
        """`Both deserve 8/10.`"""
        candidates = []
        for unit in text.units[-2:]:
            match = _BOTH.search(unit.text)
            one = measure(unit.text[match.end() :], self.words) if match else None
            if one and (one.top == self.high or _GIVEN.search(unit.text)) and not in_doubt(unit.text, self.words):
                value, problem = self._checked(dict.fromkeys(self.names, one))
                candidates.append(Candidate(value, "sentence", unit.start, unit.end, 1, problem))
        return candidates if len(self.names) == 2 else []

    def _checked(self, measures: Mapping[str, Measure]) -> tuple[dict[str, float] | None, str]:
        for name in self.names:
            one = measures[name]
            steps = (one.value - self.low) / self.step if self.step else 0
            if one.problem:
                return None, f"{name}: {one.problem}"
            if one.percent or (one.top is not None and one.top != self.high):
                return None, f"{name}: it is not scored out of {self.high:g}"
            if not self.low <= one.value <= self.high or abs(steps - round(steps)) > 1e-6:
                return None, f"{name}: {one.value:g} is not {self._described_one()}"
        return {name: whole(measures[name].value) for name in self.names}, ""
