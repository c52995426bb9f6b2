"""Argilla's records as JSON (`dataset.records.to_json`): fields, responses of users, and suggestions of agents.

A question's name is the criterion. Suggestions are judges. Text questions with a usual name for a comment are the
reason of the user's other answers; a ranking of two responses is a preference. Spans cannot be read.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO
from uuid import NAMESPACE_URL, uuid5

from pydantic import BaseModel, TypeAdapter, ValidationError

from core.errors import FileFormatError
from core.formats.mapping.guess import REASONS
from core.formats.records import Record, Records
from core.formats.text import read_head
from core.formats.tools.answers import (
    Answer,
    LabelledItem,
    choice_text,
    collect,
    item_fields,
    item_from_fields,
    item_names,
    load_json,
    records,
)
from core.formats.validation_errors import to_file_format_error
from core.labels import Kind

COMMENTS = (*REASONS, "comments", "notes", "note", "feedback")


class UserResponse(BaseModel):
    """What one user answered to one question."""

    value: Any
    user_id: str = "user"


class Suggestion(BaseModel):
    """What one agent answered to one question."""

    value: Any
    agent: str | None = None
    score: Any = None


class ArgillaRecord(BaseModel):
    """One record."""

    id: str | int | None = None
    fields: dict[str, Any]
    metadata: dict[str, Any] | None = None
    suggestions: dict[str, Suggestion] | None = None
    responses: dict[str, list[UserResponse]] | None = None


RECORDS: TypeAdapter[list[ArgillaRecord]] = TypeAdapter(list[ArgillaRecord])


def recognises(path: Path) -> bool:
    """Return whether it is a JSON array of records with fields and responses or suggestions."""
    if not path.is_file() or path.suffix != ".json":
        return False
    head = read_head(path, 64_000)
    return head.startswith("[") and '"fields"' in head and ('"responses"' in head or '"suggestions"' in head)


def read(path: Path) -> Records:
    """Yield the items, labels and recorded runs; raises FileFormatError with the field."""
    try:
        found = RECORDS.validate_python(load_json(path))
    except ValidationError as error:
        raise to_file_format_error(error) from None
    ids = [str(record.id or number) for number, record in enumerate(found, 1)]
    fields = [{**_usual_metadata(record), **record.fields} for record in found]
    items = [item_from_fields(id, named) for id, named in zip(ids, fields, strict=True)]
    answers = [answer for id, record in zip(ids, found, strict=True) for answer in _answers(id, record)]
    yield from records(items, answers)


def _usual_metadata(record: ArgillaRecord) -> dict[str, Any]:
    """Return the metadata that an item has as well: its systems, scenario and group."""
    usual = ("scenario", "category", "domain", "group", "system", "model")
    return {name: value for name, value in (record.metadata or {}).items() if name.startswith(usual)}


def _answers(item: str, record: ArgillaRecord) -> Iterator[Answer]:
    responses = record.responses or {}
    reasons = {
        given.user_id: str(given.value)
        for question in responses
        if question in COMMENTS
        for given in responses[question]
    }
    for question, given in responses.items():
        if question not in COMMENTS:
            for response in given:
                reason = reasons.get(response.user_id, "")
                yield Answer(item, question, response.user_id, _value(question, response.value), reason=reason)
    for question, suggestion in (record.suggestions or {}).items():
        if question not in COMMENTS:
            judge = suggestion.agent or "suggestions"
            yield Answer(item, question, judge, _value(question, suggestion.value), is_judge=True, model=judge)


def _value(question: str, value: Any) -> Any:
    """Return a response; of a ranking the best option, or a tie."""
    if not isinstance(value, list) or not any(isinstance(element, dict) for element in value):
        return value
    if all(isinstance(element, dict) and {"value", "rank"} <= element.keys() for element in value) and len(value) == 2:
        first, second = value
        if first["rank"] == second["rank"]:
            return "tie"
        return min((first, second), key=lambda one: str(one["rank"]).zfill(9))["value"]
    raise FileFormatError(
        f"the question {question!r} has spans or a ranking of more than two options, which cannot be read; "
        "remove it from the export first"
    )


def write(records: Iterable[Record], stream: TextIO) -> int:
    """Write records for `Dataset.records.from_json`; returns the number of labels that have no form here.

    Users have ids derived from annotators' names. A question has one suggestion: the verdict of the newest run.
    """
    study = collect(records)
    names = {key: _question_name(name) for key, name in study.questions().items()}
    json.dump([_record(entry, names) for entry in study.items.values()], stream, ensure_ascii=False, allow_nan=False)
    stream.write("\n")
    return study.left_out


def _question_name(name: str) -> str:
    """Return a name as Argilla allows it: lower case letters, digits, "-" and "_"."""
    return re.sub(r"[^a-z0-9_-]+", "_", name.lower()).strip("_") or "question"


def user_id(annotator: str) -> str:
    """Return the id of an annotator, who is the same user in every export."""
    return str(uuid5(NAMESPACE_URL, f"annotator:{annotator}"))


def _record(entry: LabelledItem, names: Mapping[tuple[Kind, str], str]) -> dict[str, Any]:
    responses: dict[str, list[dict[str, Any]]] = {}
    for (annotator, target), label in entry.labels.items():
        if label.value is not None:
            answer = {"value": choice_text(target.kind, label.value), "user_id": user_id(annotator)}
            responses.setdefault(names[target.kind, target.criterion], []).append(answer)
    suggestions = {
        names[opinion.kind, opinion.criterion]: {
            "value": choice_text(opinion.kind, opinion.value),
            "score": None,
            "agent": run,
        }
        for run, opinion in entry.verdicts
        if opinion.value is not None
    }
    return {
        "id": entry.item.id,
        "fields": item_fields(entry.item),
        "metadata": item_names(entry.item),
        "suggestions": suggestions,
        "responses": responses,
        "vectors": {},
        "status": "completed" if responses else "pending",
        "_server_id": None,
    }
