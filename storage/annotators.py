"""The people who label, rule and look; for now they say their name, on a server that only this machine reaches."""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.problems import Problem
from storage.database import insert_new
from storage.tables import AnnotatorRow, now

LONGEST_NAME = 80


def name_of(text: str) -> str:
    """A name as it is kept: one line, no blanks around it."""
    name = " ".join(text.split())
    if not name:
        raise Problem("Please enter a name.")
    if len(name) > LONGEST_NAME:
        raise Problem(f"A name has at most {LONGEST_NAME} characters.")
    if not name.isprintable():
        raise Problem("A name has only characters that can be seen.")
    return name


def find(session: Session, name: str) -> int | None:
    """The number of the annotator called `name`; None for somebody who has not done anything yet."""
    return session.scalars(select(col(AnnotatorRow.id)).where(col(AnnotatorRow.name) == name_of(name))).first()


def annotator_id(session: Session, name: str) -> int:
    """The number of the annotator called `name`, who is made known where they are new."""
    found = find(session, name)
    return found if found is not None else annotator_ids(session, [name])[name]


def annotator_ids(session: Session, names: Iterable[str]) -> dict[str, int]:
    """The same for many names at once, by the names as given."""
    wanted = {name: name_of(name) for name in names}
    known = _everybody(session)
    new = sorted(set(wanted.values()) - known.keys())
    if new:
        insert_new(session, AnnotatorRow, [{"name": name, "created_at": now()} for name in new])
        known = _everybody(session)
    return {given: known[name] for given, name in wanted.items()}


def names(session: Session) -> list[str]:
    """Everybody known, by name."""
    return sorted(_everybody(session))


def _everybody(session: Session) -> dict[str, int]:
    return dict(session.execute(select(col(AnnotatorRow.name), col(AnnotatorRow.id))).all())
