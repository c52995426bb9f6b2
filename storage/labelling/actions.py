"""Executes the actions of a workbench: each in one transaction, exactly once, and on its target.

An action is identified by annotator, client and sequence number. Its result is stored with its changes, so a
request that is sent again gets the same answer and changes nothing. See docs/workbench-api.md.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Engine, bindparam, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.texts import _
from storage.db.columns import sanitize
from storage.db.connections import execute, insert_all, reading, write
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import ActionRow, AnnotatorRow, now
from storage.labelling import tasks
from storage.labelling._action_transaction import Action, Transaction, label_now, problem, read_log
from storage.labelling.context import Json, QueueContext, Refused, Task, locate, target_name
from storage.labelling.effects import carry_out

# Actions in one request.
MOST = 50
_LOCK = (
    select(col(AnnotatorRow.id)).where(col(AnnotatorRow.id) == bindparam("annotator")).with_for_update(key_share=True)
)


class OutOfSequence(Exception):
    """Earlier actions were never received, or another action has the number: the browser has lost its newest state."""


# An action as it was received.
Fields = Mapping[str, Any]
# The tasks of executed actions by their opaque ids, with their queues.
Found = dict[str, tuple[QueueContext, Task | None]]


def perform(
    engine: Engine, work: QueueContext, client: str, actions: Sequence[Fields], *, after: int, first: bool = False
) -> list[Json]:
    """Execute the actions of a request in order, and return their results.

    Raises OutOfSequence if the client has sent actions that are not stored here.
    """
    results: list[Json] = []
    found: Found = {}
    for action in actions:
        results.append(_perform_once(engine, work, client, action, 0 if results else after, first, found))
    return _with_reveals(engine, work, actions, results, found)


def _perform_once(
    engine: Engine, work: QueueContext, client: str, fields: Fields, after: int, first: bool, found: Found
) -> Json:
    """Return the stored result of an action, or execute it and store its result in the same transaction.

    `after` is the last action of which the client has the result; `first`: whether it is a new client. The task of an
    action that is executed is added to `found`. What a refused action has changed is rolled back, and its result is
    stored in a separate transaction.
    """

    def accept(transaction: Transaction) -> Json:
        found[transaction.action.task] = transaction.work, transaction.found
        return {"status": "accepted", **carry_out(transaction)}

    store = partial(_store_result, work, client, fields, after, first)
    try:
        return write(engine, partial(store, accept))
    except DatabaseUnavailable:
        raise
    except (Refused, TiebreakError) as error:
        refused = {"status": error.status if isinstance(error, Refused) else "rejected", "message": str(error)}
        return write(engine, partial(store, lambda action: refused | label_now(action)))


def _store_result(
    work: QueueContext,
    client: str,
    fields: Fields,
    after: int,
    first: bool,
    perform: Callable[[Transaction], Json],
    session: Session,
) -> Json:
    """Return the stored result of an action, or store and return the result of `perform`."""
    seq, digest = int(fields["seq"]), _digest(fields)
    if session.get_bind().dialect.name == "postgresql":
        # Serializes the requests of one annotator; SQLite has one writer at a time anyway.
        execute(session, _LOCK, {"annotator": work.annotator_id})
    last, stored = read_log(session, work, client, seq)
    if after > (last or 0) and (last is not None or not first):
        raise OutOfSequence
    if stored is not None:
        if stored.get("digest", digest) != digest:
            raise OutOfSequence
        return stored
    if seq <= (last or 0):
        message = _("This action arrived after a later one and was not executed.")
        return {"seq": seq, "status": "rejected", "message": message}
    try:
        action = Action.model_validate({name: value for name, value in sanitize(dict(fields)).items() if name != "at"})
    except ValidationError as error:
        outcome: Json = {"status": "rejected", "message": problem(error)}
    else:
        outcome = perform(Transaction(session, client, action, *locate(session, work, action.task)))
    result = {"seq": seq, **outcome, "digest": digest}
    row = {"study_id": work.study.id, "annotator_id": work.annotator_id, "client": client, "seq": seq, "at": now()}
    insert_all(session, ActionRow, [row | {"result": sanitize(result)}])
    return result


def _digest(fields: Fields) -> str:
    """Return a digest of an action to recognize a repetition, without the fields that a browser may change for it."""
    content = {name: fields.get(name) for name in ("type", "task", "target", "value")}
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


# Parts of a stored result that are replaced in the answer: by the reveal, and by the task as it is now.
_CIRCUMSTANCES = {"revealed", "changed"}


# Additions to the results of one task: target -> its reveal, the task as it is now, and the targets whose reveals are
# shown.
Shown = tuple[Mapping[str, Json], Json | None, Sequence[int]]


def _with_reveals(
    engine: Engine, work: QueueContext, actions: Sequence[Fields], results: Sequence[Json], found: Found
) -> list[Json]:
    """Add the reveals of accepted labels, and tasks whose targets have changed.

    From now on the annotator's labels of the revealed targets are not blind. Only now: the actions of one request were
    made before its reply could be seen.
    """
    pairs = [
        (action, result) for action, result in zip(actions, results, strict=True) if _CIRCUMSTANCES & result.keys()
    ]
    by_task: dict[str, list[tuple[Fields, Json]]] = {}
    for action, result in pairs:
        by_task.setdefault(str(action["task"]), []).append((action, result))

    # The views are stored before the reveals are returned, and the reading is no part of that transaction: SQLite has
    # one writer at a time.
    shown: dict[str, Shown] = {}
    if by_task:
        with reading(engine) as session:
            for name, listed in by_task.items():
                queue, task = found[name] if name in found else locate(session, work, name)
                shown[name] = _shown(session, queue, task, listed)
    tasks.record_views(engine, work, {target_id for *_, seen in shown.values() for target_id in seen})
    return [_complete(result, action, shown) for action, result in zip(actions, results, strict=True)]


def _shown(session: Session, work: QueueContext, task: Task | None, pairs: Sequence[tuple[Fields, Json]]) -> Shown:
    if task is None:
        return {}, None, ()
    labelled = {str(action["target"]) for action, result in pairs if result.get("revealed")}
    reveals = tasks.reveals_of(session, work, task, labelled)
    by_name = {target_name(work, target, repeat=task.repeat): content for target, content in reveals.items()}
    seen = list(tasks.target_ids(session, work, {task: list(reveals)}).values())
    if not any(result.get("changed") for _, result in pairs):
        return by_name, None, seen
    jsons = tasks.task_jsons(session, work, [task])
    return by_name, jsons[0], [*seen, *tasks.add_reveals(session, work, jsons, [task])]


def _complete(result: Json, action: Fields, shown: Mapping[str, Shown]) -> Json:
    answer = {key: value for key, value in result.items() if key not in _CIRCUMSTANCES and key != "digest"}
    if not _CIRCUMSTANCES & result.keys():
        return answer
    reveals, task, _seen = shown[str(action["task"])]
    if result.get("revealed") and action["target"] in reveals:
        answer["reveal"] = reveals[action["target"]]
    if result.get("changed"):
        answer["task"] = task
    return answer
