"""Annotators: the people who label, adjudicate and view results, by name.

An annotator can have an account (`storage.accounts`). Without any account a name is enough to sign in.
"""

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.annotator_names import MAX_NAME_LENGTH as MAX_NAME_LENGTH
from core.annotator_names import name_key, similarity_key
from core.annotator_names import normalize_name as normalize_name
from core.errors import TiebreakError
from storage.db.connections import insert_missing
from storage.db.tables import AnnotatorRow, now


def find_id(session: Session, name: str) -> int | None:
    """Return the id of the annotator called `name`, in any case; None for one without any activity yet."""
    query = select(col(AnnotatorRow.id)).where(col(AnnotatorRow.name) == normalize_name(name))
    found = session.scalars(query).first()
    return found if found is not None else _resolve([name], _ids_by_name(session)).get(name)


def stored_name(session: Session, name: str) -> str:
    """Return the name of the annotator called `name`, in any case, as it is stored; of a new one as it will be."""
    found = find_id(session, name)
    return normalize_name(name) if found is None else session.get_one(AnnotatorRow, found).name


def get_or_create_id(session: Session, name: str) -> int:
    """Return the id of the annotator called `name`, in any case, who is added if new."""
    existing = find_id(session, name)
    return existing if existing is not None else get_or_create_ids(session, [name])[name]


def get_or_create_ids(session: Session, names: Iterable[str]) -> dict[str, int]:
    """Return name -> id for many annotators, with the names as passed; those that differ in case only are one.

    Raises TiebreakError if two of the names differ in case only: their labels of one target could not both count.
    """
    names = list(names)
    normalized = {name: normalize_name(name) for name in names}
    known = _ids_by_name(session)
    _check_case({*normalized.values()} - known.keys(), normalized.values())
    found = _resolve(names, known)
    new = sorted({normalized[name] for name in names if name not in found})
    if new:
        insert_missing(session, AnnotatorRow, [{"name": name, "created_at": now()} for name in new])
        found = _resolve(names, _ids_by_name(session))
    return found


def _check_case(unknown: Collection[str], names: Iterable[str]) -> None:
    """Raise TiebreakError if a name without an annotator differs from another one in case only."""
    spellings: dict[str, str] = {}
    for name in sorted(set(names), key=lambda name: name in unknown):
        other = spellings.setdefault(name_key(name), name)
        if other != name and name in unknown:
            raise TiebreakError(
                f"The annotators {other!r} and {name!r} differ in case only and would be two: write one name."
            )


def _resolve(names: Iterable[str], known: Mapping[str, int]) -> dict[str, int]:
    """Return name -> id of those that are known: exactly so, otherwise in another case."""
    by_key = {name_key(name): known[name] for name in sorted(known, reverse=True)}
    ids = ((name, known.get(normalize_name(name), by_key.get(name_key(name)))) for name in names)
    return {name: id for name, id in ids if id is not None}


def names(session: Session) -> list[str]:
    """Return the names of all annotators, sorted."""
    return sorted(_ids_by_name(session))


def similar_names(session: Session, name: str) -> list[str]:
    """Return the names of other annotators that look like a name; none if an annotator has this name in any case."""
    if find_id(session, name) is not None:
        return []
    key = similarity_key(name)
    return [other for other in names(session) if similarity_key(other) == key]


def _ids_by_name(session: Session) -> dict[str, int]:
    return dict(session.execute(select(col(AnnotatorRow.name), col(AnnotatorRow.id))).all())
