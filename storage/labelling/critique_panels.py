"""Critiques that are compared or rated as a whole, and answers that were refined by them (MetaCritique's baselines).

The targets are those of the judges: `core.protocols.critique_baselines`. Authors are hidden. A value
names the text and not the place where it is shown: `storage.labelling.response_order`.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session

from core import critique_ratings
from core.critiques import Critique, hypothesis_critiques
from core.errors import TiebreakError
from core.items import Item
from core.labels import Target
from core.protocols.critique_baselines.protocol import CritiqueAsk, list_asks, pair_name
from core.protocols.registry import PROTOCOLS
from core.trace import TurnCompleted
from storage import aius, runs, traces
from storage.labelling.blocks import above, better_options, block, target_json
from storage.labelling.levels import level_options
from storage.labelling.response_order import Order
from storage.labelling.work import Json, Task, Work
from storage.operations import reading_for
from storage.read_guard import TASK
from storage.traces import Trace


def content(session: Session, work: Work, task: Task, item: Item, order: Order) -> Json:
    """Return panel, question, texts and targets of a rating or a comparison."""
    critiques = aius.current_state(session, work.study.id, item.id).critiques
    if work.name == "critique_ratings":
        return _rating(work, task, item, critiques)
    pair = find_pair(critiques, task.target.part)
    if work.name == "critiques":
        texts = [critique.text for critique in pair]
        return {
            **_comparison(work, task, "critique", texts, order),
            "question": "Which critique is better?",
            "above": _criticised(work, task, item, pair[0]),
        }
    refined = refined_answers(session, work.study.id, task.target, item)
    return {
        **_comparison(work, task, "answer", [refined.get(critique.id, "") for critique in pair], order),
        "question": "Which answer is better?",
        "above": above(work, task, item),
    }


def find_pair(critiques: Sequence[Critique], part: str) -> tuple[Critique, Critique]:
    """Return the critiques of a pair by the part of its target; raises TiebreakError if one is missing."""
    for first, second in permutations(hypothesis_critiques(critiques), 2):
        if pair_name(first, second) == part:
            return first, second
    raise TiebreakError("A critique of this pair is not in the study any more.")


@reading_for(TASK)
def refined_answers(session: Session, study_id: int, target: Target, item: Item) -> dict[str, str]:
    """Return critique -> the answer refined by it, from the newest run that compared them."""
    for trace in traces.of_target(session, study_id, target):
        asks = [ask for ask in asks_of(session, trace, item) if ask.step == "refine" and ask.turn is not None]
        if asks:
            return {ask.critiques[0].id: str(ask.turn.reading or "") for ask in asks if ask.turn is not None}
    return {}


def asks_of(session: Session, trace: Trace, item: Item) -> list[CritiqueAsk]:
    """Return the asks of a trace; an imported one may have invalid settings, and has none."""
    turns = {event.ask: event.turn for _, event in traces.events(session, trace.id) if isinstance(event, TurnCompleted)}
    try:
        settings: Any = PROTOCOLS[trace.protocol].settings.model_validate(runs.get(session, trace.run_id).settings)
        return list_asks(item, settings, turns)
    except (KeyError, AttributeError, ValidationError, TiebreakError):
        return []


def _comparison(work: Work, task: Task, noun: str, texts: Sequence[str], order: Order) -> Json:
    """Return two texts in an order. The id of a block has the text's own number, its title the place."""
    title = noun.capitalize()
    columns = [
        block(f"{noun}-{number}", f"{title} {place}", texts[number - 1]) | {"number": place}
        for place, number in enumerate(order, 1)
    ]
    targets = [target_json(work, task.target) | {"options": better_options(title, order)}]
    return {"panel": "critiques", "criterion": None, "columns": columns, "targets": targets}


def _rating(work: Work, task: Task, item: Item, critiques: Sequence[Critique]) -> Json:
    critique = next((critique for critique in hypothesis_critiques(critiques) if critique.id == task.target.part), None)
    if critique is None:
        raise TiebreakError("This critique is not in the study any more.")
    criterion = critique_ratings.CRITIQUE
    options = level_options(critique_ratings.SEVEN_POINT_SCALE, criterion)
    return {
        "panel": "scores",
        "question": "How good is the critique, 1 to 7?",
        "criterion": {"name": "critique", "definition": criterion.definition, "rubric": list(criterion.rubric)},
        "above": _criticised(work, task, item, critique),
        "columns": [block("critique", "Critique", critique.text)],
        "targets": [target_json(work, task.target) | {"options": options}],
    }


def _criticised(work: Work, task: Task, item: Item, critique: Critique) -> list[Json]:
    """Return the question and the answer of a critique; the reference answer is collapsed."""
    answer = item.responses[critique.of - 1].text if critique.of <= len(item.responses) else ""
    question, reference = above(work, task, item, reference=False), above(work, task, item)
    return [*question, block(f"response-{critique.of}", "Answer", answer), *reference[len(question) :]]
