"""Replies of judges, as models write them, with the value that a careful person reads.

`corpus/first` was written before the parsers, `second` to `fifth` after them without a look at the rules, and the
others by somebody who knew the rules; `sixteenth` had no rule in view, and `seventeenth` has forms of many languages
that were known to be lost. `twentysecond` has lines of confidence, orders of scores, and lists with reasons, frames,
errors and cut JSON; `twentythird` and `twentyfourth` have the same kinds, written without a look at the rules.
`twentyfifth` and `twentysixth` have verdicts of somebody else and announced lines of a judged text; of the second one
no reply was read before the rules were written, and then 72 of 76 were right, 1 was invented and 3 were lost.
Of the 4,623 replies after `first`, each read on the day it was written before any cause was fixed, 3,828 were
right, 87 wrong (another value than the reply states), 240 invented (one if it states none), and 468 lost.
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
SETS = tuple(sorted(path.name for path in CORPUS.iterdir()))

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
