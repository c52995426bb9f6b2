"""Replies of judges, as models write them, with the value that a careful person reads.

`corpus/first` was written before the parsers, `second` to `fifth` after them without a look at the rules, and the
others by somebody who knew the rules; `sixteenth` had no rule in view, and `seventeenth` has forms of many languages
that were known to be lost. `twentysecond` has lines of confidence, orders of scores, and lists with reasons, frames,
errors and cut JSON; `twentythird` and `twentyfourth` have the same kinds, written without a look at the rules.
`twentyfifth` and `twentysixth` have verdicts of somebody else and announced lines of a judged text; of the second one
no reply was read before the rules were written, and then 72 of 76 were right, 1 was invented and 3 were lost.
`MEASURED` has what the parsers read of a set on the day it was written, before any cause was fixed.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from core.answers.answer import Answer, Passage, Reading
from core.answers.choice import Choice
from core.answers.lists import Aspects, Claims
from core.answers.number import Number, Rating
from core.answers.option import Option, Truth
from core.answers.scores import Scores, Weights
from core.errors import UnreadableReply
from tests.paths import load_yaml

CORPUS = Path(__file__).with_name("corpus")
MEASURED = {
    "second": {"replies": 558, "right": 508, "wrong": 6, "invented": 7, "lost": 37},
    "third": {"replies": 511, "right": 462, "wrong": 7, "invented": 14, "lost": 28},
    "fourth": {"replies": 325, "right": 298, "wrong": 3, "invented": 12, "lost": 12},
    "fifth": {"replies": 519, "right": 502, "wrong": 2, "invented": 1, "lost": 14},
    "sixth": {"replies": 209, "right": 183, "wrong": 3, "invented": 0, "lost": 23},
    "seventh": {"replies": 214, "right": 193, "wrong": 2, "invented": 1, "lost": 18},
    "eighth": {"replies": 155, "right": 128, "wrong": 0, "invented": 5, "lost": 22},
    "ninth": {"replies": 131, "right": 120, "wrong": 0, "invented": 0, "lost": 11},
    "tenth": {"replies": 107, "right": 95, "wrong": 0, "invented": 1, "lost": 11},
    "eleventh": {"replies": 98, "right": 79, "wrong": 1, "invented": 1, "lost": 17},
    "twelfth": {"replies": 138, "right": 74, "wrong": 0, "invented": 49, "lost": 15},
    "thirteenth": {"replies": 129, "right": 103, "wrong": 0, "invented": 1, "lost": 25},
    "fourteenth": {"replies": 62, "right": 56, "wrong": 0, "invented": 3, "lost": 3},
    "fifteenth": {"replies": 56, "right": 44, "wrong": 0, "invented": 6, "lost": 6},
    "sixteenth": {"replies": 112, "right": 109, "wrong": 1, "invented": 0, "lost": 2},
    "seventeenth": {"replies": 258, "right": 133, "wrong": 0, "invented": 0, "lost": 125},
    "eighteenth": {"replies": 104, "right": 82, "wrong": 0, "invented": 1, "lost": 21},
    "nineteenth": {"replies": 113, "right": 102, "wrong": 0, "invented": 5, "lost": 6},
    "twentieth": {"replies": 101, "right": 84, "wrong": 0, "invented": 3, "lost": 14},
    "twentyfirst": {"replies": 112, "right": 107, "wrong": 0, "invented": 1, "lost": 4},
    "twentysecond": {"replies": 196, "right": 124, "wrong": 28, "invented": 25, "lost": 19},
    "twentythird": {"replies": 148, "right": 100, "wrong": 19, "invented": 13, "lost": 16},
    "twentyfourth": {"replies": 109, "right": 72, "wrong": 13, "invented": 16, "lost": 8},
    "twentyfifth": {"replies": 82, "right": 35, "wrong": 1, "invented": 40, "lost": 6},
    "twentysixth": {"replies": 76, "right": 35, "wrong": 1, "invented": 35, "lost": 5},
}
"""Wrong: another value than the reply states. Invented: one if it states none. Lost: none if it states one."""
SETS = ("first", *MEASURED)

ANSWERS: dict[str, dict[str, Answer[Any]]] = {
    "choice": {
        "default": Choice(),
        "submission": Choice(noun="Submission"),
        "assistant": Choice(noun="Assistant"),
        "letters": Choice(noun="Critique", letters=True),
        "no_tie": Choice(neither=False),
        "three": Choice(count=3),
    },
    "rating": {
        "default": Rating(levels=(1, 2, 3, 4, 5), names=("Engagingness",)),
        "three": Rating(levels=(1, 2, 3)),
        "seven": Rating(levels=(1, 2, 3, 4, 5, 6, 7)),
        "ten": Rating(levels=tuple(range(1, 11)), label="Score"),
        "hundred": Rating(low=0, high=100),
        "half": Rating(low=1, high=5, step=0.5),
        "words": Rating(levels=("poor", "fair", "good")),
    },
    "scores": {
        "default": Scores(names=("Assistant 1", "Assistant 2")),
        "responses": Scores(),
        "three": Scores(names=("Response 1", "Response 2", "Response 3")),
        "criteria": Scores(names=("Accuracy", "Fluency", "Relevance"), high=5),
    },
    "option": {"default": Option(), "five": Option(letters="ABCDE")},
    "number": {"default": Number()},
    "truth": {"default": Truth()},
    "claims": {"default": Claims()},
    "aspects": {"default": Aspects(count=3), "two": Aspects(count=2, definitions=True), "five": Aspects(count=5)},
    "weights": {
        "default": Weights(names=("helpfulness", "relevance", "accuracy")),
        "two": Weights(names=("Factual accuracy", "Clarity of style")),
        "questions": Weights(names=("Is it right?", "Is it kind?", "Is it short?")),
        "chinese": Weights(names=("准确性", "有用性", "相关性")),
        "german": Weights(names=("Genauigkeit", "Klarheit", "Tiefe")),
    },
    "passage": {"default": Passage()},
}


@dataclass(frozen=True)
class Case:
    """A reply, how it was asked for, and the value as the corpus writes it; None if it states none."""

    kind: str
    declaration: str
    group: str
    reply: str
    expected: Any

    @property
    def answer(self) -> Answer[Any]:
        return ANSWERS[self.kind][self.declaration]

    @cached_property
    def _reading(self) -> Reading[Any] | None:
        try:
            return self.answer.parse(self.reply)
        except UnreadableReply:
            return None

    def reading(self) -> Reading[Any] | None:
        """What the parser reads; None if it refuses. It reads once."""
        return self._reading

    def outcome(self) -> str:
        """right, wrong, invented or lost."""
        reading = self.reading()
        if reading is None:
            return "right" if self.expected is None else "lost"
        if self.expected is None:
            return "invented"
        return "right" if _same(self, reading.value) else "wrong"


@cache
def cases(name: str) -> list[Case]:
    """The replies of a set."""
    return [
        Case(file.stem, *(declaration or ["default"]), group, reply, expected)
        for file in sorted((CORPUS / name).glob("*.yaml"))
        for group, rows in load_yaml(file).items()
        for expected, reply, *declaration in rows
    ]


def _same(case: Case, value: Any) -> bool:
    """Whether a value is the one that the corpus gives, which writes names and pairs as lists."""
    if case.kind in ("scores", "weights"):
        return all(abs(one - number) < 0.01 for one, number in zip(value.values(), case.expected, strict=True))
    if case.kind == "claims":
        return list(value) == case.expected
    if case.kind == "aspects":
        return [[name, definition] if definition else name for name, definition in value.items()] == case.expected
    if isinstance(value, bool) or isinstance(case.expected, bool):
        return value is case.expected
    return bool(value == case.expected)
