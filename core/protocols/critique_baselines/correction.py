"""RealCritic (Tang et al. 2025, arXiv:2501.14492): a critique is as good as the correction that it leads to.

A critic criticises a solution and corrects it in the same reply: a solution of the item (cross-critique) or its own,
written before (self-critique). Each further round criticises the corrected solution again (iterative critique). The
final answers before and after are read, or compared with the reference answer by a grader.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from core.answers.answer import Answer, Passage, spoken_text
from core.answers.number import Number
from core.answers.option import Option, Truth
from core.critiques import hypothesis_critiques
from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import Item
from core.labels import Opinion, Scale, Value
from core.protocols import Judge, Protocol, Scales
from core.protocols.prompt_parts import item_material
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Turn, Verdict
from core.verdicts import conclusion

NAME = "critique-correction"
RIGHT, WRONG = "right", "wrong"
# The part of the grader's opinion of the item's response; others are called "round 1" and so on.
BEFORE = "before"
# A solution, its final answer, and why it has none.
Solution = tuple[str, Value | None, str]


class Settings(Frozen):
    """A critic, the solutions that it corrects, and what decides whether an answer is right."""

    critic: Judge
    """The model that criticises and corrects. With critiques of the item, its name is their author."""
    solution: Literal["of the item", "of the critic"] = "of the item"
    """Whose solution is criticised: the item's one response (cross-critique), or one that the critic writes first
    (self-critique)."""
    critique: Literal["with the correction", "of the item"] = "with the correction"
    """"with the correction": the critic writes both in one reply, as in the paper. "of the item": it corrects the
    response by the item's critique whose author has the critic's name, which MetaCritique can evaluate too."""
    rounds: int = Field(default=1, ge=1, le=20)
    """How often the critic criticises and corrects: more than once is iterative critique."""
    verdict: Literal["option", "number", "graded"] = "number"
    """The form of a final answer: the letter of an option, a number, or any text, which the grader compares with the
    reference answer of the item."""
    letters: str = Field(default="ABCD", pattern=r"^[A-Z]{2,26}$")
    """The options, one letter each."""
    grader: Judge | None = None
    """The model that decides whether a solution reaches the reference answer; for the form "graded"."""
    edited_aius: bool | None = None
    """Whether the run reads the current critiques, with those adopted and edited before its start. New runs do."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (self.verdict == "graded") != (self.grader is not None):
            raise ValueError('a grader belongs to the form "graded", and to no other')
        if self.critique == "of the item" and (self.solution != "of the item" or self.rounds > 1):
            raise ValueError("critiques of the item are of its own response, and there is one round")
        return self

    @property
    def answer(self) -> Answer[Any]:
        """The answer type of a solution."""
        match self.verdict:
            case "option":
                return Option(letters=self.letters)
            case "number":
                return Number()
        return Passage(noun="solution")

    @property
    def scale(self) -> Scale:
        """The values of a verdict."""
        if self.verdict == "number":
            return Scale(level="interval")
        return Scale(level="nominal", categories=(RIGHT, WRONG) if self.grader else tuple(self.letters))


def correction_flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Yield the critic's own solution, if that is criticised, then one critique with a correction for each round."""
    solutions: list[Solution] = []
    if settings.solution == "of the critic":
        (solved,) = yield [_ask(item, settings, "solve", 0, templates)]
        solutions.append(_solution(solved))
    else:
        solutions.append(_given(item))
    for number in range(1, settings.rounds + 1):
        if not solutions[-1][0]:
            break
        step = "refine" if settings.critique == "of the item" else "correct" if number == 1 else "reconsider"
        values = {"response": Material("Solution", solutions[-1][0])}
        if step == "refine":
            values["critique"] = Material("Critique", _critique_text(item, settings.critic.name))
        (corrected,) = yield [_ask(item, settings, step, number, templates, **values)]
        solutions.append(_solution(corrected))
    if settings.grader is not None:
        solutions = yield from _graded(item, settings, solutions, templates)
    return _conclude(solutions, settings)


