"""The results of actions, by study, annotator, client and sequence number."""

from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import execute, insert_all
from storage.json_columns import sanitize
from storage.labelling.work import Json, Work
from storage.tables import ActionRow, now


def save_result(session: Session, work: Work, client: str, seq: int, result: Json) -> None:
    """Store the result of an action."""
    row = {"study_id": work.study.id, "annotator_id": work.annotator_id, "client": client, "seq": seq, "at": now()}
    insert_all(session, ActionRow, [row | {"result": sanitize(result)}])


def stored_result(session: Session, work: Work, client: str, seq: int) -> Json | None:
    """Return the stored result of an action; None if it was not carried out."""
    result: Json | None = execute(session, _query(), parameters(work, client, seq)).scalar_one()
    return result


def parameters(work: Work, client: str, seq: int) -> dict[str, Any]:
    """Return the parameters of `columns`."""
    return {"study": work.study.id, "annotator": work.annotator_id, "client": client, "seq": seq}


@cache  # to build the query takes longer than to execute it
def _query() -> Select[*tuple[Any, ...]]:
    return select(columns()[1])


def columns() -> tuple[Any, Any]:
    """Return the highest number of a client's actions, null for a new client, and the stored result of one action."""
    own = (
        col(ActionRow.study_id) == bindparam("study"),
        col(ActionRow.annotator_id) == bindparam("annotator"),
        col(ActionRow.client) == bindparam("client"),
    )
    stored = select(col(ActionRow.result)).where(*own, col(ActionRow.seq) == bindparam("seq"))
    return select(func.max(col(ActionRow.seq))).where(*own).scalar_subquery(), stored.scalar_subquery()
