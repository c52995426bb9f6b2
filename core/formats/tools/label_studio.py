"""Label Studio's JSON export: a list of tasks with annotations and predictions
(https://labelstud.io/guide/task_format).

Choices, ratings, numbers, pairwise selections and taxonomies are answers; text areas are their reason. The control's
name is the criterion. Predictions are judges. An annotation that is marked as ground truth is an adjudication.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from core.errors import FileFormatError
from core.formats.records import Record, Records
from core.formats.text import read_head
from core.formats.tools.answers import (
    TIE_NAME,
    Answer,
    ExportedStudy,
    LabelledItem,
    choice_text,
    collect,
    item_fields,
    item_from_fields,
    item_names,
    load_json,
    records,
    response_name,
)
from core.formats.validation_errors import to_file_format_error
from core.labels import Kind, Scale, Value

READABLE = "choices, ratings, numbers, pairwise selections, taxonomies and text areas"


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
    if not path.is_file() or path.suffix != ".json":
        return False
    head = read_head(path)
    return (
        head.startswith("[")
        and ('"annotations"' in head or '"predictions"' in head)
        and ('"completed_by"' in head or '"model_version"' in head or '"from_name"' in head or '"data"' in head)
    )


def read(path: Path) -> Records:
    """Yield the items, labels, adjudications and recorded runs; raises FileFormatError with the field."""
    try:
        tasks = TASKS.validate_python(load_json(path))
    except ValidationError as error:
        raise to_file_format_error(error) from None
    ids = [str(task.data.get("id") or task.id or number) for number, task in enumerate(tasks, 1)]
    items = [item_from_fields(id, _without_id(task.data)) for id, task in zip(ids, tasks, strict=True)]
    answers = [answer for id, task in zip(ids, tasks, strict=True) for answer in _answers(id, task)]
    yield from records(items, answers)


def _without_id(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "id"}


def _answers(item: str, task: Task) -> Iterator[Answer]:
    for annotation in task.annotations:
        if not annotation.was_cancelled:  # a skipped task
            reason = _reason(annotation.result)
            for question, value in _values(annotation.result):
                yield Answer(
                    item,
                    question,
                    _name(annotation.completed_by),
                    value,
                    reason=reason,
                    at=annotation.created_at,
                    seconds=annotation.lead_time,
                    is_gold=annotation.ground_truth,
                )
    for prediction in task.predictions:
        if isinstance(prediction, Prediction):
            judge, reason = prediction.model_version or "predictions", _reason(prediction.result)
            for question, value in _values(prediction.result):
                yield Answer(item, question, judge, value, reason=reason, is_judge=True, model=judge)


def _values(results: list[Result]) -> Iterator[tuple[str, Any]]:
    """Yield (control, value) of every answer that is not a reason."""
    for result in results:
        if result.type != "textarea":
            yield result.from_name, _value(result)


def _name(completed_by: int | str | dict[str, Any] | None) -> str:
    if isinstance(completed_by, dict):
        full = " ".join(str(completed_by.get(name) or "") for name in ("first_name", "last_name")).strip()
        return str(completed_by.get("email") or full or completed_by.get("id") or "annotator")
    return "annotator" if completed_by is None else f"annotator {completed_by}"


def _reason(results: list[Result]) -> str:
    texts = [text for result in results if result.type == "textarea" for text in _as_list(result.value.get("text"))]
    return "\n".join(str(text) for text in texts)


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
        case "taxonomy":
            return [" / ".join(map(str, _as_list(path))) for path in _as_list(value.get("taxonomy"))]
    message = f"the control {result.from_name!r} holds {result.type}; readable are {READABLE}"
    raise FileFormatError(f"{message}. Remove it from the export first")


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def write(records: Iterable[Record], stream: TextIO) -> int:
    """Write tasks with their annotations and predictions; returns the number of labels that have no form here."""
    study = collect(records)
    names = study.questions()
    shared = dict.fromkeys(name for entry in study.items.values() for name in item_fields(entry.item))
    empty = {name: "" for name in shared if not name.startswith("response_")}  # every task has what the form shows
    tasks = [_task(number, entry, names, empty) for number, entry in enumerate(study.items.values(), 1)]
    json.dump(tasks, stream, ensure_ascii=False, indent=1, allow_nan=False)
    stream.write("\n")
    return study.left_out


def labeling_config(records: Iterable[Record]) -> str:
    """Return the labeling configuration of the tasks that `write` writes, as XML."""
    study = collect(records)
    texts = dict.fromkeys(name for entry in study.items.values() for name in item_fields(entry.item))
    lines = [f'  <Text name="{name}" value="${name}"/>' for name in texts]
    for (kind, criterion), name in study.questions().items():
        lines += [f"  <Header value={quoteattr(name)}/>", *_control(kind, name, study, criterion)]
        lines.append(f'  <TextArea name={quoteattr(_reason_name(name))} toName="prompt"/>')
    return "\n".join(["<View>", *lines, "</View>", ""])


def _control(kind: Kind, name: str, study: ExportedStudy, criterion: str) -> Iterator[str]:
    attributes = f'name={quoteattr(name)} toName="prompt"'
    scale = study.scales.get((kind, criterion))
    if _is_rating(kind, scale):
        yield f'  <Rating {attributes} maxRating="{max(map(int, scale.categories)) if scale else 5}"/>'
    elif kind in ("score", "likert", "aspect_quality"):
        yield f"  <Number {attributes}/>"
    else:
        width = max((len(entry.item.responses) for entry in study.items.values()), default=0)
        preferences = [*map(response_name, range(1, width + 1)), TIE_NAME]
        choices = preferences if kind == "preference" else sorted(_answers_of(study, kind, criterion))
        yield f"  <Choices {attributes}>"
        yield from (f"    <Choice value={quoteattr(choice)}/>" for choice in choices)
        yield "  </Choices>"


def _reason_name(question: str) -> str:
    """Return the name of the text area for the reason of an answer."""
    return f"{question} reason"


def _is_rating(kind: Kind, scale: Scale | None) -> bool:
    numbers = scale.categories if scale else ()
    whole = bool(numbers) and all(
        isinstance(number, int) and not isinstance(number, bool) and number > 0 for number in numbers
    )
    return kind in ("score", "likert", "aspect_quality") and whole


def _answers_of(study: ExportedStudy, kind: Kind, criterion: str) -> set[str]:
    scale = study.scales.get((kind, criterion))
    values = set(scale.categories if scale else ())
    for entry in study.items.values():
        values |= {
            label.value
            for (_, target), label in entry.labels.items()
            if (target.kind, target.criterion) == (kind, criterion) and not isinstance(label.value, dict | None)
        }
    return {str(choice_text(kind, value)) for value in values}


def _task(
    number: int, entry: LabelledItem, names: Mapping[tuple[Kind, str], str], empty: Mapping[str, str]
) -> dict[str, Any]:
    def results(kind: Kind, criterion: str, value: Value, reason: str) -> list[dict[str, Any]]:
        chosen, name = choice_text(kind, value), names[kind, criterion]
        form = "number" if isinstance(chosen, int | float) else "choices"
        found = {"from_name": name, "to_name": "prompt", "type": form}
        answer = found | {"value": {form: chosen if form == "number" else [chosen]}}
        comment = found | {"from_name": _reason_name(name), "type": "textarea", "value": {"text": [reason]}}
        return [answer, comment] if reason else [answer]

    annotations = [
        {
            "completed_by": {"email": label.annotator},
            "result": results(target.kind, target.criterion, label.value, label.reason),
            "lead_time": label.seconds,
            "created_at": label.at.isoformat() if label.at else None,
        }
        for (_, target), label in entry.labels.items()
        if label.value is not None
    ]
    gold = [
        {
            "completed_by": {"email": ruling.adjudicator},
            "ground_truth": True,
            "result": results(target.kind, target.criterion, ruling.value, ruling.reason),
            "created_at": ruling.at.isoformat() if ruling.at else None,
        }
        for target, ruling in entry.gold.items()
    ]
    predictions = [
        {"model_version": run, "result": results(opinion.kind, opinion.criterion, opinion.value, opinion.reason)}
        for run, opinion in entry.verdicts
        if opinion.value is not None
    ]
    data = {"id": entry.item.id, **empty, **item_fields(entry.item), **item_names(entry.item)}
    return {"id": number, "data": data, "annotations": [*annotations, *gold], "predictions": predictions}
