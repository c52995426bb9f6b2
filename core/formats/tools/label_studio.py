"""Label Studio's JSON export: a list of tasks with annotations and predictions
(https://labelstud.io/guide/task_format).

Choices, ratings, numbers and pairwise selections are answers; text areas are their reason. The control's name is the
criterion. Predictions are judges. An annotation that is marked as ground truth is an adjudication.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, ConfigDict, TypeAdapter

from core.errors import FileFormatError
from core.formats.mapping.scope import current_omissions
from core.formats.records import Record, Records
from core.formats.text import begins_like, load_json
from core.formats.tools.answers import (
    TIE_NAME,
    Answer,
    ExportedStudy,
    Subject,
    choice_text,
    collect,
    item_from_fields,
    item_names,
    records,
    response_name,
)
from core.formats.validation_errors import validated
from core.transcripts import FIRST_WRONG_STEP

READABLE = "choices, ratings, numbers, pairwise selections and text areas"
# Kinds of labels that are numbers.
NUMERIC = ("score", "likert", "aspect_quality")


class Result(BaseModel):
    """The value of one control."""

    from_name: str
    type: str
    value: dict[str, Any]


class Annotation(BaseModel):
    """The answers of one annotator."""

    completed_by: int | str | dict[str, Any] | None = None
    result: list[Result] = []
    was_cancelled: bool = False
    ground_truth: bool = False
    lead_time: float | None = None
    created_at: datetime | None = None


class Prediction(BaseModel):
    """The answers of one model."""

    model_config = ConfigDict(protected_namespaces=())
    model_version: str | None = None
    result: list[Result] = []


class Task(BaseModel):
    """One task."""

    id: int | str | None = None
    data: dict[str, Any]
    annotations: list[Annotation] = []
    predictions: list[Prediction | int] = []


TASKS: TypeAdapter[list[Task]] = TypeAdapter(list[Task])


def recognises(path: Path) -> bool:
    """Return whether it is a JSON array of tasks with data and annotations."""
    signs = ("completed_by", "model_version", "from_name", "data")
    return begins_like(path, "[", ("annotations", "predictions"), signs)


def read(path: Path) -> Records:
    """Yield the items, labels, adjudications and recorded runs; raises FileFormatError with the field."""
    items, answers = [], list[Answer]()
    for number, task in enumerate(validated(TASKS, load_json(path)), 1):
        id = str(task.data.get("id") or task.id or number)
        items.append(item_from_fields(id, {name: value for name, value in task.data.items() if name != "id"}))
        answers += _answers(id, task)
    yield from records(items, answers)


def _answers(item: str, task: Task) -> Iterator[Answer]:
    for annotation in task.annotations:
        if not annotation.was_cancelled:  # a skipped task
            person = Answer(
                item,
                "",
                _name(annotation.completed_by),
                None,
                at=annotation.created_at,
                seconds=annotation.lead_time,
                is_gold=annotation.ground_truth,
            )
            yield from _with_values(person, annotation.result)
    for prediction in task.predictions:
        if isinstance(prediction, Prediction):
            judge = prediction.model_version or "predictions"
            yield from _with_values(Answer(item, "", judge, None, is_judge=True, model=judge), prediction.result)


def _with_values(answer: Answer, results: list[Result]) -> Iterator[Answer]:
    """Yield an answer for each control; text areas are the reason of the others, and counted as no label alone."""
    areas = [_as_list(result.value.get("text")) for result in results if result.type == "textarea"]
    reason = "\n".join(str(text) for texts in areas for text in texts)
    if areas and len(areas) == len(results):
        current_omissions().labels += len(areas)
    for result in results:
        if result.type != "textarea":
            yield replace(answer, question=result.from_name, value=_value(result), reason=reason)


def _name(completed_by: int | str | dict[str, Any] | None) -> str:
    if isinstance(completed_by, dict):
        full = " ".join(str(completed_by.get(name) or "") for name in ("first_name", "last_name")).strip()
        return str(completed_by.get("email") or full or completed_by.get("id") or "annotator")
    return "annotator" if completed_by is None else f"annotator {completed_by}"


def _value(result: Result) -> Any:
    value = result.value
    match result.type:
        case "choices":
            chosen = _as_list(value.get("choices"))
            return chosen[0] if len(chosen) == 1 else chosen
        case "rating" | "number":
            return value.get(result.type)
        case "pairwise":
            return value.get("selected")
    message = f"the control {result.from_name!r} holds {result.type}; readable are {READABLE}"
    raise FileFormatError(f"{message}. Remove it from the export first")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def write(records: Iterable[Record], stream: TextIO) -> int:
    """Write tasks with their annotations and predictions; returns the number of labels that have no form here."""
    study = collect(records)
    names = study.questions()
    shared = dict.fromkeys(name for item in study.items.values() for name in study.item_fields(item))
    empty = {name: "" for name in shared if not name.startswith("response_")}  # every task has what the form shows
    tasks = [
        {
            "id": number,
            "data": {"id": item.id, **empty, **study.item_fields(item), **item_names(item)},
            **_statements(study, item.id, names),
        }
        for number, item in enumerate(study.items.values(), 1)
    ]
    json.dump(tasks, stream, ensure_ascii=False, indent=1, allow_nan=False)
    stream.write("\n")
    return study.left_out


def labeling_config(records: Iterable[Record]) -> str:
    """Return the labeling configuration of the tasks that `write` writes, as XML."""
    study = collect(records)
    texts = dict.fromkeys(name for item in study.items.values() for name in study.item_fields(item))
    lines = [f'  <Text name="{name}" value="${name}"/>' for name in texts]
    for subject, name in study.questions().items():
        lines += [f"  <Header value={quoteattr(name)}/>", *_control(subject, name, study)]
        lines.append(f'  <TextArea name={quoteattr(f"{name} reason")} toName="prompt"/>')
    return "\n".join(["<View>", *lines, "</View>", ""])


def _control(subject: Subject, name: str, study: ExportedStudy) -> Iterator[str]:
    kind, criterion, _ = subject
    attributes = f'name={quoteattr(name)} toName="prompt"'
    if kind in NUMERIC or criterion == FIRST_WRONG_STEP:
        yield f"  <Number {attributes}/>"
        return
    width = max((len(item.responses) for item in study.items.values()), default=0)
    choices = [*map(response_name, range(1, width + 1)), TIE_NAME]
    if kind != "preference":
        scale = study.scales.get((kind, criterion))
        given = [own for item in study.items for own in study.statements(item) if own.subject[:2] == (kind, criterion)]
        values = [*(scale.categories if scale else ()), *(own.value for own in given)]
        choices = sorted({str(choice_text(kind, value)) for value in values})
    yield f"  <Choices {attributes}>"
    yield from (f"    <Choice value={quoteattr(choice)}/>" for choice in choices)
    yield "  </Choices>"


def _statements(study: ExportedStudy, item: str, names: Mapping[Subject, str]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"annotations": [], "predictions": []}
    for own in study.statements(item):
        name, chosen = names[own.subject], own.choice
        form = "number" if isinstance(chosen, int | float) else "choices"
        control: dict[str, Any] = {"from_name": name, "to_name": "prompt", "type": form}
        results = [control | {"value": {form: [chosen] if form == "choices" else chosen}}]
        if own.reason:
            texts = {"text": [own.reason]}
            results.append(control | {"from_name": f"{name} reason", "type": "textarea", "value": texts})
        if own.source == "verdict":
            found["predictions"].append({"model_version": own.who, "result": results})
            continue
        more = {"lead_time": own.seconds} if own.source == "label" else {"ground_truth": True}
        created = own.at.isoformat() if own.at else None
        annotation = {"completed_by": {"email": own.who}, "result": results, "created_at": created, **more}
        found["annotations"].append(annotation)
    return found
