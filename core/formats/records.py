"""The records of a study file: the common output of every reader and input of every writer.

A reader is a function from a path to an iterator of records. Storage imports the iterator in one transaction, so a
file that turns out to be invalid halfway leaves nothing behind. Records refer to each other by the study's own names
(item id, run name, annotator name), never by database ids.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from core.aius import Edit
from core.frozen import Frozen
from core.items import Criterion, Item
from core.labels import Adjudication, Kind, Label, Scale, Target
from core.trace import Event

ADJUDICATION_REASONS = ("Guidelines", "Factual error", "Overlooked detail", "Ambiguous item", "Discussion")


class StudyRules(Frozen):
    """How labels are collected."""

    overlap: int = Field(default=3, ge=1)
    """Labels per target."""
    reveal: bool = True
    """Whether the judges' trace is shown after a blind label."""
    lease_minutes: int = Field(default=30, ge=1)
    evidence: bool = Field(default=True, exclude_if=lambda evidence: evidence)
    """Whether annotators can select passages for a label. Serialised where it differs from the default, as `reason`."""
    reason: Literal["optional", "required", "none"] = Field(default="optional", exclude_if=lambda r: r == "optional")
    """Whether a label has a reason."""
    order: Literal["shuffled", "fixed", "informative"] = Field(
        default="shuffled", exclude_if=lambda order: order == "shuffled"
    )
    """The order of a queue: another random one for each annotator, that of the items, or most informative first."""
    annotators: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """The annotators who label; empty for everybody."""
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=lambda groups: not groups)
    """Scenario -> the annotators who label its items; everybody for a scenario that is not listed."""
    adjudication_reasons: tuple[str, ...] = Field(
        default=ADJUDICATION_REASONS, exclude_if=lambda reasons: reasons == ADJUDICATION_REASONS
    )
    """The reasons that an adjudicator can select."""
    adjudicate_own: bool = Field(default=False, exclude_if=lambda own: not own)
    """Whether an adjudicator can decide on targets that the adjudicator has labelled."""
    own_statistics: bool = Field(default=True, exclude_if=lambda own: own)
    """Whether annotators see their own pace, agreement and anchoring."""


class StudyRecord(Frozen):
    """The study itself; a file with items only may omit it."""

    type: Literal["study"] = "study"
    description: str = ""
    guidelines: str = ""
    rules: StudyRules = StudyRules()
    prompts: dict[str, str] = Field(default_factory=dict)
    """The study's own templates, "protocol/template" -> text, which replace the built-in ones."""
    sample: bool = False
    """Whether this is a built-in sample, written for the tour rather than collected."""


class CriterionRecord(Frozen):
    """A criterion."""

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
    extractor: dict[str, Any] | None = Field(default=None, exclude_if=lambda extractor: extractor is None)
    """The model that was asked about unreadable replies; serialised only where there is one."""
    source: Literal["live", "imported", "sample"] = "imported"
    created_at: datetime | None = None


class TraceRecord(Frozen):
    """The events of one item in a run, in order."""

    type: Literal["trace"] = "trace"
    run: str
    item: str
    events: tuple[Event, ...]


class LabelRecord(Frozen):
    """One label; an annotator's labels of one target are ordered oldest first."""

    type: Literal["label"] = "label"
    label: Label


class MarkRecord(Frozen):
    """A skip, a flag or a note of an annotator about a target."""

    type: Literal["mark"] = "mark"
    target: Target
    annotator: str
    mark: Literal["skip", "flag", "note"]
    text: str = ""
    on: bool = True
    at: datetime | None = None


class AdjudicationRecord(Frozen):
    """One adjudication. In files its type and field are called "ruling"."""

    type: Literal["ruling"] = "ruling"
    ruling: Adjudication


class AiuEditRecord(Frozen):
    """One edit of an item's AIUs, oldest first."""

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
    | AdjudicationRecord
    | AiuEditRecord,
    Field(discriminator="type"),
]
RECORD_ADAPTER: TypeAdapter[Any] = TypeAdapter(Record)
Records = Iterator[Record]
