"""Answers with a number for each of several names; `Scores` and `Weights` differ in the numbers that they allow."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.answers.answer import Answer, Reading, listed
from core.answers.finals import Candidate, decided, is_of_others
from core.answers.labels import FINAL
from core.answers.named import Block, entries
from core.answers.numbers import Measure, measure, whole
from core.answers.signs import readable
from core.answers.structured import listed_numbers, pairs
from core.answers.text import Text

Numbers = dict[str, float]
_TAGS = 40
"""Maximum number of tags that are searched, from the end."""
_TAGGED = re.compile(r"<([^\W\d][\w -]{0,60})>\s*([^<>\n]{1,60}?)\s*</\1>", re.I)


@dataclass(frozen=True)
class ByName(Answer[Numbers]):
    """A number for each of `names`."""

    names: tuple[str, ...]

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[Numbers]:
        text = Text(reply, self.words, shown)
        candidates = [*self._structured(text), *self._tagged(text), *self._written_out(text)]
        own = [one for one in candidates if not is_of_others(one, text)]
        return decided(own, text, "" if own else self._missing(text))

    @abstractmethod
    def _written_out(self, text: Text) -> Iterator[Candidate[Numbers]]:
        """Yield the values in lines, sentences and rows."""

    @abstractmethod
    def _checked(self, measures: Mapping[str, Measure]) -> tuple[Numbers | None, str]:
        """Return the values, or the reason why there are none."""

    @abstractmethod
    def _place(self, key: str) -> int | None:
        """Return the name that a key refers to."""

    @abstractmethod
    def _one(self) -> Mapping[str, Any]:
        """Return the schema of one number."""

    def _field(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict.fromkeys(self.names, self._one()),
            "required": list(self.names),
            "additionalProperties": False,
        }

    def _encoded(self, value: Numbers) -> Numbers:
        return {name: whole(value[name]) for name in self.names}

    def _shape(self) -> str:
        return "{" + ", ".join(f'"{name}": ...' for name in self.names) + "}"

    def _missing(self, text: Text) -> str:
        named = {entry.name for entry in entries(text, self.names)}
        absent = [name for name in self.names if name not in named]
        noun = self.key.removesuffix("s")
        return f"it gives no {noun} for {listed(tuple(absent), 'and')}" if absent else f"it gives no {self.key}"

    def _structured(self, text: Text) -> Iterator[Candidate[Numbers]]:
        for document in text.documents:
            measures = self._by_key(pairs(document.value)) or self._in_order(document.value)
            if measures is not None:
                value, problem = self._checked(measures)
                yield Candidate(value, "json", document.start, document.end, FINAL, problem)

    def _tagged(self, text: Text) -> Iterator[Candidate[Numbers]]:
        """Read `<response_1>7</response_1>`."""
        tags = list(_TAGGED.finditer(text.own))[-_TAGS:]
        measures = self._by_key([(tag[1], tag[2]) for tag in tags])
        if measures is not None:
            value, problem = self._checked(measures)
            yield Candidate(value, "marked", tags[0].start(), tags[-1].end(), FINAL, problem)

    def _by_key(self, named: Sequence[tuple[str, Any]]) -> dict[str, Measure] | None:
        """Return the numbers in fields that hold the names; None if a name is missing."""
        measures: dict[str, Measure] = {}
        for key, value in named:
            place = self._place(readable(key).replace("_", " ").lower().strip())
            measured = measure(readable(str(value)), self.words) if not isinstance(value, bool) else None
            if place is not None and measured:
                measures[self.names[place]] = measured
        return measures if len(measures) == len(self.names) else None

    def _in_order(self, value: Any) -> dict[str, Measure] | None:
        """Return a list of as many numbers as names, in the order that another list of the object gives them."""
        numbers = listed_numbers(value, len(self.names)) or ()
        measures = [Measure(number, None, False, 0) for number in numbers]
        lists = [inner for inner in value.values() if isinstance(inner, list)] if numbers else []
        named = [[self._place(readable(str(one)).lower().strip()) for one in inner] for inner in lists]
        orders = [[place for place in places if place is not None] for places in named]
        order = next((places for places in orders if sorted(places) == list(range(len(self.names)))), None)
        names = self.names if order is None else tuple(self.names[place] for place in order)
        return dict(zip(names, measures, strict=True)) if measures else None

    def _candidate(self, block: Block, rule: str, problem: str = "") -> Candidate[Numbers]:
        value, problem = (None, problem) if problem else self._checked(block.measures())
        return Candidate(value, rule, block.start, block.end, block.rank, problem)


def place_of(match: re.Match[str] | None) -> int | None:
    """Return the name that a match of `mentions` refers to."""
    return int((match.lastgroup or "n0")[1:]) if match else None
