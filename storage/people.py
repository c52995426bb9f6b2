"""The people who label, rule and look; for now they say their name, on a server that only this machine reaches."""

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.problems import Problem
from storage.tables import AnnotatorRow

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


def annotator_id(session: Session, name: str) -> int:
    """The number of the annotator called `name`, who is made known where they are new."""
    return annotator_ids(session, [name])[name]


def annotator_ids(session: Session, names: list[str]) -> dict[str, int]:
    """The same for many names at once."""
    known = dict(session.execute(select(col(AnnotatorRow.name), col(AnnotatorRow.id))).tuples().all())
    new = [AnnotatorRow(name=name) for name in dict.fromkeys(names) if name not in known]
    session.add_all(new)
    session.flush()
    return known | {row.name: row.id for row in new}


def names(session: Session) -> list[str]:
    """Everybody known, by name."""
    return list(session.scalars(select(col(AnnotatorRow.name)).order_by(col(AnnotatorRow.name))).all())
