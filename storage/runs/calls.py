"""Replies of models by the key of their call (`core.llm.wire`), and the calls that wait for a reply.

The replies are shared by all runs of a database, so a call is paid once. A call that is about to be sent is pending
until its reply is stored; a pending call whose worker has ended was interrupted, and may have been paid (decision 018).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    false,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, Session
from sqlmodel import col

from storage.db.columns import sanitize
from storage.db.connections import clock, execute, insert_all, upsert, upsert_all
from storage.db.tables import CallRow, ModelPauseRow, PendingCallRow, RunRow, Table, WorkerRow, now

if TYPE_CHECKING:
    from core.llm.client import Reply


# Workers that share the runs of a PostgreSQL database; each is registered while it is alive.

# A worker that is not seen for this time has crashed: others continue its traces.
WORKER_LEASE = timedelta(seconds=15)


def register_worker(session: Session, name: str) -> int:
    """Register a worker under a name that none had before, and return its id."""
    query = insert(WorkerRow.__table__).values(name=name, seen_at=clock(session)).returning(col(WorkerRow.id))  # type: ignore[attr-defined]
    return int(session.execute(query).scalar_one())


def renew_worker(session: Session, worker_id: int) -> bool:
    """Record that a worker is alive; return False if it has been removed: others may have claimed its traces."""
    query = update(WorkerRow).where(col(WorkerRow.id) == worker_id).values(seen_at=clock(session))
    return session.execute(query.returning(col(WorkerRow.id))).first() is not None


def remove_worker(session: Session, worker_id: int) -> None:
    """Remove a worker that ends, with its calls."""
    session.execute(delete(WorkerRow).where(col(WorkerRow.id) == worker_id))


def remove_crashed_workers(session: Session) -> None:
    """Remove the workers that are not alive; the reservations of their calls are deleted with them."""
    session.execute(delete(WorkerRow).where(col(WorkerRow.seen_at) <= clock(session) - WORKER_LEASE))


def count_workers(session: Session) -> int:
    """Return the number of workers that are alive."""
    return session.scalar(select(func.count()).where(col(WorkerRow.seen_at) > clock(session) - WORKER_LEASE)) or 0


def is_worker_alive(name: Mapped[str | None], at: datetime) -> ColumnElement[bool]:
    """Return whether a worker of this name is alive."""
    return (
        select(col(WorkerRow.id))
        .where(col(WorkerRow.name) == name, col(WorkerRow.seen_at) > at - WORKER_LEASE)
        .exists()
    )


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


def save(session: Session, run_id: int, worker: str, replies: Mapping[str, "Reply"]) -> None:
    """Store the replies to calls, which are then no longer pending; each replaces an earlier one of the same key."""
    at = now()
    rows = [
        {"key": key, "run_id": run_id, "reply": sanitize(reply.model_dump(mode="json", exclude={"reused"})), "at": at}
        for key, reply in sorted(replies.items())  # all transactions take locks in the same order
    ]
    upsert_all(session, CallRow, ["key"], rows)
    abandon(session, worker, list(replies))


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
    is_alone = and_(col(RunRow.claimed_by) == col(PendingCallRow.worker), col(RunRow.claimed_until) > at)
    is_ended = not_(or_(func.coalesce(is_alone, false()), is_worker_alive(col(PendingCallRow.worker), at)))
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


# Pauses that providers have asked for with Retry-After: every process on the database observes them.


def pause_key(model: object, address: object) -> str:
    """Return the name under which the pause of a model at an address is stored; None is the provider's own address."""
    return f"{model} {address or ''}"


def record_pause(session: Session, model: str, seconds: float) -> None:
    """Let no process call a model, named with its address, for some seconds; a longer pause remains."""
    at = clock(session)
    session.execute(delete(ModelPauseRow).where(col(ModelPauseRow.until) <= at))
    if remaining_pause(session).get(model, 0.0) < seconds:
        upsert(session, ModelPauseRow, ["model"], {"model": model, "until": at + timedelta(seconds=seconds)})


def remaining_pause(session: Session) -> dict[str, float]:
    """Return the models that may not be called now, each with the remaining seconds."""
    return {model: seconds for model, (_, seconds) in _pauses(session).items()}


def describe_pauses(session: Session, run_ids: Collection[int]) -> dict[int, str]:
    """Return run id -> until when its models may not be called, of those of the requested runs for which it is so.

    Each text is a sentence without its full stop.
    """
    pauses = _pauses(session)
    if not pauses:
        return {}
    query = select(col(RunRow.id), col(RunRow.settings), col(RunRow.extractor))
    rows = session.execute(query.where(col(RunRow.id).in_(run_ids), col(RunRow.state) == "requested"))
    described = {run: _describe(pauses, [settings, extractor]) for run, settings, extractor in rows}
    return {run: text for run, text in described.items() if text}


def _describe(pauses: Mapping[str, tuple[datetime, float]], settings: list[Any]) -> str:
    names = {pause_key(name, address): name for name, address, *_ in stored_models(settings)}
    return "; ".join(
        f"the provider of {names[model]} asked to wait until {until.astimezone(UTC):%H:%M:%S} UTC"
        for model, (until, _) in sorted(pauses.items())
        if model in names
    )


def _pauses(session: Session) -> dict[str, tuple[datetime, float]]:
    """Return the models that may not be called now, each with the end of its pause and the seconds until then."""
    rows = session.execute(select(col(ModelPauseRow.model), col(ModelPauseRow.until))).all()
    if not rows:  # almost always, before every call
        return {}
    at = clock(session)
    return {model: (until, (until - at).total_seconds()) for model, until in rows if until > at}
