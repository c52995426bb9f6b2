"""A score for each of several names: responses, or criteria."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.answers.answer import listed
from core.answers.by_name import ByName, Numbers, place_of
from core.answers.finals import Candidate, trailing
from core.answers.named import blocks, entries, mentions, repeated
from core.answers.numbers import Measure, measure, whole
from core.answers.rows import in_named_order, rows
from core.answers.sentences import in_doubt
from core.answers.text import Text

_BOTH = re.compile(r"\b(?:both|beide|les deux|ambas|ambos|entrambi)\b[^\d.]{0,60}(?=\d)", re.I)
_KEY = re.compile(r"^(?:score|rating|s|r|a)\W*(?:of|for)?\W*(\d{1,2})$")
_GIVEN = re.compile(
    r"\b(?:deserve|get|receive|score|earn|give|rate|assign|award|gebe|donne|erhalten|méritent|merecen)\b", re.I
)


@dataclass(frozen=True)
class Scores(ByName):
    """A number from `low` to `high` for each of `names`, in steps of `step` (any number if it is None)."""

    names: tuple[str, ...] = ("Response 1", "Response 2")
    low: float = 1
    high: float = 10
    step: float | None = None

    key = "scores"

    def shortest(self) -> Numbers:
        return dict.fromkeys(self.names, whole(self.low))

    def longest(self) -> Numbers:
        return {name: whole(self.low if place % 2 else self.high) for place, name in enumerate(self.names)}

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

    def _written(self, value: Numbers) -> str:
        return "\n".join(f"{name}: {whole(value[name])}" for name in self.names)

    def _described(self) -> str:
        return f"{self._described_one()} for each of {listed(self.names, 'and')}"

    def _described_one(self) -> str:
        steps = f" in steps of {self.step:g}" if self.step else ""
        return f"a number from {self.low:g} to {self.high:g}{steps}"

    def _one(self) -> dict[str, Any]:
        return {"type": "number", "description": f"{self._described_one().capitalize()}."}

    def _place(self, key: str) -> int | None:
        pattern = mentions(self.words, self.names)
        return place_of(pattern.search(key) or pattern.search(_KEY.sub(r"response \1", key)))

    def _written_out(self, text: Text) -> Iterator[Candidate[Numbers]]:
        groups = blocks(text, entries(text, self.names))
        for before, block in zip([None, *groups], groups, strict=False):
            if len(block.entries) == len(self.names):
                twice = repeated(before, block, text)
                yield self._candidate(block, "named", f"it gives {twice} two scores" if twice else "")
        end = trailing(text)
        for block in (*rows(text, self.names, end), *in_named_order(text, self.names, end)):
            yield self._candidate(block, "row")
        yield from self._both(text)

    def _both(self, text: Text) -> list[Candidate[Numbers]]:
        """Read `Both deserve 8/10.`"""
        candidates = []
        for unit in text.units[-2:]:
            spoken = mentions(self.words, self.names).sub(lambda name: " " * len(name[0]), unit.text.lower())
            match = _BOTH.search(spoken)
            measured = measure(spoken[match.end() :], self.words) if match else None
            if (
                measured
                and (measured.top == self.high or _GIVEN.search(unit.text))
                and not in_doubt(unit.text, self.words)
            ):
                value, problem = self._checked(dict.fromkeys(self.names, measured))
                candidates.append(Candidate(value, "sentence", unit.start, unit.end, 1, problem))
        return candidates if len(self.names) == 2 else []

    def _checked(self, measures: Mapping[str, Measure]) -> tuple[Numbers | None, str]:
        for name in self.names:
            measured = measures[name]
            steps = (measured.value - self.low) / self.step if self.step else 0
            if measured.problem:
                return None, f"{name}: {measured.problem}"
            if measured.percent or (measured.top is not None and measured.top != self.high):
                return None, f"{name}: it is not scored out of {self.high:g}"
            if not self.low <= measured.value <= self.high or abs(steps - round(steps)) > 1e-6:
                return None, f"{name}: {measured.value:g} is not {self._described_one()}"
        return {name: whole(measures[name].value) for name in self.names}, ""
