"""What DnA-Eval is measured against: one overall score for each response, with or without reasons (Section 4.1).

"Direct scoring" asks for the scores alone, "scoring with chain of thought" for an explanation first. The third
baseline, "chain of aspects", is a setting of DnA-Eval itself: there the judge adds up instead of us.
"""

from collections.abc import Sequence
from random import Random

from pydantic import Field

from core.items import Item
from core.labels import Value
from core.protocols.dna_eval.protocol import Task, asked_scores, criterion_of, opened, written
from core.protocols.dna_eval.settings import Scoring
from core.protocols.dna_eval.verdicts import Judgement, conclude
from core.protocols.scaleeval.protocol import Judge
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn

NAME = "dna_baselines"


class Settings(Scoring):
    """One ask for each judge and item; every default is the paper's direct scoring."""

    reasons: bool = False
    """Off: direct scoring. On: scoring with chain of thought, an explanation before the scores."""
    words: int = Field(default=150, ge=20, le=2000)
    """The limit on an explanation that the prompt names."""


def flow(item: Item, settings: Settings, chance: Random, templates: Templates) -> Flow:
    """One item: every judge scores the responses as a whole."""
    task = opened(item, settings, chance, templates)
    said = yield [scoring(task, settings, judge) for judge in settings.judges]
    judged = judgements(said, settings, len(item.responses))
    return conclude(judged, criterion_of(settings.criterion), NAME)


def scoring(task: Task, settings: Settings, judge: Judge) -> Ask:
    """One overall score for each response."""
    listed = "\n".join(f"- {written(settings, aspect.name)}" for aspect in settings.aspects)
    criteria = render(task.templates, "criteria", aspects=listed) + "\n" if listed else ""
    if settings.reasons:
        return asked_scores(task, judge, "reasoned", 0, criteria=criteria, words=settings.words)
    return asked_scores(task, judge, "direct", 0, criteria=criteria)


def judgements(said: Sequence[Turn], settings: Settings, responses: int) -> list[Judgement]:
    """What the turns come to, judge by judge."""
    told = {turn.speaker: turn for turn in said}
    return [_judgement(judge.name, told.get(judge.name), responses) for judge in settings.judges]


def longest(settings: Settings, ask: Ask) -> Value:
    """One ask, whatever is said."""
    return {str(number): float(settings.highest) for number in ask.shown}


def words(settings: Settings) -> int:
    """A line of numbers, and perhaps an explanation."""
    return settings.words if settings.reasons else 6


def _judgement(judge: str, turn: Turn | None, responses: int) -> Judgement:
    told = turn.reading if turn is not None and isinstance(turn.reading, dict) else None
    overalls = tuple(told[number] for number in sorted(told, key=int)) if told else None
    problem = "has not finished" if turn is None else f"no scores: {turn.problem or 'nothing was read'}"
    return Judgement(judge, (), None, "", ({},) * responses, overalls, "" if overalls else problem)
