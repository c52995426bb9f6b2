"""A score for each of several names: responses, or criteria."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from core.answers import words
from core.answers.answer import listed
from core.answers.named import Block, ByName, Entry, Numbers, in_named_order, mentions, pair, place_of, ratios, rows
from core.answers.sentences import in_doubt
from core.answers.single import SENTENCE, Candidate, Measure, is_confidence, measure, whole
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

    def ends(self) -> tuple[Numbers, Numbers]:
        uneven = {name: whole(self.low if place % 2 else self.high) for place, name in enumerate(self.names)}
        return dict.fromkeys(self.names, whole(self.low)), uneven

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
        pattern = mentions(self.names)
        match = pattern.search(key) or pattern.search(_KEY.sub(r"response \1", key))
        return place_of(match) if match else None

    def _written_out(self, text: Text) -> Iterator[Candidate[Numbers]]:
        yield from super()._written_out(text)
        for unit in text.units[-2:] if len(self.names) == 2 else ():  # `Both deserve 8/10.`
            spoken = mentions(self.names).sub(lambda name: " " * len(name[0]), unit.text.lower())
            match = _BOTH.search(spoken)
            amount = measure(spoken[match.end() :]) if match else None
            stated = amount and (amount.top == self.high or _GIVEN.search(unit.text))
            if amount and stated and not in_doubt(unit.text):
                value, problem = self._checked(dict.fromkeys(self.names, amount))
                yield Candidate(value, "sentence", unit.start, unit.end, SENTENCE, problem)

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
NEAR = 400
"""Number of characters around the weights that are searched for the weight of another aspect."""
_LINE = re.compile(r"^[\s\d.)(-]*([^\d:：|%]{2,60}?)[\s|]*[:=(|–—-]+[\s|]*(\d[\d.,]*)\s*%?[\s|)*]*(?:$|[-–—,;.(])")


@dataclass(frozen=True)
class Weights(ByName):
    """The weight of each of `names` in percent; together they are 100.

    With `any_total` percentages with another sum are weights too, and stay as the reply states them.
    """

    any_total: bool = False

    key = "weights"
    row_forms = (rows, pair, ratios, in_named_order)

    def ends(self) -> tuple[Numbers, Numbers]:
        one = {name: WHOLE * (not place) for place, name in enumerate(self.names)}
        return one, dict.fromkeys(self.names, WHOLE / len(self.names))

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
        match = mentions(self.names).fullmatch(key)
        return place_of(match) if match else None

    def _entries(self, text: Text) -> list[Entry]:
        sure = [line for line in text.lines if not is_confidence(text, line.text)]
        found = super()._entries(text)
        return [entry for entry in found if any(line.start <= entry.start < line.end for line in sure)]

    def _other(self, text: Text, block: Block) -> str:
        pattern = mentions(self.names)
        for line in text.lines:
            match = _LINE.match(line.text) if block.start - NEAR <= line.start <= block.end + NEAR else None
            if match is None or pattern.search(match[1].lower()) or is_confidence(text, line.text):
                continue
            if not words.has(match[1], "total", "weight", "courtesy"):
                return f"it gives a weight to “{shorten(match[1].strip())}”, which is not one of the aspects"
        return ""

    def _checked(self, measures: Mapping[str, Measure]) -> tuple[Numbers | None, str]:
        """Return the weights in percent, rescaled to 100 after rounding."""
        amounts = {name: measures[name] for name in self.names}
        if problem := next((f"{name}: {one.problem}" for name, one in amounts.items() if one.problem), ""):
            return None, problem
        values = [one.value / (one.top or 1) for one in amounts.values()]
        of_a_top = any(one.top for one in amounts.values())
        percent = any(one.percent for one in amounts.values())
        if (of_a_top or (max(values) <= 1 and sum(values) < 2)) and not percent:
            values = [value * WHOLE for value in values]
        total = sum(values)
        if min(values) < 0:
            return None, "a weight is negative"
        if abs(total - WHOLE) > min(0.5 * len(values), ROUNDING):
            stated = self.any_total and (percent or total >= LEAST_TOTAL) and total > 0 and max(values) <= WHOLE
            if not stated or of_a_top:
                return None, f"the weights sum to {total:g}, not to 100"
            values = list(map(whole, values))
        elif abs(total - WHOLE) >= 1e-9:
            values = [value * WHOLE / total for value in values]
        return dict(zip(self.names, values, strict=True)), ""


def _digits(value: float) -> str:
    """Match all digits of a number, without an exponent."""
    return format(Decimal(repr(whole(value))), "f")
