"""The parent of all tables, and the columns that many tables have.

The tables have their own registry, so a hot reload can import their modules twice, and a naming convention, so
migrations can name every constraint.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, ForeignKey, Integer, MetaData
from sqlalchemy.orm import registry
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from storage.db.columns import Json

NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Table(SQLModel, registry=registry(metadata=MetaData(naming_convention=NAMING_CONVENTION))):
    """The parent of all tables."""

    # Rows are made without validation; to build the validators of all tables takes every command 30 ms.
    model_config = {"defer_build": True}


def now() -> datetime:
    """Return the current time in UTC, with its zone."""
    return datetime.now(UTC)


def datetime_column(*, optional: bool = False) -> Any:
    """Return a column for a time in UTC."""
    return Column(UTCDateTime(), nullable=optional)


def value_column() -> Any:
    """Return a column for the value of a label or an opinion: SQL NULL, not JSON null, if it is missing."""
    return Column(Json(none_as_null=True), nullable=True)


def owner_column(target: str, *, key: bool = False) -> Any:
    """Return a foreign key with ON DELETE CASCADE."""
    return Column(Integer, ForeignKey(target, ondelete="CASCADE"), nullable=False, primary_key=key, autoincrement=False)
