"""One judge on the first step of a transcript that went wrong, as in Zhang et al. (2025, arXiv:2505.00212).

All at once: the whole transcript, and the number of the step. Step by step: the transcript up to each step in turn,
until one went wrong. Binary search: which half of the steps has it, and at the end whether the step that is left did.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from pydantic import Field

from core.answers.number import Number
from core.answers.option import Truth
from core.frozen import Frozen
from core.items import Item
from core.labels import STEPS, Value
from core.protocols import Judge
from core.protocols.prompt_parts import item_material
from core.protocols.single_judge import PAIR_PROTOCOL
from core.protocols.steps import Steps, steps_of
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Turn, Verdict
from core.transcripts import FIRST_WRONG_STEP
from core.verdicts import conclusion

STEP_NAME = "single-step"
# What a search concludes: the number of the step, 0 for none or None without one, and the reason.
Found = tuple[int | None, str]


class StepSettings(Frozen):
    """One judge on the steps of a transcript."""

    judge: Judge
    """The only judge."""
    way: Literal["all at once", "step by step", "binary search"] = "all at once"
    """All at once: one request. Step by step: one for each step, until one went wrong. Binary search: one for each
    halving of the steps, and one for the step that is left."""
    reasons: bool = True
    """Whether the judge explains itself before it answers."""
    words: int = Field(default=100, ge=20, le=2000)
    """Maximum number of words of the reasons, as stated in the prompt."""
    most_steps: int = Field(default=100, ge=1, le=10_000)
    """Steps that are asked about at most, step by step."""


def step_flow(item: Item, settings: StepSettings, rng: Random, templates: Templates) -> Flow:
    """Find the first step that went wrong; 0 if none did."""
    judge = _Judge(item, settings, templates, steps_of(item))
    value, reason = yield from {
        "all at once": judge.all_at_once,
        "step by step": judge.step_by_step,
        "binary search": judge.binary_search,
    }[settings.way]()
    opinion = conclusion(settings.judge.name, "answer", value, reason, FIRST_WRONG_STEP)
    outcome: Literal["agreed", "no_verdict"] = "no_verdict" if value is None else "agreed"
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(opinion,))


class _Judge:
    """The asks about one transcript."""

    def __init__(self, item: Item, settings: StepSettings, templates: Templates, steps: Steps) -> None:
        self.item, self.settings, self.templates, self.steps = item, settings, templates, steps
        self.name = settings.judge.name

    def all_at_once(self) -> Generator[Sequence[Ask], list[Turn], Found]:
        numbers = {number for number, _ in self.steps}
        (turn,) = yield [self._ask("all", Number(reasoning=self.settings.reasons), len(self.steps))]
        if not isinstance(turn.reading, int | float):
            return None, f"the step could not be read: {turn.problem}"
        if turn.reading not in {0, *numbers}:
            return None, f"{self.name} named step {turn.reading:g}, which the transcript in its prompt does not have"
        return int(turn.reading), f"{self.name} named {'no step' if not turn.reading else f'step {turn.reading:g}'}"

    def step_by_step(self) -> Generator[Sequence[Ask], list[Turn], Found]:
        asked = self.steps[: self.settings.most_steps]
        for place, (number, _) in enumerate(asked, 1):
            is_wrong, problem = yield from self._is_true("one", place, step=number)
            if is_wrong is None:
                return None, f"the answer on step {number} could not be read: {problem}"
            if is_wrong:
                return number, f"{self.name} found step {number} wrong, and none of the {place - 1} steps before it"
        if len(asked) < len(self.steps):
            return None, f"{self.name} found none of the first {len(asked)} steps wrong, and was not asked about more"
        return 0, f"{self.name} found none of the {len(asked)} steps wrong"

    def binary_search(self) -> Generator[Sequence[Ask], list[Turn], Found]:
        low, high = 0, len(self.steps) - 1
        while low < high:
            middle = (low + high) // 2
            (first, _), (last, _), (end, _) = self.steps[low], self.steps[middle], self.steps[high]
            limits = {"first": first, "last": last, "end": end}
            is_first, problem = yield from self._is_true("half", len(self.steps), **limits)
            if is_first is None:
                return None, f"the answer on the steps {first} to {end} could not be read: {problem}"
            low, high = (low, middle) if is_first else (middle + 1, high)
        number, _ = self.steps[low]
        is_wrong, problem = yield from self._is_true("one", low + 1, step=number)
        if is_wrong is None:
            return None, f"the answer on step {number} could not be read: {problem}"
        return (
            (number, f"{self.name} found step {number} by halves") if is_wrong else (0, f"{self.name} found none wrong")
        )

    def _is_true(
        self, name: str, shown: int, **blanks: Value
    ) -> Generator[Sequence[Ask], list[Turn], tuple[bool | None, str]]:
        answer = Truth(noun="statement", reasoning=self.settings.reasons)
        (turn,) = yield [self._ask(name, answer, shown, **blanks)]
        return (turn.reading if isinstance(turn.reading, bool) else None), turn.problem

    def _ask(self, name: str, answer: Number | Truth, shown: int, **blanks: Value) -> Ask:
        """Ask about the first `shown` steps."""
        text = self.item.responses[0].text if shown == len(self.steps) else "\n".join(t for _, t in self.steps[:shown])
        prompt = render(
            self.templates,
            name,
            **item_material(self.item, self.templates, name),
            response=Material("Transcript", text),
            form=render(self.templates, "reasons", words=self.settings.words) if self.settings.reasons else "",
            **blanks,
        )
        judge = self.settings.judge
        return Ask(speaker=judge.name, step=name, round=0, spec=judge.spec, prompt=prompt, answer=answer)


def reply_words(settings: StepSettings) -> int:
    """Return the words of a reply: the reasons, or about three for an answer alone."""
    return settings.words if settings.reasons else 3


PROTOCOL = replace(
    PAIR_PROTOCOL,
    name=STEP_NAME,
    title="Single judge, first wrong step",
    description="One judge names the first step of a transcript that went wrong: at once, step by step, or by halves.",
    paper="Zhang et al. (2025), arXiv:2505.00212",
    settings=StepSettings,
    flow=step_flow,
    judges="answer",
    scales=lambda settings: {("answer", FIRST_WRONG_STEP): STEPS},
    reply_words=reply_words,
    prompt_folder="prompts/steps",
    examples=("single-step",),
    sample=True,
    view="pages.watch.parts.debate",
    required_blanks=("response",),
    form="pages.setup.parts.default_form:render",
)
