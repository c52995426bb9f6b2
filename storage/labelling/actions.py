"""Executes the actions of a workbench: each in one transaction, exactly once, and on its target.

An action is identified by annotator, client and sequence number. Its result is stored with its changes, so a
request that is sent again gets the same answer and changes nothing. See docs/workbench-api.md.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Engine, Select, bindparam, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.db.columns import sanitize
from storage.db.connections import execute, reading, write
from storage.db.dialects import DEFERRED
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import AnnotatorRow
from storage.labelling import action_transaction, panels, tasks
from storage.labelling.action_transaction import Action, Transaction, problem, standing_now
from storage.labelling.context import Json, Refused, Task, Work, locate, target_name
from storage.labelling.effects import CARRY_OUT
from storage.labels import views

MOST = 50
"""Actions in one request."""


class OutOfSequence(Exception):
    """Earlier actions were never received, or another action has the number: the browser has lost its newest state."""


def perform(
    engine: Engine, work: Work, client: str, actions: Sequence[Mapping[str, Any]], *, after: int, first: bool = False
) -> list[Json]:
    """Execute the actions of a request in order, and return their results.

    Raises OutOfSequence if the client has sent actions that are not stored here.
    """
    results = []
    found: dict[str, _Found] = {}
    for number, action in enumerate(actions):
        sequence = _Sequence(after, first) if number == 0 else None
        results.append(_perform_once(engine, work, client, action, sequence, found))
    return _with_reveals(engine, work, actions, results, found)


_Found = tuple[Work, Task | None]
"""A task by its opaque id, with its queue."""


@dataclass(frozen=True)
class _Sequence:
    """The state of the client of a request: the last action that was answered, and whether it is a new client."""

    after: int
    first: bool

    def check(self, last: int | None) -> None:
        """Raise OutOfSequence if `last`, the last action that is stored, is an earlier one."""
        if self.after > (last or 0) and (last is not None or not self.first):
            raise OutOfSequence


def _perform_once(
    engine: Engine,
    work: Work,
    client: str,
    fields: Mapping[str, Any],
    sequence: _Sequence | None,
    found: dict[str, _Found],
) -> Json:
    """Return the stored result of an action, or execute it and store its result in the same transaction.

    The task of an action that is executed is added to `found`.
    What a refused action has changed is rolled back, and its result is stored in a separate transaction.
    """
    try:
        return write(
            engine, partial(_store_result, work, client, fields, sequence, partial(_carry_out, found)), pipelined=True
        )
    except DatabaseUnavailable:
        raise
    except (Refused, TiebreakError) as error:
        return write(
            engine, partial(_store_result, work, client, fields, sequence, partial(_refuse, error)), pipelined=True
        )


Perform = Callable[[Transaction], Json]


def _store_result(
    work: Work,
    client: str,
    fields: Mapping[str, Any],
    sequence: _Sequence | None,
    perform: Perform,
    session: Session,
) -> Json:
    """Return the stored result of an action, or store and return the result of `perform`."""
    seq = int(fields["seq"])
    _lock_annotator(session, work)
    state = action_transaction.read_state(session, work, client, seq, fields.get("task"))
    if sequence is not None:
        sequence.check(state.last)
    digest = _digest(fields)
    if state.stored is not None:
        if state.stored.get("digest", digest) != digest:
            raise OutOfSequence
        return state.stored
    if seq <= (state.last or 0):
        message = "This action arrived after a later one and was not executed."
        return {"seq": seq, "status": "rejected", "message": message}
    try:
        action = Action.model_validate({name: value for name, value in sanitize(dict(fields)).items() if name != "at"})
    except ValidationError as error:
        outcome: Json = {"status": "rejected", "message": problem(error)}
    else:
        outcome = perform(Transaction(session, client, action, state))
    result = {"seq": seq, **outcome, "digest": digest}
    action_transaction.save_result(session, work, client, seq, result)
    return result


def _digest(fields: Mapping[str, Any]) -> str:
    """Return a digest of an action to recognize a repetition, without the fields that a browser may change for it."""
    content = {name: fields.get(name) for name in ("type", "task", "target", "value")}
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


def _carry_out(found: dict[str, _Found], transaction: Transaction) -> Json:
    found[transaction.action.task] = transaction.work, transaction.state.task
    return {"status": "accepted", **CARRY_OUT[transaction.action.type](transaction)}


def _refuse(error: Exception, transaction: Transaction) -> Json:
    """Return the result of a refused action, with the current label."""
    status = error.status if isinstance(error, Refused) else "rejected"
    return {"status": status, "message": str(error), **standing_now(transaction)}


def _lock_annotator(session: Session, work: Work) -> None:
    """Serialize the requests of one annotator; SQLite has one writer at a time anyway."""
    if session.get_bind().dialect.name == "postgresql":
        execute(session, _lock_query(), {"annotator": work.annotator_id})


@cache  # to build the query takes longer than to execute it
def _lock_query() -> Select[int]:
    row = select(col(AnnotatorRow.id)).prefix_with(DEFERRED).where(col(AnnotatorRow.id) == bindparam("annotator"))
    return row.with_for_update(key_share=True)


def _with_reveals(
    engine: Engine,
    work: Work,
    actions: Sequence[Mapping[str, Any]],
    results: Sequence[Json],
    found: Mapping[str, _Found],
) -> list[Json]:
    """Add the reveals of accepted labels, and tasks whose targets have changed.

    From now on the annotator's labels of the revealed targets are not blind. Only now: the actions of one request were
    made before its reply could be seen.
    """
    names = {
        str(action["task"]) for action, result in zip(actions, results, strict=True) if _CIRCUMSTANCES & result.keys()
    }
    shown_by_task: dict[str, _Shown] = {}
    if names:
        pairs = list(zip(actions, results, strict=True))
        shown_by_task = _show(engine, work, lambda session: _shown_by_task(session, work, pairs, names, found))
    return [
        _complete(result, action, shown_by_task.get(str(action.get("task", ""))))
        for action, result in zip(actions, results, strict=True)
    ]


def _show(engine: Engine, work: Work, read: Callable[[Session], dict[str, "_Shown"]]) -> dict[str, "_Shown"]:
    """Return what `read` returns, after the views of it are stored.

    SQLite has one writer at a time, so there the reading is not part of the transaction.
    """
    if engine.dialect.name != "postgresql":
        with reading(engine) as session:
            shown = read(session)
        tasks.record_views(engine, work, _seen(shown))
        return shown

    def store(session: Session) -> dict[str, _Shown]:
        shown = read(session)
        views.record_ids(session, work.annotator_id, _seen(shown))
        return shown

    return write(engine, store, pipelined=True)


def _seen(shown: Mapping[str, "_Shown"]) -> list[int]:
    """Return the targets whose reveals are shown."""
    return sorted({target_id for part in shown.values() for target_id in part.seen})


def _shown_by_task(
    session: Session,
    work: Work,
    pairs: Sequence[tuple[Mapping[str, Any], Json]],
    names: Collection[str],
    found: Mapping[str, _Found],
) -> dict[str, "_Shown"]:
    return {
        name: _shown(
            session,
            *(found[name] if name in found else locate(session, work, name)),
            [pair for pair in pairs if str(pair[0].get("task", "")) == name],
        )
        for name in names
    }


_CIRCUMSTANCES = {"revealed", "changed"}
"""Parts of a stored result that are replaced in the answer: by the reveal, and by the task as it is now."""


@dataclass(frozen=True)
class _Shown:
    """Additions to the results of one task."""

    reveals: Mapping[str, Json]
    """Target -> its reveal."""
    task: Json | None
    seen: Sequence[int]
    """The targets whose reveals are shown."""


def _shown(session: Session, work: Work, task: Task | None, pairs: Sequence[tuple[Mapping[str, Any], Json]]) -> _Shown:
    if task is None:
        return _Shown({}, None, ())
    revealed = {str(action["target"]) for action, result in pairs if result.get("revealed")}
    labelled = [target for target in panels.targets_of(session, work, task) if target_name(work, target) in revealed]
    reveals = tasks.reveals_of(session, work, task, labelled) if labelled else {}
    by_name = {target_name(work, target): content for target, content in reveals.items()}
    seen = tasks.ids_of(session, task, list(reveals))
    if not any(result.get("changed") for _, result in pairs):
        return _Shown(by_name, None, seen)
    jsons = tasks.task_jsons(session, work, [task])
    return _Shown(by_name, jsons[0], [*seen, *tasks.add_reveals(session, work, jsons, [task])])


def _complete(result: Json, action: Mapping[str, Any], shown: _Shown | None) -> Json:
    answer = {key: value for key, value in result.items() if key not in _CIRCUMSTANCES and key != "digest"}
    if shown is not None and result.get("revealed") and action["target"] in shown.reveals:
        answer["reveal"] = shown.reveals[action["target"]]
    if shown is not None and result.get("changed"):
        answer["task"] = shown.task
    return answer
