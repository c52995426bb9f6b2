"""The tables. They have a registry and a naming convention of their own, so that a hot reload can import them twice."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, Text, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from storage.json_columns import Json

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Table(SQLModel, registry=registry(metadata=MetaData(naming_convention=NAMES))):
    """The root of all tables."""


def now() -> datetime:
    """The present moment, with its zone."""
    return datetime.now(UTC)


def _moment(*, optional: bool = False) -> Any:
    return Column(UTCDateTime(), nullable=optional)


def _value() -> Any:
    """A label's or a judge's value; NULL where there is none, so that SQL can ask for it."""
    return Column(Json(none_as_null=True), nullable=True)


def _owner(target: str, *, key: bool = False) -> Any:
    """A reference whose row goes when its owner goes."""
    return Column(Integer, ForeignKey(target, ondelete="CASCADE"), nullable=False, primary_key=key, autoincrement=False)


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
    created_at: datetime = Field(default_factory=now, sa_column=_moment())


class CriterionRow(Table, table=True):
    """A criterion of a study."""

    __tablename__ = "criterion"
    __table_args__ = (UniqueConstraint("study_id", "name"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    name: str
    body: Any = Field(sa_column=Column(Json, nullable=False))


class ScaleRow(Table, table=True):
    """The declared scale of one kind and criterion."""

    __tablename__ = "scale"
    __table_args__ = (UniqueConstraint("study_id", "kind", "criterion"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    kind: str
    criterion: str
    body: Any = Field(sa_column=Column(Json, nullable=False))


class ItemRow(Table, table=True):
    """An item; `key` is the study's own name for it, `position` its place in the file."""

    __tablename__ = "item"
    __table_args__ = (UniqueConstraint("study_id", "key"), Index(None, "study_id", "position"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    key: str
    position: int
    scenario: str | None = None
    cluster: str | None = None
    body: Any = Field(sa_column=Column(Json, nullable=False))


class TargetRow(Table, table=True):
    """What a person and a protocol can both judge."""

    __tablename__ = "target"
    __table_args__ = (UniqueConstraint("item_id", "kind", "criterion", "part"), Index(None, "study_id", "kind"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    item_id: int = Field(sa_column=_owner("item.id"))
    kind: str
    criterion: str
    part: str


class AnnotatorRow(Table, table=True):
    """A person who labels, rules or looks."""

    __tablename__ = "annotator"
    id: int = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    created_at: datetime = Field(default_factory=now, sa_column=_moment())


class LabelRow(Table, table=True):
    """One label as it was given. Rows are only ever added; the newest of an annotator stands."""

    __tablename__ = "label"
    __table_args__ = (
        Index(None, "target_id", "annotator_id", "id"),
        Index(None, "study_id", "id"),
        UniqueConstraint("origin"),
    )
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    target_id: int = Field(sa_column=_owner("target.id"))
    annotator_id: int = Field(sa_column=_owner("annotator.id"))
    value: Any = Field(default=None, sa_column=_value())
    blind: bool = True
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    seconds: float | None = None
    at: datetime | None = Field(default=None, sa_column=_moment(optional=True))
    """When it was given; None where a file did not say."""
    origin: str
    """A hash of what was said, so that the same file twice adds nothing."""


class SeenRow(Table, table=True):
    """That an annotator was shown the judges' trace or other people's labels of a target."""

    __tablename__ = "seen"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=_owner("target.id"))
    annotator_id: int = Field(sa_column=_owner("annotator.id"))
    at: datetime = Field(default_factory=now, sa_column=_moment())


class LeaseRow(Table, table=True):
    """A target held for one annotator for a while."""

    __tablename__ = "lease"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=_owner("target.id"))
    annotator_id: int = Field(sa_column=_owner("annotator.id"))
    until: datetime = Field(sa_column=_moment())


class DraftRow(Table, table=True):
    """What an annotator has entered and not yet submitted."""

    __tablename__ = "draft"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=_owner("target.id"))
    annotator_id: int = Field(sa_column=_owner("annotator.id"))
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now, sa_column=_moment())


