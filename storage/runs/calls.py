"""Replies of models by the key of their call (`core.llm.wire`), and the calls that wait for a reply.

The replies are shared by all runs of a database, so a call is paid once. A call that is about to be sent is pending
until its reply is stored; a pending call whose worker has ended was interrupted, and may have been paid (decision 018).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, and_, bindparam, cast, delete, false, func, not_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.db.columns import sanitize
from storage.db.connections import clock, execute, insert_all, upsert_all
from storage.db.tables import CallRow, PendingCallRow, RunRow, Table, now

if TYPE_CHECKING:
    from core.llm.client import Reply


# In place of its name: people who see one study may have no access to the other.
OTHER_STUDY = "a run of another study"


# Statements that are executed often are built once: that takes longer than to execute them.
_FIND = (
    select(col(CallRow.key), cast(col(CallRow.reply), Text), col(RunRow.name), col(RunRow.study_id))
    .join(RunRow, col(RunRow.id) == col(CallRow.run_id))
    .where(col(CallRow.key).in_(bindparam("keys", expanding=True)))
)
_FIND_OF_RUN = _FIND.where(col(CallRow.run_id) == bindparam("run"))
_ABANDON = delete(Table.metadata.tables["pending_call"]).where(
    col(PendingCallRow.worker) == bindparam("by"), col(PendingCallRow.key).in_(bindparam("keys", expanding=True))
)


def find(session: Session, keys: Sequence[str], study_id: int, *, run_id: int | None = None) -> dict[str, "Reply"]:
    """Return key -> stored reply, with the name of the run that made the call if it is of the study.

    With `run_id`, only calls of one run are found.
    """
    from core.llm.client import Reply  # the clients of models: most that import this module find no replies

    statement = _FIND if run_id is None else _FIND_OF_RUN
    rows = execute(session, statement, {"keys": list(keys), "run": run_id})
    return {
        key: Reply.model_validate_json(body).model_copy(update={"reused": name if owner == study_id else OTHER_STUDY})
        for key, body, name, owner in rows
    }


def begin(session: Session, run_id: int, worker: str, keys: Sequence[str]) -> None:
    """Record that calls are about to be sent."""
    at = now()
    rows = [{"run_id": run_id, "key": key, "worker": worker, "at": at} for key in keys]
    insert_all(session, PendingCallRow, rows)


def save(session: Session, run_id: int, replies: Mapping[str, "Reply"]) -> None:
    """Store the replies to calls; each replaces an earlier one of the same key."""
    at = now()
    rows = [
        {"key": key, "run_id": run_id, "reply": sanitize(reply.model_dump(mode="json", exclude={"reused"})), "at": at}
        for key, reply in sorted(replies.items())  # all transactions take locks in the same order
    ]
    upsert_all(session, CallRow, ["key"], rows)


def abandon(session: Session, worker: str, keys: Sequence[str]) -> None:
    """Remove the records of calls that have ended, with or without a reply."""
    execute(session, _ABANDON, {"by": worker, "keys": list(keys)})


def dollars(session: Session, run_ids: Sequence[int]) -> float:
    """Return what the stored calls of runs cost, as far as it is known."""
    cost = col(CallRow.reply)["usage"]["dollars"].as_float()
    return session.scalars(select(func.sum(cost)).where(col(CallRow.run_id).in_(run_ids))).one() or 0.0


def count_interrupted(session: Session, run_ids: Sequence[int]) -> dict[int, int]:
    """Return run id -> number of calls that were pending when their worker ended: sent, or about to be sent."""
    at = clock(session)
    is_alive = and_(col(RunRow.claimed_by) == col(PendingCallRow.worker), col(RunRow.claimed_until) > at)
    is_ended = not_(func.coalesce(is_alive, false()))
    query = (
        select(col(PendingCallRow.run_id), func.count())
        .join(RunRow, and_(col(RunRow.id) == col(PendingCallRow.run_id), is_ended))
        .where(col(PendingCallRow.run_id).in_(run_ids))
        .group_by(col(PendingCallRow.run_id))
    )
    return dict(session.execute(query).all())


# The models in stored settings of runs, which may be of an earlier version or of a protocol that is not installed.

# The fields of a model that only owners of a study set.
OPERATED = ("address", "key_variable", "prompt_price", "completion_price")


def stored_models(settings: Any) -> Iterator[tuple[object, ...]]:
    """Yield the name of every model in nested settings, with its OPERATED fields."""
    if isinstance(settings, dict):
        if "model" in settings:
            yield (settings["model"], *(settings.get(name) for name in OPERATED))
        settings = list(settings.values())
    for value in settings if isinstance(settings, list) else ():
        yield from stored_models(value)


def key_variables(settings: Any) -> list[str]:
    """Return the names of the variables whose keys the models of nested settings name."""
    position = OPERATED.index("key_variable") + 1
    return sorted({str(values[position]) for values in stored_models(settings) if values[position] is not None})


def model_names(settings: Any) -> list[str]:
    """Return the names of the models in nested settings."""
    return sorted({str(name) for name, *_ in stored_models(settings)})
