"""The tables; those of accounts and of improving a judge are in `account_tables` and `improvement_tables`."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Text, UniqueConstraint, false, text
from sqlmodel import Field
from sqlmodel.sql.sqltypes import AutoString

from storage import account_tables as account_tables
from storage import improvement_tables as improvement_tables
from storage.json_columns import Json
from storage.table_base import Table as Table
from storage.table_base import datetime_column, owner_column, value_column
from storage.table_base import now as now


class StudyRow(Table, table=True):
    """Items, criteria, guidelines and labelling rules under one name."""

    __tablename__ = "study"
    id: int = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    description: str = Field(default="", sa_column=Column(Text, nullable=False))
    guidelines: str = Field(default="", sa_column=Column(Text, nullable=False))
    rules: Any = Field(sa_column=Column(Json, nullable=False))
    prompts: Any = Field(sa_column=Column(Json, nullable=False))
    sample: bool = False
    secret: str
    """The key of the opaque ids and random orders of the workbench, and of its CSRF tokens; never sent to a browser."""
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())
    archived_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    """Since when nobody is offered its targets."""
    deleted_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    deleted_name: str | None = None
    """The name before the deletion: it is free for another study."""
    removals: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default=text("0")))
    """How often a run was deleted or restored: numbers of rows alone do not show it (see `storage.labels.version`)."""


class DeletedRunRow(Table, table=True):
    """A deleted run, which can be restored for some time; see `storage.deletions`."""

    __tablename__ = "deleted_run"
    __table_args__ = (Index(None, "study_id"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    name: str
    traces: int
    fields: Any = Field(sa_column=Column(Json, nullable=False))
    """Columns of the run that an export does not contain."""
    records: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """The run and its traces in Tiebreak's own format, compressed with gzip."""
    deleted_at: datetime = Field(default_factory=now, sa_column=datetime_column())


