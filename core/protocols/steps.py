"""What debates and single judges about the first wrong step of a transcript share: its steps, and their numbers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.answers.number import Number
from core.errors import TiebreakError, UnreadableReply
from core.items import Criterion, Item
from core.labels import STEPS, Value
from core.protocols import Scales
from core.transcripts import FIRST_WRONG_STEP

# The scale of answers that are steps.
STEP_SCALES: Scales = {("answer", FIRST_WRONG_STEP): STEPS}
# The beginning of a step in the text of a transcript: further lines of a step are indented.
STEP = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
Steps = Sequence[tuple[int, str]]


def steps_of(item: Item) -> Steps:
    """Return (number, text) of the steps of the item's only response; raises TiebreakError if it has no transcript."""
    if len(item.responses) != 1 or item.responses[0].transcript is None:
        raise TiebreakError(f"Item {item.id} is not one response with a transcript, whose steps a judge could read.")
    steps = split_steps(item.responses[0].text)
    if not steps:
        raise TiebreakError(f"The transcript of item {item.id} has no steps.")
    return steps


def split_steps(text: str) -> Steps:
    """Return (number, text) of the steps in the text of a transcript; what was left out of it is in the text before."""
    starts = [*STEP.finditer(text)]
    ends = [*(match.start() for match in starts), len(text)][1:]
    return [(int(match[1]), text[match.start() : end].rstrip()) for match, end in zip(starts, ends, strict=True)]


@dataclass(frozen=True)
class StepNumber(Number):
    """The number of a step, or 0; an estimate simulates none and the last step."""

    last: int = 1

    def ends(self) -> tuple[float, float]:
        """Return none and the last step."""
        return 0, self.last


def step_in(item: Item) -> Callable[[float], Value]:
    """Return a function that returns a number as one of the item's steps, or 0; it raises UnreadableReply for others.

    A step that was left out of the prompt is none that a judge has read.
    """
    numbers = {0, *(number for number, _ in steps_of(item))}

    def value(number: float) -> Value:
        if number not in numbers:
            raise UnreadableReply(f"it names step {number:g}, which the transcript in its prompt does not have")
        return int(number)

    return value


def step_problem(criterion: Criterion | None, criteria: Sequence[Criterion]) -> str:
    """Return why a debate about steps cannot have these criteria; empty if it can."""
    own = criterion is None or criterion.name == FIRST_WRONG_STEP
    return "" if own and not criteria else f"a debate about steps has the only criterion {FIRST_WRONG_STEP!r}"
