"""Operations of the storage with a session of their own."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from storage.db.connections import reading, writing

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def read(
    engine: Engine,
    operation: Callable[Concatenate[Session, Arguments], Result],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Result:
    """Return what an operation reads in a session of its own."""
    with reading(engine) as session:
        return operation(session, *arguments, **named)


def write(
    engine: Engine,
    operation: Callable[Concatenate[Session, Arguments], Result],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Result:
    """Return the result of an operation in a session of its own, which is stored at its end."""
    with writing(engine) as session:
        return operation(session, *arguments, **named)
