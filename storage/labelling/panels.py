"""The content of a task by its queue: texts, targets and their options, and the check of a value."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy.orm import Session

from core.critique_ratings import SEVEN_POINT_SCALE
from core.errors import TiebreakError
from core.formats.study_records import ScaleRecord
from core.items import Criterion, Item
from core.labels import Kind, Scale, Target, Value, is_match
from core.protocols.dna_eval.settings import QUALITIES
from storage.labelling import critique_panels
from storage.labelling.blocks import above, better_options, level_options, response_blocks, target_json
from storage.labelling.context import Json, Refused, Task, Work, target_name
from storage.labelling.response_order import Order
from storage.runs import aspects
from storage.studies import studies
from storage.studies.studies import Scales

OWN_SCALES: Mapping[Kind, Scale] = {"aspect_quality": aspects.QUALITY, "likert": SEVEN_POINT_SCALE}
"""Scales that the first label of a study declares."""


def task_content(
    session: Session, work: Work, task: Task, item: Item, criterion: Criterion | None, order: Order = ()
) -> Json:
    """Return panel, question, texts and targets of a task; no opinions of judges or other annotators.

    `order` is that of the texts that are side by side; the item's if it is empty.
    """
    match work.name:
        case "aius":
            return critique_panels.aiu_content(session, work, task, item)
        case "critiques" | "critique_ratings" | "refined_answers":
            return critique_panels.content(session, work, task, item, order or (1, 2))
        case "disagreements":
            return _preference(work, task, item, order)
        case "weights":
            return _weights(session, work, task, item)
        case _:
            return _score(session, work, task, item, criterion, order)


def targets_of(session: Session, work: Work, task: Task) -> list[Target]:
    """Return the targets of a task."""
    match work.name:
        case "aius":
            return critique_panels.targets_of(session, work, task)
        case "weights":
            return [task.target, *(aspects.quality_target(task.target, quality) for quality in QUALITIES)]
        case _:
            return [task.target]


def find_target(session: Session, work: Work, task: Task, name: str) -> Target:
    """Return the target of a task that has an opaque id; raises Refused if there is none."""
    for target in targets_of(session, work, task):
        if target_name(work, target) == name:
            return target
    if work.name == "aius":
        raise Refused("rejected", "This AIU was changed in the meantime. Review it again.")
    raise Refused("rejected", "This answer belongs to another item.")


def is_required(work: Work, task: Task, target: Target) -> bool:
    """Return whether a task is finished only with a label of this target; the overlap counts these labels."""
    return target.kind in critique_panels.QUESTIONS if work.name == "aius" else target == task.target


def checked_value(session: Session, work: Work, target: Target, value: Any, declared: Scales) -> Value:
    """Return a value as it is stored; raises Refused or TiebreakError for one that is not on the scale.

    `declared` has the declared scale of the target, if there is one.
    """
    if value is None:
        raise Refused("rejected", "Choose an answer first.")
    if target.kind == "aspect_weights":
        return checked_weights(aspects.of_target(session, work.study.id, target), value)
    if isinstance(value, dict | list):
        raise Refused("rejected", "This value is not on the scale.")
    scale = declared.get((target.kind, target.criterion)) or studies.DEFAULT_SCALES.get(target.kind)
    own_scale = OWN_SCALES.get(target.kind)
    if own_scale and scale is None:
        scale = own_scale
        record = ScaleRecord(kind=target.kind, criterion=target.criterion, scale=scale)
        studies.declare_scale(session, work.study.id, record)
        declared = {(target.kind, target.criterion): scale}
    studies.check_value(declared, target.kind, target.criterion, value)
    categories = scale.categories if scale else ()
    return next((category for category in categories if is_match(value, category)), cast(Value, value))  # 1.0 is 1


def checked_weights(names: Sequence[str], value: Any) -> dict[str, float]:
    """Return weights as they are stored; raises TiebreakError if they are not percentages that sum to 100."""
    wrong = TiebreakError("Weights are percentages of all aspects that sum to 100.")
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise wrong
    if any(isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0 for weight in value.values()):
        raise wrong
    if not abs(sum(value.values()) - 100) <= 0.01:  # NaN is refused too
        raise wrong
    return {name: float(value[name]) for name in names}


def _preference(work: Work, task: Task, item: Item, order: Order) -> Json:
    on = f" on {task.target.criterion}" if task.target.criterion else ""
    return {
        "panel": "choice",
        "question": f"Which response is better{on}?",
        "above": above(work, task, item),
        "columns": response_blocks(work, task, item, order),
        "targets": [target_json(work, task.target) | {"options": better_options("Response", order or (1, 2))}],
    }


def _score(session: Session, work: Work, task: Task, item: Item, criterion: Criterion | None, order: Order) -> Json:
    target = task.target
    scale = studies.scale(session, work.study.id, target.kind, target.criterion) or Scale(level="interval")
    is_answer = target.kind == "answer"
    field = {"number": _range(scale)} if _is_typed(scale) else {"options": level_options(scale, criterion)}
    columns = response_blocks(work, task, item, order)
    if target.part.isdecimal():
        columns = [columns[int(target.part) - 1]]
    return {
        "panel": "scores",
        "question": "What is the right answer?" if is_answer else _score_question(target, scale),
        "above": above(work, task, item, reference=not is_answer),
        "columns": columns,
        "targets": [target_json(work, target) | field],
    }


def _score_question(target: Target, scale: Scale) -> str:
    ends = f", {scale.low:g} to {scale.high:g}" if scale.low is not None and scale.high is not None else ""
    return f"Which score for {target.criterion}{ends}?" if target.criterion else f"Which score{ends}?"


def _is_typed(scale: Scale) -> bool:
    """Return whether the value is typed as a number: more than ten values have no keys."""
    return not scale.categories or len(scale.categories) > 10


def _range(scale: Scale) -> Json:
    numbers = [value for value in scale.categories if isinstance(value, int | float)]
    return {"low": min(numbers), "high": max(numbers)} if numbers else {"low": scale.low, "high": scale.high}


def _weights(session: Session, work: Work, task: Task, item: Item) -> Json:
    """Return the panel of weights, which depend on the question only: the responses are part of the reveal."""
    names = aspects.of_target(session, work.study.id, task.target)
    definitions = aspects.definitions(session, work.study.id, task.target)
    listed = [
        {"letter": chr(ord("A") + place % 26), "name": name, "definition": definitions.get(name, "")}
        for place, name in enumerate(names)
    ]
    ratings = [
        {"key": str(n), "value": n, "label": str(n), "short": str(n), "colour": "level"}
        for n in aspects.QUALITY.categories
    ]
    qualities = [
        target_json(work, aspects.quality_target(task.target, quality))
        | {"group": "quality", "required": False, "question": quality, "options": ratings}
        for quality in QUALITIES
    ]
    return {
        "panel": "weights",
        "question": "How important is each aspect for this question?",
        "above": above(work, task, item, reference=False),
        "columns": [],
        "targets": [target_json(work, task.target) | {"group": "weights", "aspects": listed}, *qualities],
    }
