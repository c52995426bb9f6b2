"""What a study's file says, one record a line: the common language of every reader and writer.

A reader is a function from a path to an iterator of records; storage takes the iterator in one transaction, so a
file that turns out wrong half-way leaves nothing behind. References between records are by the study's own names
(item id, run name, annotator name), never by database numbers.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from core.aius import Edit
from core.frozen import Frozen
from core.items import Criterion, Item
from core.labels import Kind, Label, Ruling, Scale, Target
from core.trace import Event


class StudyRules(Frozen):
    """How labels are collected."""

    overlap: int = Field(default=3, ge=1)
    """Labels wanted for each target."""
    reveal: bool = True
    """Whether the judges' trace is shown after a blind label."""
    lease_minutes: int = Field(default=30, ge=1)


class StudyRecord(Frozen):
    """The study itself; a file may leave it out and speak only of items."""

    type: Literal["study"] = "study"
    description: str = ""
    guidelines: str = ""
    rules: StudyRules = StudyRules()
    prompts: dict[str, str] = Field(default_factory=dict)
    """The study's own templates, "protocol/ask" -> text, in place of ours."""
    sample: bool = False
    """Written for the tour, not collected."""


class CriterionRecord(Frozen):
    """A criterion; `kind` and `scale` say how people label it, where they do."""

    type: Literal["criterion"] = "criterion"
    criterion: Criterion


class ScaleRecord(Frozen):
    """The declared scale of the targets of one kind and criterion."""

    type: Literal["scale"] = "scale"
    kind: Kind
    criterion: str = ""
    scale: Scale


class ItemRecord(Frozen):
    """One item."""

    type: Literal["item"] = "item"
    item: Item


class RunRecord(Frozen):
    """One protocol with one settings over many items."""

    type: Literal["run"] = "run"
    name: str
    protocol: str
    criterion: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    prompts: dict[str, str] = Field(default_factory=dict)
    """The text of each template as it was used."""
    seed: int = 0
    source: Literal["live", "imported", "sample"] = "imported"
    created_at: datetime | None = None


class TraceRecord(Frozen):
    """Everything that happened to one item in a run, in order."""

    type: Literal["trace"] = "trace"
    run: str
    item: str
    events: tuple[Event, ...]


class LabelRecord(Frozen):
    """One label as given; history is told oldest first."""

    type: Literal["label"] = "label"
    label: Label


class MarkRecord(Frozen):
    """A skip, a flag or a note that an annotator left on a target."""

    type: Literal["mark"] = "mark"
    target: Target
    annotator: str
    mark: Literal["skip", "flag", "note"]
    text: str = ""
    on: bool = True
    at: datetime | None = None


class RulingRecord(Frozen):
    """One adjudication."""

    type: Literal["ruling"] = "ruling"
    ruling: Ruling


class AiuEditRecord(Frozen):
    """One change of an item's AIUs; history is told oldest first."""

    type: Literal["aiu_edit"] = "aiu_edit"
    item: str
    edit: Edit


Record = Annotated[
    StudyRecord
    | CriterionRecord
    | ScaleRecord
    | ItemRecord
    | RunRecord
    | TraceRecord
    | LabelRecord
    | MarkRecord
    | RulingRecord
    | AiuEditRecord,
    Field(discriminator="type"),
]
RECORD: TypeAdapter[Any] = TypeAdapter(Record)
Records = Iterator[Record]
