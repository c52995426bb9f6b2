"""The results of actions, by study, annotator, client and sequence number."""

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import insert_all
from storage.json_columns import sanitize
from storage.labelling.work import Json, Work
from storage.tables import ActionRow, now


def save_result(session: Session, work: Work, client: str, seq: int, result: Json) -> None:
    """Store the result of an action."""
    row = {"study_id": work.study.id, "annotator_id": work.annotator_id, "client": client, "seq": seq, "at": now()}
    insert_all(session, ActionRow, [row | {"result": sanitize(result)}])


def stored_result(session: Session, work: Work, client: str, seq: int) -> Json | None:
    """Return the stored result of an action; None if it was not carried out."""
    query = select(col(ActionRow.result)).where(*_of_client(work, client), col(ActionRow.seq) == seq)
    return session.scalars(query).first()


def last_and_stored(session: Session, work: Work, client: str, seq: int) -> tuple[int | None, Json | None]:
    """Return the highest number of a client's actions, None for a new client, and what `stored_result` returns."""
    last = select(func.max(col(ActionRow.seq))).where(*_of_client(work, client)).scalar_subquery()
    stored = select(col(ActionRow.result)).where(*_of_client(work, client), col(ActionRow.seq) == seq)
    row = session.execute(select(last, stored.scalar_subquery())).one()
    return row[0], row[1]


def _of_client(work: Work, client: str) -> tuple[Any, ...]:
    return (
        col(ActionRow.study_id) == work.study.id,
        col(ActionRow.annotator_id) == work.annotator_id,
        col(ActionRow.client) == client,
    )
