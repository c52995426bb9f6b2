"""DnA-Eval's baselines: one overall score for each response (Li et al. 2024, arXiv:2405.15329, Section 4.1).

"Direct scoring" asks for the scores alone, "scoring with chain of thought" for an explanation first. The third
baseline, "chain of aspects", is a setting of DnA-Eval itself: there the judge forms the overall scores.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from pydantic import Field

from core.items import Item
from core.protocols import Judge, Protocol
from core.protocols.dna_eval import EACH_RESPONSE
from core.protocols.dna_eval.protocol import ScoringTask, ask_scores, aspect_text, start_scoring
from core.protocols.dna_eval.settings import ScoringSettings, settings_of_item
from core.protocols.dna_eval.verdicts import Judgement, conclude, orders_read, over_orders
from core.templates import Templates
from core.trace import Ask, Flow, Turn

NAME = "dna_baselines"


class Settings(ScoringSettings):
    """One ask for each judge and item; every default is the paper's direct scoring."""

    reasons: bool = False
    """Off: direct scoring. On: scoring with chain of thought, an explanation before the scores."""
    words: int = Field(default=150, ge=20, le=2000)
    """Maximum number of words of an explanation, as stated in the prompt."""


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Run one item: every judge scores the responses as a whole."""
    settings = settings_of_item(settings, item)
    tasks = start_scoring(item, settings, rng, templates)
    turns = yield [ask_baseline_scores(task, settings, judge) for task in tasks for judge in settings.judges]
    judgements = collect_judgements(turns, settings, len(item.responses))
    return conclude(judgements, settings, NAME)


def ask_baseline_scores(task: ScoringTask, settings: Settings, judge: Judge) -> Ask:
    """Ask for one overall score for each response."""
    aspects = "\n".join(f"- {aspect_text(settings, aspect.name)}" for aspect in settings.aspects)
    criteria = f"\n\nA good response does well in these aspects:\n{aspects}" if aspects else ""
    if settings.reasons:
        return ask_scores(task, judge, "reasoned", 0, reasoning=True, criteria=criteria, words=settings.words)
    return ask_scores(task, judge, "direct", 0, criteria=criteria)


def collect_judgements(turns: Sequence[Turn], settings: Settings, responses: int) -> list[Judgement]:
    """Return one judgement for each judge, with its means over all orders of the responses.

    `responses` is the number of responses of the item.
    """
    by_judge = {(turn.speaker, turn.shown): turn for turn in turns}
    orders = orders_read(turns, settings)
    return [
        over_orders([_judgement(judge.name, by_judge.get((judge.name, order)), responses) for order in orders])
        for judge in settings.judges
    ]


def reply_words(settings: Settings) -> int:
    """Return the words of a reply: an explanation, or a line of numbers."""
    return settings.words if settings.reasons else 6


def _judgement(judge: str, turn: Turn | None, responses: int) -> Judgement:
    reading = turn.reading if turn is not None and isinstance(turn.reading, dict) else None
    overalls = tuple(reading[number] for number in sorted(reading, key=int)) if reading else None
    problem = "has not finished" if turn is None else f"no scores: {turn.problem or 'nothing was read'}"
    return Judgement(judge, ({},) * responses, overalls, "" if overalls else problem)


PROTOCOL = Protocol(
    name=NAME,
    title="DnA-Eval's baselines",
    description="One overall score for each response: directly, or after an explanation (chain of thought).",
    paper="Li, Liu, Deng, Joty, Chen, Kan (2024), arXiv:2405.15329, Section 4.1",
    settings=Settings,
    flow=flow,
    judges="pair",
    comparison=lambda settings: "several",
    reply_words=reply_words,
    folder=Path(__file__).parent,
    examples=("dna_baselines",),
    optional_blanks=("context", "reference", "rule", "criteria", *EACH_RESPONSE),
    required_blanks=("responses",),
    view="pages.watch.parts.aspects",
)
