"""A score for each of several names: responses, or criteria."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from core.answers.answer import listed
from core.answers.named import (
    Block,
    ByName,
    Entry,
    Numbers,
    blocks,
    entries,
    in_named_order,
    mentions,
    place_of,
    ratios,
    repeated,
    rows,
)
from core.answers.sentences import FINAL, in_doubt
from core.answers.single import Candidate, Measure, is_confidence, measure, trailing, whole
from core.answers.text import Text, shorten

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
    rules = ("json", "marked", "named", "row", "sentence")

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


# Weights of aspects in percent, by name.

WHOLE = 100.0
ROUNDING = 1.01
"""The largest difference of a sum from 100 that is rounding; such weights are rescaled to 100."""
LEAST_TOTAL = 50
"""The smallest sum of numbers without "%" that are percentages: ratings from 1 to 10 sum to less."""
_PAIR = re.compile(r"\W*(\d[\d.,]*)\s*%?\s*/\s*(\d[\d.,]*)\s*%?\W*")
_LINE = re.compile(r"^[\s\d.)(-]*([^\d:：|%]{2,60}?)[\s|]*[:=(|–—-]+[\s|]*(\d[\d.,]*)\s*%?[\s|)*]*(?:$|[-–—,;.(])")


@dataclass(frozen=True)
class Weights(ByName):
    """The weight of each of `names` in percent; together they are 100.

    With `any_total` percentages with another sum are weights too, and stay as the reply states them.
    """

    any_total: bool = False

    key = "weights"

    def shortest(self) -> Numbers:
        return {name: WHOLE * (not place) for place, name in enumerate(self.names)}

    def longest(self) -> Numbers:
        return {name: WHOLE / len(self.names) for name in self.names}

    def _text_instruction(self) -> str:
        return (
            f"End with {len(self.names)} lines, and write nothing after them. Each line is a name, a colon and a "
            "percentage; the percentages sum to 100. Like this:\n"
            + "\n".join(f"{name}: (percentage)" for name in self.names)
        )

    def _written(self, value: Mapping[str, float]) -> str:
        return "\n".join(f"{name}: {_digits(value[name])}%" for name in self.names)

    def _described(self) -> str:
        return f"a percentage for each of {listed(self.names, 'and')}; they sum to 100"

    def _one(self) -> dict[str, Any]:
        return {"type": "number", "description": "Percent."}

    def _place(self, key: str) -> int | None:
        return place_of(mentions(self.words, self.names).fullmatch(key))

    def _written_out(self, text: Text) -> Iterator[Candidate[Numbers]]:
        groups = blocks(text, self._entries(text))
        for before, block in zip([None, *groups], groups, strict=False):
            if len(block.entries) == len(self.names):
                twice = repeated(before, block, text)
                other = f"it gives {twice} two weights" if twice else self._other(text, block.start, block.end)
                yield self._candidate(block, "named", other)
        if pair := self._pair(text):
            yield self._candidate(pair, "row")
        end = trailing(text)
        for find in (rows, ratios, in_named_order):
            for block in find(text, self.names, end):
                yield self._candidate(block, "row")

    def _entries(self, text: Text) -> list[Entry]:
        """Read numbers with a name; "1." and "2." at the beginnings of lines are names if there is nothing else."""
        collected = [
            entry for entry in entries(text, self.names) if not is_confidence(text, _line_of(text, entry.start))
        ]
        numbered = [re.fullmatch(r"\(?(\d{1,2})[.):]\s+(\d[\d.,]*\s*%)\W*", line.text) for line in text.lines]
        if collected or sum(match is not None for match in numbered) != len(self.names):
            return collected
        for line, match in zip(text.lines, numbered, strict=True):
            if match and 1 <= int(match[1]) <= len(self.names) and (measured := measure(match[2], self.words)):
                collected.append(Entry(self.names[int(match[1]) - 1], measured, line.start, line.end))
        return collected

    def _other(self, text: Text, start: int, end: int) -> str:
        """Return why numbers next to a block contradict it: another aspect has a weight, or a name has two."""
        pattern = mentions(self.words, self.names)
        for line in text.lines:
            if not (start - 400 <= line.start and line.start <= end + 400):
                continue
            match = _LINE.match(line.text)
            label = match[1] if match else ""
            known = (
                self.words.find("total", label) or self.words.find("weight", label) or is_confidence(text, line.text)
            )
            if match and not known and not pattern.search(label.lower()) and not self.words.find("courtesy", label):
                return f"it gives a weight to “{shorten(label.strip())}”, which is not one of the aspects"
        return ""

    def _pair(self, text: Text) -> Block | None:
        """Read `70 % / 30 %` on the last line."""
        line = text.lines[-1] if text.lines else None
        slashed = _PAIR.fullmatch(line.text) if line and len(self.names) == 2 else None
        if line is None or slashed is None:
            return None
        numbers = [measure(part, self.words) for part in slashed.groups()]
        named = zip(self.names, numbers, strict=True)
        return Block(tuple(Entry(name, measured, line.start, line.end) for name, measured in named if measured), FINAL)

    def _checked(self, measures: Mapping[str, Measure]) -> tuple[Numbers | None, str]:
        """Return the weights in percent, rescaled to 100 after rounding."""
        for name in self.names:
            if measures[name].problem:
                return None, f"{name}: {measures[name].problem}"
        values = [measures[name].value / (measures[name].top or 1) for name in self.names]
        fractions = any(measures[name].top for name in self.names) or (max(values) <= 1 and sum(values) < 2)
        percent = any(measures[name].percent for name in self.names)
        values = [value * WHOLE for value in values] if fractions and not percent else values
        total = sum(values)
        if min(values) < 0:
            return None, "a weight is negative"
        if abs(total - WHOLE) > min(0.5 * len(values), ROUNDING):
            stated = self.any_total and (percent or total >= LEAST_TOTAL) and total > 0 and max(values) <= WHOLE
            if not stated or any(measures[name].top for name in self.names):
                return None, f"the weights sum to {total:g}, not to 100"
            return dict(zip(self.names, map(whole, values), strict=True)), ""
        exact = abs(total - WHOLE) < 1e-9
        return {
            name: value if exact else value * WHOLE / total for name, value in zip(self.names, values, strict=True)
        }, ""


def _digits(value: float) -> str:
    """Match all digits of a number, without an exponent."""
    return format(Decimal(repr(whole(value))), "f")


def _line_of(text: Text, start: int) -> str:
    return next((line.text for line in text.lines if line.start <= start < line.end), "")
