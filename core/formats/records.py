"""The records of a study file: the common output of every reader and input of every writer.

A reader is a function from a path to an iterator of records. Storage imports the iterator in one transaction, so a
file that turns out to be invalid halfway leaves nothing behind. Records refer to each other by the study's own names
(item id, run name, annotator name), never by database ids.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter

from core.aius import Edit
from core.errors import FileFormatError
from core.formats.study_records import CriterionRecord as CriterionRecord
from core.formats.study_records import DesignRecord as DesignRecord
from core.formats.study_records import GuidelinesRecord as GuidelinesRecord
from core.formats.study_records import MarkRecord as MarkRecord
from core.formats.study_records import ScaleRecord as ScaleRecord
from core.formats.study_records import StudyRecord as StudyRecord
from core.formats.study_records import StudyRules as StudyRules
from core.formats.study_records import later
from core.frozen import Frozen
from core.items import Item
from core.labels import Adjudication, Evidence, Label, Target, Value
from core.trace import Event
from core.transcripts import Transcript

RunState = Literal["requested", "cancelling", "cancelled", "stopped", "finished"]


class AnnotatorRecord(Frozen):
    """A participant of the study, with or without labels."""

    type: Literal["annotator"] = "annotator"
    name: str


class ItemRecord(Frozen):
    """One item."""

    type: Literal["item"] = "item"
    item: Item


class TranscriptRecord(Frozen):
    """A transcript, before the items that refer to its digest."""

    type: Literal["transcript"] = "transcript"
    transcript: Transcript


class TargetRecord(Frozen):
    """A target whose overlap differs from the study's, or that nothing else in the file refers to."""

    type: Literal["target"] = "target"
    target: Target
    overlap: int | None = Field(default=None, ge=0)


class ExperimentRecord(Frozen):
    """Runs that differ in named settings."""

    type: Literal["experiment"] = "experiment"
    name: str = Field(min_length=1)
    definition: str
    """The experiment's file, in YAML."""
    ceiling: float | None = None
    created_at: datetime | None = None


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
    extractor: dict[str, Any] | None = later(None)
    """The model that was asked about unreadable replies."""
    pairs: str = later("")
    """Which pairs of responses were compared, as `core.items.Pairs` has it."""
    source: Literal["live", "imported", "sample"] = "imported"
    created_at: datetime | None = None
    ended_at: datetime | None = later(None)
    state: RunState = later("finished")
    problem: str = later("")
    """Why it stopped."""
    ceiling: float | None = later(None)
    """Dollars at which it stopped."""
    parallel: int = later(8, ge=1)
    """Concurrent calls to one model; absent in a file it is 8, the earlier default."""
    repeat: int = later(1, ge=1)
    """The number of the repetition: runs with other numbers have independent replies."""
    fresh: bool = later(False)
    """Whether every call was made anew."""
    experiment: str = later("")
    """The name of the experiment that it is part of; empty for none."""
    cell: dict[str, str] | None = later(None)
    """The cell of the experiment's design: axis -> level."""


class TraceRecord(Frozen):
    """The events of one item in a run, in order."""

    type: Literal["trace"] = "trace"
    run: str
    item: str
    part: str = later("")
    """The pair of responses that the trace is on ("1-3"); empty if it is on the whole item."""
    events: tuple[Event, ...]
    times: tuple[datetime, ...] = later(())
    """When each event was stored; empty if it is not known."""


class LabelRecord(Frozen):
    """One label; an annotator's labels of one target are ordered oldest first."""

    type: Literal["label"] = "label"
    label: Label


class ReplyRecord(Frozen):
    """A reply in the inbox to an annotator's flag or note on a target, oldest first."""

    type: Literal["reply"] = "reply"
    target: Target
    annotator: str
    """Who flagged or noted."""
    author: str
    """The author of the reply."""
    text: str = ""
    closed: bool = False
    at: datetime | None = None


class ViewRecord(Frozen):
    """An annotator saw opinions or others' labels of a target: later labels are not blind."""

    type: Literal["view"] = "view"
    target: Target
    annotator: str
    at: datetime | None = None


class GuidelinesReadRecord(Frozen):
    """The newest version of the guidelines that an annotator has read."""

    type: Literal["guidelines_read"] = "guidelines_read"
    annotator: str
    version: int = Field(ge=0)
    at: datetime | None = None


class KnownAnswerRecord(Frozen):
    """The known answer of a target that is used for training."""

    type: Literal["known_answer"] = "known_answer"
    target: Target
    value: Value
    reason: str = ""
    """Shown to annotators after their answer."""
    at: datetime | None = None


class TrainingAnswerRecord(Frozen):
    """An annotator's answer to a training item; it is not a label."""

    type: Literal["training_answer"] = "training_answer"
    target: Target
    annotator: str
    attempt: int = Field(ge=1)
    value: Value
    reason: str = ""
    correct: bool
    passed: bool | None = None
    """Of the last answer of an attempt: whether the training is passed."""
    seconds: float | None = None
    at: datetime | None = None


class RepeatRecord(Frozen):
    """An annotator's answer to a repeat of a labelled target, oldest first; it is not a label."""

    type: Literal["repeat"] = "repeat"
    target: Target
    annotator: str
    number: int = Field(ge=1)
    value: Value | None = None
    blind: bool = True
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    shown: tuple[int, ...] = ()
    seconds: float | None = None
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


AnyRecord = (
    StudyRecord
    | GuidelinesRecord
    | AnnotatorRecord
    | CriterionRecord
    | ScaleRecord
    | TranscriptRecord
    | ItemRecord
    | TargetRecord
    | DesignRecord
    | ExperimentRecord
    | RunRecord
    | TraceRecord
    | LabelRecord
    | MarkRecord
    | ReplyRecord
    | KnownAnswerRecord
    | TrainingAnswerRecord
    | RepeatRecord
    | AdjudicationRecord
    | AiuEditRecord
    | ViewRecord
    | GuidelinesReadRecord
)
Record = Annotated[AnyRecord, Field(discriminator="type")]
RECORD_TYPES = get_args(AnyRecord)
Records = Iterator[Record]


@cache
def record_adapter() -> TypeAdapter[Any]:
    """Return the validator of a line of a study file; to build it takes time that only readers need."""
    return TypeAdapter(Record)


def without_contradictions(levels: Iterable[Records]) -> Records:
    """Yield the records of a file by several mappings.

    Raises FileFormatError if two mappings give a target two labels of one annotator, or two values of gold: within a
    mapping its readers refuse them.
    """
    stated: dict[tuple[Target, str | None], int] = {}
    for number, records in enumerate(levels, 1):
        for record in records:
            for key in _stated_by(record):
                if stated.setdefault(key, number) != number:
                    who = "gold" if key[1] is None else f"a label of {key[1]!r}"
                    message = (
                        f"mapping {stated[key]} has {who} for item {key[0].item!r}, too: use other criteria or ids"
                    )
                    raise FileFormatError(f"mapping {number}: {message}")
            yield record


def _stated_by(record: Record) -> Iterator[tuple[Target, str | None]]:
    """Yield the targets and annotators of labels, and the targets of gold with None."""
    match record:
        case LabelRecord(label=label):
            yield label.target, label.annotator
        case AdjudicationRecord(ruling=ruling):
            yield ruling.target, None