class GuidelinesRow(Table, table=True):
    """One version of a study's guidelines, numbered from 1. The newest is also in the study's row."""

    __tablename__ = "guidelines"
    __table_args__ = (UniqueConstraint("study_id", "version"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    version: int
    text: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class CriterionRow(Table, table=True):
    """A criterion of a study."""

    __tablename__ = "criterion"
    __table_args__ = (UniqueConstraint("study_id", "name"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    name: str
    body: Any = Field(sa_column=Column(Json, nullable=False))


class ScaleRow(Table, table=True):
    """The declared scale of one kind and criterion."""

    __tablename__ = "scale"
    __table_args__ = (UniqueConstraint("study_id", "kind", "criterion"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    kind: str
    criterion: str
    body: Any = Field(sa_column=Column(Json, nullable=False))


class ItemRow(Table, table=True):
    """An item. `key` is its id in the study's file, `position` its place there."""

    __tablename__ = "item"
    __table_args__ = (UniqueConstraint("study_id", "key"), Index(None, "study_id", "position"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    key: str
    position: int
    scenario: str | None = None
    cluster: str | None = None
    body: Any = Field(sa_column=Column(Json, nullable=False))


class TargetRow(Table, table=True):
    """A unit that a person and a protocol can both judge: a kind, a criterion and a part of an item."""

    __tablename__ = "target"
    __table_args__ = (
        UniqueConstraint("item_id", "kind", "criterion", "part"),
        Index(None, "study_id", "kind", "criterion", "disputed", "counted", "overlap"),
    )
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    item_id: int = Field(sa_column=owner_column("item.id"))
    kind: str
    criterion: str
    part: str
    overlap: int | None = None
    """Labels wanted of this target, if it differs from the study's overlap."""
    counted: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default=text("0")))
    """Annotators with a current label that counts towards the overlap; see `storage.target_summaries`."""
    disputed: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether a trace has no agreement on it, or labels were requested; see `storage.target_summaries`."""


class AnnotatorRow(Table, table=True):
    """A person who labels, adjudicates or views results."""

    __tablename__ = "annotator"
    id: int = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())


class LabelRow(Table, table=True):
    """A label. Rows are never changed or deleted; an annotator's newest label of a target is the current one."""

    __tablename__ = "label"
    __table_args__ = (
        Index(None, "target_id", "annotator_id", "id"),
        Index(None, "annotator_id", "study_id", "target_id", "id"),
        Index(None, "study_id", "id"),
        UniqueConstraint("fingerprint"),
    )
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    value: Any = Field(default=None, sa_column=value_column())
    blind: bool = True
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    seconds: float | None = None
    at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    """When it was given; None if an imported file has no time."""
    fingerprint: str
    """See `storage.fingerprints`."""
    surplus: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether the target was complete when the label arrived. Only the overlap ignores surplus labels."""
    evidence: Any = Field(default=None, sa_column=value_column())
    """The passages that the annotator selected, as a list of `core.labels.Evidence`; None for none."""
    guidelines: int | None = None
    """The version of the guidelines that the annotator had; None if it is not known."""


class GuidelinesReadRow(Table, table=True):
    """The newest version of a study's guidelines that an annotator has read."""

    __tablename__ = "guidelines_read"
    __table_args__ = (UniqueConstraint("study_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    version: int
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class ActionRow(Table, table=True):
    """The result of an action of the workbench, so a repeated request changes nothing.

    `seq` counts the actions of one client, which is an outbox in a browser.
    """

    __tablename__ = "action"
    __table_args__ = (UniqueConstraint("study_id", "annotator_id", "client", "seq"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    client: str
    seq: int
    result: Any = Field(sa_column=Column(Json, nullable=False))
    """Without the reveal, which is read again when the result is requested again."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class UndoEntryRow(Table, table=True):
    """An entry of an annotator's undo stack in one study and queue.

    The entries that are not undone are the undo stack, highest id on top; the undone ones are the redo stack, lowest id
    on top: undo takes the highest id first.
    """

    __tablename__ = "undo_entry"
    __table_args__ = (Index(None, "annotator_id", "study_id", "queue", "id"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    queue: str
    type: str
    """label, skip, skips (of many tasks) or edit."""
    task_id: int = Field(sa_column=owner_column("target.id"))
    """The target that names the task; see `storage.labelling.tasks`."""
    target_id: int = Field(sa_column=owner_column("target.id"))
    before: Any = Field(default=None, sa_column=value_column())
    after: Any = Field(default=None, sa_column=value_column())
    undone: bool = False
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class OpinionViewRow(Table, table=True):
    """An annotator saw opinions or other annotators' labels of a target: later labels are not blind."""

    __tablename__ = "opinion_view"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class VisitorViewRow(Table, table=True):
    """Somebody who has not signed in saw opinions of a target; see `storage.views`."""

    __tablename__ = "visitor_view"
    __table_args__ = (UniqueConstraint("visitor", "target_id"),)
    id: int = Field(default=None, primary_key=True)
    visitor: str
    """A random token in a cookie."""
    target_id: int = Field(sa_column=owner_column("target.id"))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class LeaseRow(Table, table=True):
    """A target reserved for one annotator until a time."""

    __tablename__ = "lease"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    until: datetime = Field(sa_column=datetime_column())


class DraftRow(Table, table=True):
    """An answer that an annotator has entered and not submitted."""

    __tablename__ = "draft"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"), Index(None, "annotator_id"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class MarkRow(Table, table=True):
    """A skip, a flag or a note. Rows are never changed; the newest of each type is the current one."""

    __tablename__ = "mark"
    __table_args__ = (
        Index(None, "target_id", "annotator_id"),
        Index(None, "annotator_id", "mark", "target_id", "id"),
        UniqueConstraint("fingerprint"),
    )
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    mark: str
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    on: bool = True
    at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    fingerprint: str


class ReplyRow(Table, table=True):
    """A reply to an annotator's flag or note on a target. Rows are never changed; the newest tells open from closed."""

    __tablename__ = "reply"
    __table_args__ = (Index(None, "target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    """Who flagged or noted."""
    author_id: int = Field(sa_column=owner_column("annotator.id"))
    """The author of the reply."""
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    closed: bool = False
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class AdjudicationRow(Table, table=True):
    """An adjudication. Rows are never changed or deleted; the newest of a target is the current one."""

    __tablename__ = "adjudication"
    __table_args__ = (Index(None, "target_id", "id"), UniqueConstraint("fingerprint"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    value: Any = Field(sa_column=Column(Json, nullable=False))
    rule: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    fingerprint: str


class KnownAnswerRow(Table, table=True):
    """The known answer of a target that is used for the training of annotators."""

    __tablename__ = "known_answer"
    __table_args__ = (UniqueConstraint("target_id"), Index(None, "study_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    target_id: int = Field(sa_column=owner_column("target.id"))
    value: Any = Field(sa_column=Column(Json, nullable=False))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    """Shown to annotators after their answer."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class TrainingAnswerRow(Table, table=True):
    """An annotator's answer to a training item. It is not a label: agreement, gold and alignment do not contain it."""

    __tablename__ = "training_answer"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id", "attempt"), Index(None, "annotator_id"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    attempt: int
    """The annotator's attempts at the training of one queue, counted from 1."""
    value: Any = Field(sa_column=Column(Json, nullable=False))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    correct: bool
    passed: bool | None = None
    """Of the last answer of an attempt: whether the training is passed."""
    seconds: float | None = None
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class ExperimentRow(Table, table=True):
    """Runs that differ in named settings."""

    __tablename__ = "experiment"
    __table_args__ = (UniqueConstraint("study_id", "name"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    name: str
    definition: str = Field(sa_column=Column(Text, nullable=False))
    """The experiment's file in YAML, with the settings that it named."""
    ceiling: float | None = None
    """Cost limit in dollars of all runs together."""
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())


class RunRow(Table, table=True):
    """One protocol with one settings over many items."""

    __tablename__ = "run"
    __table_args__ = (UniqueConstraint("study_id", "name"), Index(None, "experiment_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    name: str
    protocol: str
    criterion: str = ""
    settings: Any = Field(sa_column=Column(Json, nullable=False))
    prompts: Any = Field(sa_column=Column(Json, nullable=False))
    seed: int = 0
    ceiling: float | None = None
    """Cost limit in dollars."""
    parallel: int = 8
    """Concurrent calls to one model."""
    extractor: Any = Field(default=None, sa_column=value_column())
    """The model that is asked which value an unreadable reply states; None for none."""
    pairs: str = Field(default="", sa_column=Column(AutoString(), nullable=False, server_default=""))
    """Which pairs of responses are compared, as `core.pairs.Pairs` has it; empty if it has no such setting."""
    repeat: int = Field(default=1, sa_column=Column(Integer, nullable=False, server_default=text("1")))
    """The number of the repetition: runs with other numbers have independent replies."""
    fresh: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether every call is made anew, also if another run has made it."""
    experiment_id: int | None = Field(
        default=None, sa_column=Column(Integer, ForeignKey("experiment.id", ondelete="SET NULL"), nullable=True)
    )
    cell: Any = Field(default=None, sa_column=value_column())
    """The cell of the experiment's design: axis -> level, as text."""
    source: str = "live"
    state: str = "requested"
    """requested, cancelling, cancelled, stopped (at the ceiling, or by an error: see `problem`) or finished."""
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    claimed_by: str | None = None
    """The worker that executes it. The claim expires at `claimed_until` unless the worker renews it."""
    claimed_until: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())
    ended_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))


CLAIMED = text("claimed_by IS NOT NULL")


class TraceRow(Table, table=True):
    """One item, or one pair of its responses, in a run."""

    __tablename__ = "trace"
    __table_args__ = (
        UniqueConstraint("run_id", "item_id", "part"),
        Index(None, "study_id", "outcome"),
        Index(None, "run_id", "outcome"),
        Index(None, "study_id", "contention"),
        Index(None, "claimed_by", postgresql_where=CLAIMED, sqlite_where=CLAIMED),
    )
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    run_id: int = Field(sa_column=owner_column("run.id"))
    item_id: int = Field(sa_column=owner_column("item.id"))
    part: str = Field(default="", sa_column=Column(AutoString(), nullable=False, server_default=""))
    """The part of the targets that it judges if it is on a pair of responses ("1-3"); otherwise empty."""
    outcome: str = "waiting"
    """waiting, failed, agreed, disputed or no_verdict."""
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    uncertainty: float = 0.0
    """See `core.uncertainty`."""
    contention: float | None = None
    """See `core.contention`; None if there is no verdict, or if it cannot be computed."""
    claimed_by: str | None = None
    """The worker that claimed it; the claim counts while the worker has claimed the run or is alive: `trace_claims`."""


class EventRow(Table, table=True):
    """An event. The prompt has its own column: a list of turns is read without it."""

    __tablename__ = "event"
    __table_args__ = (Index(None, "run_id", "type"),)
    trace_id: int = Field(sa_column=owner_column("trace.id", key=True))
    seq: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    run_id: int = Field(sa_column=owner_column("run.id"))
    type: str
    body: Any = Field(sa_column=Column(Json, nullable=False))
    prompt: str = Field(default="", sa_column=Column(Text, nullable=False))
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None
    reused: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether the reply was stored before: tokens, seconds and dollars are those of the call that was made then."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class CallRow(Table, table=True):
    """The reply to a call, which any run of the database can reuse; see `storage.calls`."""

    __tablename__ = "call"
    __table_args__ = (Index(None, "run_id"),)
    key: str = Field(primary_key=True)
    """See `core.llm.call_keys`."""
    run_id: int = Field(sa_column=owner_column("run.id"))
    """The run that made the call."""
    reply: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class PendingCallRow(Table, table=True):
    """A call that was sent and whose reply is not stored. If its worker has ended, the call was interrupted."""

    __tablename__ = "pending_call"
    __table_args__ = (Index(None, "run_id"), Index(None, "worker", "key"))
    id: int = Field(default=None, primary_key=True)
    run_id: int = Field(sa_column=owner_column("run.id"))
    key: str
    worker: str
    """The worker's claim of the run."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class UnreadReplyRow(Table, table=True):
    """A reply that the parser could not read, one per turn.

    The rows follow from the events; they make replies that are to be read by a person countable and listable.
    """

    __tablename__ = "unread_reply"
    __table_args__ = (
        UniqueConstraint("trace_id", "ask"),
        Index(None, "study_id", "read_by", "id"),
        Index(None, "run_id"),
    )
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    run_id: int = Field(sa_column=owner_column("run.id"))
    trace_id: int = Field(sa_column=owner_column("trace.id"))
    ask: int
    seq: int
    """The event with the turn."""
    judge: str
    step: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    """The reason why it is unreadable, without details of the reply: see `storage.unread.reason_without_details`."""
    read_by: str = ""
    """Empty while it is unreadable; otherwise "parser" (of a later version), "extractor: MODEL" or "person: NAME"."""


class OpinionRow(Table, table=True):
    """A judge's value for a target at one stage of a trace."""

    __tablename__ = "opinion"
    __table_args__ = (Index(None, "study_id", "stage"), Index(None, "target_id"), Index(None, "trace_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    run_id: int = Field(sa_column=owner_column("run.id"))
    trace_id: int = Field(sa_column=owner_column("trace.id"))
    target_id: int = Field(sa_column=owner_column("target.id"))
    judge: str
    stage: str
    value: Any = Field(default=None, sa_column=value_column())
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    outcome: str | None = None
    """The outcome of a verdict's criterion if the trace judges several; None for the trace's."""
    contention: float | None = None
    """The contention of a verdict's criterion if the trace judges several; None for the trace's."""


class AiuEditRow(Table, table=True):
    """An edit of an item's AIUs. Rows are never changed; `number` counts an item's edits from 1."""

    __tablename__ = "aiu_edit"
    __table_args__ = (UniqueConstraint("item_id", "number"), Index(None, "study_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    item_id: int = Field(sa_column=owner_column("item.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    number: int
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
