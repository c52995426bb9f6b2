"""Tables of a study's content: guidelines, criteria, scales, items, targets, and the annotators of all studies."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, Index, Integer, Text, UniqueConstraint, false, text
from sqlmodel import Field

from storage.db.columns import Json
from storage.db.tables.table import Table, datetime_column, now, owner_column


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
    """How often a run was deleted or restored, or labels became another annotator's: numbers of rows alone do not show
    it (see `storage.labels.labels.version`)."""


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
    """Annotators with a current label that counts towards the overlap; see `storage.labels.targets`."""
    disputed: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether a trace has no agreement on it, or labels were requested; see `storage.labels.targets`."""


class AnnotatorRow(Table, table=True):
    """A person who labels, adjudicates or views results."""

    __tablename__ = "annotator"
    id: int = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())