def _given(item: Item) -> Solution:
    """Return the item's response, whose answer is not read here; raises TiebreakError for several."""
    if len(item.responses) != 1:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; one solution is corrected.")
    text = item.responses[0].text
    return text, text, ""


def _solution(turn: Turn) -> Solution:
    """Return the text of a reply, its final answer, and why there is none."""
    return spoken_text(turn.reply), turn.reading, turn.problem


def _critique_text(item: Item, author: str) -> str:
    for critique in hypothesis_critiques(item.critiques):
        if critique.author == author:
            return critique.text
    raise TiebreakError(f"Item {item.id} has no critique by {author}.")


def _graded(item: Item, settings: Settings, solutions: Sequence[Solution], templates: Templates) -> Any:
    """Ask the grader about each solution; returns them with "right" or "wrong" as their values."""
    if not item.reference:
        raise TiebreakError(f"Item {item.id} has no reference answer; the grader compares with it.")
    readable = [place for place, (_, value, _) in enumerate(solutions) if value is not None]
    asks = [
        _ask(item, settings, "grade", place, templates, response=Material("Solution", solutions[place][0]))
        for place in readable
    ]
    turns: list[Turn] = (yield asks) if asks else []
    graded = list(solutions)
    for place, turn in zip(readable, turns, strict=True):
        value = None if turn.reading is None else RIGHT if turn.reading else WRONG
        graded[place] = (solutions[place][0], value, turn.problem)
    return graded


def _ask(item: Item, settings: Settings, step: str, number: int, templates: Templates, **values: Material) -> Ask:
    judge = settings.grader if step == "grade" and settings.grader else settings.critic
    return Ask(
        speaker=judge.name,
        step=step,
        round=number,
        spec=judge.spec,
        prompt=render(templates, step, **item_material(item, templates, step), **values),
        answer=Truth() if step == "grade" else settings.answer,
    )


def _conclude(solutions: Sequence[Solution], settings: Settings) -> Verdict:
    """Return the critic's answers: the "first" before, if it is its own, one for each round, and the verdict.

    The item's response is no opinion of the critic: the grader has one about it, otherwise its answer can be read.
    """
    name = settings.critic.name
    opinions = []
    if settings.solution == "of the critic":
        opinions.append(_opinion(name, "first", "", solutions[0]))
    elif settings.grader is not None:
        opinions.append(_opinion(settings.grader.name, "last", BEFORE, solutions[0]))
    opinions += [_opinion(name, "last", f"round {n}", one) for n, one in enumerate(solutions[1:], 1)]
    _, value, problem = solutions[-1]
    if len(solutions) <= settings.rounds:  # an empty reply ended the rounds
        value = None
    reason = f"after round {settings.rounds}" if value is not None else problem or "gave no answer"
    opinions.append(conclusion(name, "answer", value, reason, ""))
    outcome: Literal["agreed", "no_verdict"] = "no_verdict" if value is None else "agreed"
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=tuple(opinions))


def _opinion(judge: str, stage: Literal["first", "last"], part: str, solution: Solution) -> Opinion:
    _, value, problem = solution
    problem = "" if value is not None else problem or "gave no answer"
    return Opinion(kind="answer", judge=judge, stage=stage, value=value, part=part, problem=problem)


def scales(settings: Settings) -> Scales:
    """Return the scale of the answers."""
    return {("answer", ""): settings.scale}


PROTOCOL = Protocol(
    name=NAME,
    title="Critique and correction",
    description="A critic criticises a solution and corrects it; the critique is as good as the correction is right.",
    paper="Tang et al. (2025), arXiv:2501.14492",
    settings=Settings,
    flow=correction_flow,
    judges="answer",
    reply_words=lambda settings: 300,
    folder=Path(__file__).parent,
    prompt_folder="prompts/correction",
    optional_blanks=("context",),
    required_blanks=("response",),
    scales=scales,
)
