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

from pydantic import BaseModel, TypeAdapter

from core.errors import FileFormatError
from core.formats.mapping.guess import REASONS
from core.formats.records import Record, Records
from core.formats.text import begins_like, load_json
from core.formats.tools.answers import (
    Answer,
    ExportedStudy,
    Subject,
    collect,
    item_from_fields,
    item_names,
    records,
)
from core.formats.validation_errors import validated
from core.items import Item

COMMENTS = (*REASONS, "comments", "notes", "note", "feedback")
METADATA = ("scenario", "category", "domain", "group", "system", "model")


class UserResponse(BaseModel):
    """What one user answered to one question."""

    value: Any
    user_id: str = "user"


class Suggestion(BaseModel):
    """What one agent answered to one question."""

    value: Any
    agent: str | None = None


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
    return begins_like(path, "[", "fields", ("responses", "suggestions"), length=64_000)


def read(path: Path) -> Records:
    """Yield the items, labels and recorded runs; raises FileFormatError with the field."""
    items, answers = [], list[Answer]()
    for number, record in enumerate(validated(RECORDS, load_json(path)), 1):
        id = str(record.id or number)
        # An item has these of the metadata as well: its systems, scenario and group.
        usual = {name: value for name, value in (record.metadata or {}).items() if name.startswith(METADATA)}
        items.append(item_from_fields(id, usual | record.fields))
        answers += _answers(id, record)
    yield from records(items, answers)


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
        first, second = sorted(value, key=lambda one: str(one["rank"]).zfill(9))
        return "tie" if first["rank"] == second["rank"] else first["value"]
    raise FileFormatError(
        f"the question {question!r} has spans or a ranking of more than two options, which cannot be read; "
        "remove it from the export first"
    )


def write(records: Iterable[Record], stream: TextIO) -> int:
    """Write records for `Dataset.records.from_json`; returns the number of labels that have no form here.

    Users have ids derived from annotators' names. A question has one suggestion: the verdict of the newest run.
    """
    study = collect(records)
    # Argilla allows lower case letters, digits, "-" and "_" in a name.
    allowed = {key: re.sub(r"[^a-z0-9_-]+", "_", name.lower()) for key, name in study.questions().items()}
    names = {key: name.strip("_") or "question" for key, name in allowed.items()}
    json.dump(
        [_record(study, item, names) for item in study.items.values()], stream, ensure_ascii=False, allow_nan=False
    )
    stream.write("\n")
    return study.left_out


def user_id(annotator: str) -> str:
    """Return the id of an annotator, who is the same user in every export."""
    return str(uuid5(NAMESPACE_URL, f"annotator:{annotator}"))


def _record(study: ExportedStudy, item: Item, names: Mapping[Subject, str]) -> dict[str, Any]:
    responses: dict[str, list[dict[str, Any]]] = {}
    suggestions: dict[str, dict[str, Any]] = {}
    for own in study.statements(item.id):
        name = names[own.subject]
        if own.source == "label":
            responses.setdefault(name, []).append({"value": own.choice, "user_id": user_id(own.who)})
        else:
            study.left_out += own.source == "gold" or name in suggestions  # a question has one suggestion, and no gold
        if own.source == "verdict":
            suggestions[name] = {"value": own.choice, "score": None, "agent": own.who}
    return {
        "id": item.id,
        "fields": study.item_fields(item),
        "metadata": item_names(item),
        "suggestions": suggestions,
        "responses": responses,
        "vectors": {},
        "status": "completed" if responses else "pending",
        "_server_id": None,
    }
