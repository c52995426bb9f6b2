"""Tables of what models do: experiments, runs, traces, events, calls, opinions and edited AIUs."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Text, UniqueConstraint, false, text
from sqlmodel import Field
from sqlmodel.sql.sqltypes import AutoString

from core.llm.defaults import PARALLEL_CALLS
from storage.json_columns import Json
from storage.tables.table import Table, datetime_column, now, owner_column, value_column


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
    traces: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default=text("0")))
    """The number of its traces: see `storage.run_sizes`."""
    call_totals: Any = Field(default=None, sa_column=value_column())
    """Name -> sum over its calls, of a run that has ended: see `storage.call_totals`."""


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
    uncertainty: float = 0.0
    """See `core.uncertainty`."""
    contention: float | None = None
    """See `core.contention`; None if there is no verdict, or if it cannot be computed."""
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
