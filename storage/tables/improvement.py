"""Tables of improving a judge: the parts of items, variants, evaluations on held-out items, versions of criteria."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Text, UniqueConstraint
from sqlmodel import Field

from storage.json_columns import Json
from storage.tables.table import Table, datetime_column, now, owner_column, value_column


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
