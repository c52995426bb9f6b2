"""Tables of what models do: experiments, runs, traces, events, calls, opinions and edited AIUs."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Text, UniqueConstraint, false, text
from sqlmodel import Field
from sqlmodel.sql.sqltypes import AutoString

from core.llm import PARALLEL_CALLS
from storage.db.columns import Json
from storage.db.tables.table import Table, datetime_column, now, owner_column, value_column


class DeletedRunRow(Table, table=True):
    """A deleted run, which can be restored for some time; see `storage.transfer.deletions`."""

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
    parallel: int = PARALLEL_CALLS
    """Concurrent calls to one model."""
    extractor: Any = Field(default=None, sa_column=value_column())
    """The model that is asked which value an unreadable reply states; None for none."""
    pairs: str = Field(default="", sa_column=Column(AutoString(), nullable=False, server_default=""))
    """Which pairs of responses are compared, as `core.items.Pairs` has it; empty if it has no such setting."""
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
    traces: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default=text("0")))
    """The number of its traces: see `storage.runs.call_totals`."""
    call_totals: Any = Field(default=None, sa_column=value_column())
    """Name -> sum over its calls, of a run that has ended: see `storage.runs.call_totals`."""


CLAIMED = text("claimed_by IS NOT NULL")


class TraceRow(Table, table=True):
    """One item, or one pair of its responses, in a run."""

    __tablename__ = "trace"
    __table_args__ = (
        UniqueConstraint("run_id", "item_id", "part"),
        Index(None, "study_id", "outcome"),
        Index(None, "run_id", "outcome"),
        Index(
            "ix_trace_study_id_contention_item_id_run_id",
            "study_id",
            text("contention DESC"),
            "item_id",
            text("run_id DESC"),
        ),
        # On PostgreSQL too (migration 0016); its option would import its dialect in every process, for 0.02 s.
        Index(None, "claimed_by", sqlite_where=CLAIMED),
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
    uncertainty: float = 0.0  # of earlier versions: nothing reads it
    contention: float | None = None
    """See `core.verdicts`; None if there is no verdict, or if it cannot be computed."""
    shown_orders: Any = Field(default=None, sa_column=value_column())
    """The distinct orders in which its turns show the responses, sorted; None until it has a verdict."""
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
    """The reply to a call, which any run of the database can reuse; see `storage.runs.calls`."""

    __tablename__ = "call"
    __table_args__ = (Index(None, "run_id"),)
    key: str = Field(primary_key=True)
    """See `core.llm.reuse`."""
    run_id: int = Field(sa_column=owner_column("run.id"))
    """The run that made the call."""
    reply: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class PendingCallRow(Table, table=True):
    """A call that is about to be sent, or was sent, and whose reply is not stored.

    If its worker has ended, the call was interrupted.
    """

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
    """The reason why it is unreadable, without details of the reply: `storage.runs.outcomes.reason_without_details`."""
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


# Tables of workers that share runs: who they are, which calls they make, and what the runs have cost.


class WorkerRow(Table, table=True):
    """A worker that executes single traces. It is alive while it renews `seen_at`; see `storage.runs.calls`."""

    __tablename__ = "worker"
    id: int = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    """Also in `claimed_by` of the traces that it executes."""
    seen_at: datetime = Field(sa_column=datetime_column())
    """By the clock of the database."""


class ReservationRow(Table, table=True):
    """A call to a model in progress. It occupies one of the concurrent calls of its run to the model."""

    __tablename__ = "reservation"
    __table_args__ = (Index(None, "run_id", "model"), Index(None, "worker_id"))
    id: int = Field(default=None, primary_key=True)
    run_id: int = Field(sa_column=owner_column("run.id"))
    worker_id: int = Field(sa_column=owner_column("worker.id"))
    model: str
    dollars: float = 0.0
    """The most that it can cost, reserved from the ceiling of the run."""


class SpendingRow(Table, table=True):
    """What the calls of a run with a ceiling have cost, including calls whose events could not be stored."""

    __tablename__ = "spending"
    run_id: int = Field(sa_column=owner_column("run.id", key=True))
    dollars: float = 0.0


class ModelPauseRow(Table, table=True):
    """Until when a provider lets a model be called by no process; see `storage.runs.calls`."""

    __tablename__ = "model_pause"
    model: str = Field(primary_key=True)
    """The model with its address, as in the reservations."""
    until: datetime = Field(sa_column=datetime_column())
    """By the clock of the database."""


# Tables of improving a judge: the parts of items, variants, evaluations on held-out items, versions of criteria.


class SplitRow(Table, table=True):
    """The split of a study's items, and the rule of acceptance that was fixed with it. It never changes."""

    __tablename__ = "split"
    __table_args__ = (UniqueConstraint("study_id"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    share: float
    """Of held-out items."""
    seed: int
    rule: Any = Field(sa_column=Column(Json, nullable=False))
    """`core.improvement.comparison.AcceptanceRule`."""
    author: str
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class ItemPartRow(Table, table=True):
    """The part of an item. Rows are added when items get gold, and never changed."""

    __tablename__ = "item_part"
    __table_args__ = (UniqueConstraint("item_id"), Index(None, "study_id", "held_out"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    item_id: int = Field(sa_column=owner_column("item.id"))
    held_out: bool = Field(sa_column=Column(Boolean, nullable=False))


class VariantRow(Table, table=True):
    """A proposed change of a judge. Only `development` changes."""

    __tablename__ = "variant"
    __table_args__ = (UniqueConstraint("study_id", "name"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    name: str
    kind: str
    criterion: str
    protocol: str
    base: Any = Field(sa_column=Column(Json, nullable=False))
    """The current judge as a settings file, with every template that differs from the protocol's."""
    seed: int
    changes: Any = Field(sa_column=Column(Json, nullable=False))
    """`core.improvement.changes.Changes`."""
    assignments: Any = Field(sa_column=Column(Json, nullable=False))
    """Path -> value of what the changes set in the base."""
    origin: str
    """"person", or "model: NAME"."""
    author: str
    development: str | None = None
    """The name of its newest experiment on development items."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class HeldOutUseRow(Table, table=True):
    """The evaluation of a variant on held-out items: one for each variant. Only `result` is added, once."""

    __tablename__ = "held_out_use"
    __table_args__ = (UniqueConstraint("variant_id"), Index(None, "study_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    variant_id: int = Field(sa_column=owner_column("variant.id"))
    author: str
    experiment: str
    result: Any = Field(default=None, sa_column=value_column())
    """`core.improvement.comparison.PairedResult`; None until its runs have ended."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class CriterionVersionRow(Table, table=True):
    """A version of a criterion and of the prompts of a protocol, numbered from 1. Rows are never changed."""

    __tablename__ = "criterion_version"
    __table_args__ = (UniqueConstraint("study_id", "criterion", "version"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    criterion: str
    version: int
    body: Any = Field(sa_column=Column(Json, nullable=False))
    protocol: str
    prompts: Any = Field(sa_column=Column(Json, nullable=False))
    """Template name -> text, if it differs from the protocol's."""
    variant_id: int | None = Field(
        default=None, sa_column=Column(Integer, ForeignKey("variant.id", ondelete="CASCADE"), nullable=True)
    )
    """The accepted variant; None for a version that was not found here."""
    note: str = Field(sa_column=Column(Text, nullable=False))
    author: str
    at: datetime = Field(default_factory=now, sa_column=datetime_column())