class MarkRow(Table, table=True):
    """A skip, a flag or a note; the newest of each sort stands."""

    __tablename__ = "mark"
    __table_args__ = (Index(None, "target_id", "annotator_id"), UniqueConstraint("origin"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=_owner("target.id"))
    annotator_id: int = Field(sa_column=_owner("annotator.id"))
    mark: str
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    on: bool = True
    at: datetime | None = Field(default=None, sa_column=_moment(optional=True))
    origin: str


class RulingRow(Table, table=True):
    """An adjudication; the newest stands."""

    __tablename__ = "ruling"
    __table_args__ = (Index(None, "target_id", "id"), UniqueConstraint("origin"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=_owner("target.id"))
    annotator_id: int = Field(sa_column=_owner("annotator.id"))
    value: Any = Field(sa_column=Column(Json, nullable=False))
    rule: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime | None = Field(default=None, sa_column=_moment(optional=True))
    origin: str


class RunRow(Table, table=True):
    """One protocol with one settings over many items."""

    __tablename__ = "run"
    __table_args__ = (UniqueConstraint("study_id", "name"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    name: str
    protocol: str
    criterion: str = ""
    settings: Any = Field(sa_column=Column(Json, nullable=False))
    prompts: Any = Field(sa_column=Column(Json, nullable=False))
    seed: int = 0
    ceiling: float | None = None
    """Dollars at which the run stops."""
    parallel: int = 8
    """Calls at once to one model."""
    source: str = "live"
    state: str = "requested"
    """requested, cancelling, cancelled, stopped (at the ceiling, or by trouble: see problem), finished."""
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    carried_by: str | None = None
    """The process that drives it now, until `carried_until` unless it says so again."""
    carried_until: datetime | None = Field(default=None, sa_column=_moment(optional=True))
    created_at: datetime = Field(default_factory=now, sa_column=_moment())
    ended_at: datetime | None = Field(default=None, sa_column=_moment(optional=True))


class TraceRow(Table, table=True):
    """One item in a run. `claimed_until` in the future means that somebody carries it now."""

    __tablename__ = "trace"
    __table_args__ = (
        UniqueConstraint("run_id", "item_id"),
        Index(None, "study_id", "outcome"),
        Index(None, "run_id", "outcome", "claimed_until"),
    )
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    run_id: int = Field(sa_column=_owner("run.id"))
    item_id: int = Field(sa_column=_owner("item.id"))
    outcome: str = "waiting"
    """waiting, failed, agreed, disputed, no_verdict."""
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    doubt: float = 0.0
    """How much a person's decision would tell: the entropy of the judges' last opinions, then changes of mind."""
    claimed_by: str | None = None
    claimed_until: datetime | None = Field(default=None, sa_column=_moment(optional=True))


class EventRow(Table, table=True):
    """One event. Prompts are kept apart from the body: a list of turns does not need them."""

    __tablename__ = "event"
    __table_args__ = (Index(None, "run_id", "type"),)
    trace_id: int = Field(sa_column=_owner("trace.id", key=True))
    seq: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    run_id: int = Field(sa_column=_owner("run.id"))
    type: str
    body: Any = Field(sa_column=Column(Json, nullable=False))
    prompt: str = Field(default="", sa_column=Column(Text, nullable=False))
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None
    at: datetime = Field(default_factory=now, sa_column=_moment())


class OpinionRow(Table, table=True):
    """A judge's value for a target at one stage of a trace."""

    __tablename__ = "opinion"
    __table_args__ = (Index(None, "study_id", "stage"), Index(None, "target_id"), Index(None, "trace_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    run_id: int = Field(sa_column=_owner("run.id"))
    trace_id: int = Field(sa_column=_owner("trace.id"))
    target_id: int = Field(sa_column=_owner("target.id"))
    judge: str
    stage: str
    value: Any = Field(default=None, sa_column=_value())
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))


class AiuEditRow(Table, table=True):
    """A change of an item's AIUs. Rows are only ever added; `number` counts an item's edits from 1."""

    __tablename__ = "aiu_edit"
    __table_args__ = (UniqueConstraint("item_id", "number"), Index(None, "study_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=_owner("study.id"))
    item_id: int = Field(sa_column=_owner("item.id"))
    annotator_id: int = Field(sa_column=_owner("annotator.id"))
    number: int
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime | None = Field(default=None, sa_column=_moment(optional=True))
