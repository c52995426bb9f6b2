"""The content of a task by the kind of its main target: texts, targets and their options, and the check of a value."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from core.formats.records import ScaleRecord
from core.items import Criterion, Item, Response
from core.labels import Scale, Target, Value
from core.problems import Problem
from core.protocols.dna_eval.settings import QUALITIES
from storage import aspects, studies
from storage.labelling.work import Json, Refused, Task, Work, target_name, task_name

LONG = 400
"""A context of more characters is folded."""
LONGEST_LABEL = 90
"""Characters of a rubric line beside its key."""
PREFERENCES = (
    {"key": "1", "value": 1, "label": "Response 1 is better", "short": "1", "colour": "response-1"},
    {"key": "2", "value": 2, "label": "Response 2 is better", "short": "2", "colour": "response-2"},
    {"key": "0", "value": 0, "label": "Neither is better", "short": "tie", "colour": "tie"},
)


def task_content(session: Session, work: Work, task: Task, item: Item, criterion: Criterion | None) -> Json:
    """Return panel, question, texts and targets of a task; nothing that a judge or another annotator said."""
    target = task.target
    match target.kind:
        case "preference":
            on = f" on {target.criterion}" if target.criterion else ""
            return {
                "panel": "choice",
                "question": f"Which response is better{on}?",
                "above": above(work, task, item),
                "columns": response_blocks(work, task, item),
                "targets": [{**_target(work, task, 0, "preference"), "options": [*PREFERENCES]}],
            }
        case "aspect_weights":
            return _weights(session, work, task, item)
        case _:
            return _score(session, work, task, item, criterion)


def above(work: Work, task: Task, item: Item, *, reference: bool = True) -> list[Json]:
    """Return the blocks above the responses: context, question and reference."""
    blocks = []
    if item.context:
        blocks.append({**_block("context", "Context", item.context), "fold": len(item.context) > LONG})
    question = _block("question", "Question", item.prompt)
    blocks.append(question | _image(work, task, "question", item.image))
    if item.reference and reference:
        blocks.append({**_block("reference", "Reference answer", item.reference), "fold": True})
    return blocks


def response_blocks(work: Work, task: Task, item: Item) -> list[Json]:
    """Return a block for each response."""
    only = len(item.responses) == 1
    return [_response(work, task, number, response, only) for number, response in enumerate(item.responses, 1)]


def block_image(item: Item, block: str) -> str | None:
    """Return the path or URL of the image of a block; None where it has none."""
    images = {"question": item.image} | {f"response-{n}": one.image for n, one in enumerate(item.responses, 1)}
    return images.get(block)


def target_of_part(task: Task, part: int) -> Target:
    """Return a target of a task by its number; raises Refused where there is none."""
    if part == 0:
        return task.target
    if task.target.kind == "aspect_weights" and part <= len(QUALITIES):
        return aspects.quality_target(task.target, QUALITIES[part - 1])
    raise Refused("rejected", "This answer belongs to another item.")


def part_numbers(task: Task) -> range:
    """Return the numbers of the targets of a task."""
    return range(1 + len(QUALITIES)) if task.target.kind == "aspect_weights" else range(1)


def checked_value(session: Session, work: Work, target: Target, value: Any) -> Value:
    """Return a value as it is stored; raises Refused or Problem for one that is not on the scale."""
    if value is None:
        raise Refused("rejected", "Choose an answer first.")
    if target.kind == "aspect_weights":
        return _checked_weights(aspects.of_target(session, work.study.id, target), value)
    if isinstance(value, dict | list):
        raise Refused("rejected", "This value is not on the scale.")
    if target.kind == "aspect_quality" and studies.scale(session, work.study.id, target.kind, target.criterion) is None:
        record = ScaleRecord(kind=target.kind, criterion=target.criterion, scale=aspects.QUALITY)
        studies.declare_scale(session, work.study.id, record)
    studies.check_value(studies.scales(session, work.study.id), target.kind, target.criterion, value)
    return cast(Value, value)


def _checked_weights(names: Sequence[str], value: Any) -> dict[str, float]:
    wrong = Problem("Weights are percentages of all aspects that sum to 100.")
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise wrong
    if any(isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0 for weight in value.values()):
        raise wrong
    if abs(sum(value.values()) - 100) > 0.01:
        raise wrong
    return {name: float(value[name]) for name in names}


def _score(session: Session, work: Work, task: Task, item: Item, criterion: Criterion | None) -> Json:
    target = task.target
    scale = studies.scale(session, work.study.id, target.kind, target.criterion) or Scale(level="interval")
    is_answer = target.kind == "answer"
    field = {"number": _range(scale)} if _is_typed(scale) else {"options": _level_options(scale, criterion)}
    columns = response_blocks(work, task, item)
    if target.part.isdecimal():
        columns = [columns[int(target.part) - 1]]
    return {
        "panel": "scores",
        "question": "What is the right answer?" if is_answer else _score_question(target, scale),
        "above": above(work, task, item, reference=not is_answer),
        "columns": columns,
        "targets": [_target(work, task, 0, target.kind) | field],
    }


def _score_question(target: Target, scale: Scale) -> str:
    ends = f", {scale.low:g} to {scale.high:g}" if scale.low is not None and scale.high is not None else ""
    return f"Which score for {target.criterion}{ends}?" if target.criterion else f"Which score{ends}?"


def _is_typed(scale: Scale) -> bool:
    """Whether the value is typed as a number: there is no key for each of more than ten values."""
    return not scale.categories or len(scale.categories) > 10


def _range(scale: Scale) -> Json:
    numbers = [value for value in scale.categories if isinstance(value, int | float)]
    return {"low": min(numbers), "high": max(numbers)} if numbers else {"low": scale.low, "high": scale.high}


def _level_options(scale: Scale, criterion: Criterion | None) -> list[Json]:
    """Return one key for each value: the value itself where it is a digit, else its place."""
    values = scale.categories
    digits = all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9 for value in values)
    lines = criterion.rubric if criterion and len(criterion.rubric) == len(values) else ("",) * len(values)
    return [
        {
            "key": str(value) if digits else str(place % 10),
            "value": value,
            "label": _level_label(value, line, digits=digits),
            "short": str(value),
            "colour": "level",
        }
        for place, (value, line) in enumerate(zip(values, lines, strict=True), 1)
    ]


def _level_label(value: object, line: str, *, digits: bool) -> str:
    """Return the rubric line without the number that the key shows; the value where there is no line."""
    text = line.removeprefix(str(value)).lstrip(" :.-–—")
    if not text:
        return str(value)
    label = text[:1].upper() + text[1:] if digits else f"{value}: {text}"
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"


def _weights(session: Session, work: Work, task: Task, item: Item) -> Json:
    """Weights depend on the question only: the responses are part of the reveal."""
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
        _target(work, task, place, "aspect_quality")
        | {"group": "quality", "required": False, "question": quality, "options": ratings}
        for place, quality in enumerate(QUALITIES, 1)
    ]
    return {
        "panel": "weights",
        "question": "How important is each aspect for this question?",
        "above": above(work, task, item, reference=False),
        "columns": [],
        "targets": [{**_target(work, task, 0, "aspect_weights"), "group": "weights", "aspects": listed}, *qualities],
    }


def _target(work: Work, task: Task, part: int, kind: str) -> Json:
    name = target_name(work, task.id, part)
    return {"id": name, "kind": kind, "group": "", "required": True, "question": ""}


def _block(name: str, title: str, text: str) -> Json:
    return {"id": name, "title": title, "format": "plain", "text": text}


def _image(work: Work, task: Task, block: str, image: str | None) -> Json:
    """Return the address of an image by its block: the name of its file may reveal the system."""
    if not image:
        return {}
    query = {"study": work.study.name, "kind": work.name, "task": task_name(work, task.id), "block": block}
    return {"image": {"url": f"/api/label/image?{urlencode(query)}", "alt": ""}}


def _response(work: Work, task: Task, number: int, response: Response, only: bool) -> Json:
    title = "Response" if only else f"Response {number}"
    block = {**_block(f"response-{number}", title, response.text), "number": number}
    return block | _image(work, task, f"response-{number}", response.image)
