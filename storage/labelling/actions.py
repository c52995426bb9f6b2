"""Carries out the actions of a workbench: each in one transaction, once, and on the target it was meant for.

An action is identified by annotator, client and sequence number. Its result is stored with its changes, so a
request that is sent again gets the same answer and changes nothing. See docs/workbench-api.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.database import Engine, reading, writing
from storage.json_columns import sanitize
from storage.labelling import action_log, panels, tasks
from storage.labelling.effects import CARRY_OUT, Action, Transaction, standing_now
from storage.labelling.work import Json, Refused, Work, find_task, target_name, work_of_task
from storage.tables import AnnotatorRow

MOST = 50
"""Actions in one request."""


class OutOfSequence(Exception):
    """The actions follow some that were never received."""


def perform(
    engine: Engine, work: Work, client: str, actions: Sequence[Mapping[str, Any]], *, after: int, first: bool = False
) -> list[Json]:
    """Carry out the actions of a request in order, and return their results.

    Raises OutOfSequence if the client has sent actions that are not stored here.
    """
    with reading(engine) as session:
        last = action_log.last_seq(session, work, client)
    if after > (last or 0) and (last is not None or not first):
        raise OutOfSequence
    results = [_perform_once(engine, work, client, action) for action in actions]
    return _with_reveals(engine, work, actions, results)


def _perform_once(engine: Engine, work: Work, client: str, fields: Mapping[str, Any]) -> Json:
    """Return the stored result of an action, or carry it out and store its result in the same transaction."""
    seq = int(fields["seq"])
    with writing(engine) as session:
        _lock_annotator(session, work)
        stored = action_log.stored_result(session, work, client, seq)
        if stored is not None:
            return stored
        if seq <= (action_log.last_seq(session, work, client) or 0):
            message = "This arrived after a later action and was not carried out."
            return {"seq": seq, "status": "rejected", "message": message}
        result = {"seq": seq, **_result(session, work, client, fields)}
        action_log.save_result(session, work, client, seq, result)
        return result


def _result(session: Session, work: Work, client: str, fields: Mapping[str, Any]) -> Json:
    """Carry out an action; a refused one changes nothing, and its result has the current label."""
    try:
        action = Action.model_validate({name: value for name, value in sanitize(dict(fields)).items() if name != "at"})
    except ValidationError as error:
        return {"status": "rejected", "message": f"This action is not valid: {error.errors()[0]['msg']}."}
    transaction = Transaction(session, work_of_task(session, work, action.task), client, action)
    try:
        with session.begin_nested():
            return {"status": "accepted", **CARRY_OUT[action.type](transaction)}
    except Refused as refused:
        return {"status": refused.status, "message": str(refused), **standing_now(transaction)}
    except TiebreakError as error:
        return {"status": "rejected", "message": str(error), **standing_now(transaction)}


def _lock_annotator(session: Session, work: Work) -> None:
    """Let the requests of one annotator wait for each other; SQLite has one writer at a time anyway."""
    row = select(col(AnnotatorRow.id)).where(col(AnnotatorRow.id) == work.annotator_id)
    session.execute(row.with_for_update(key_share=True))


def _with_reveals(
    engine: Engine, work: Work, actions: Sequence[Mapping[str, Any]], results: Sequence[Json]
) -> list[Json]:
    """Add the reveals of accepted labels, and tasks whose targets have changed.

    From now on the annotator's labels of the revealed targets are not blind. Only now: the actions of one request were
    made before its reply could be seen.
    """
    names = {
        str(action["task"]) for action, result in zip(actions, results, strict=True) if _CIRCUMSTANCES & result.keys()
    }
    found: dict[str, _Shown] = {}
    if names:
        with writing(engine) as session:
            for name in names:
                pairs = [pair for pair in zip(actions, results, strict=True) if str(pair[0].get("task", "")) == name]
                found[name] = _shown(session, work_of_task(session, work, name), name, pairs)
    return [
        _complete(result, action, found.get(str(action.get("task", ""))))
        for action, result in zip(actions, results, strict=True)
    ]


_CIRCUMSTANCES = {"revealed", "changed"}
"""Parts of a stored result that are replaced in the answer: by the reveal, and by the task as it is now."""


@dataclass(frozen=True)
class _Shown:
    """Additions to the results of one task."""

    reveals: Mapping[str, Json]
    """Target -> its reveal."""
    task: Json | None


def _shown(session: Session, work: Work, name: str, pairs: Sequence[tuple[Mapping[str, Any], Json]]) -> _Shown:
    task = find_task(session, work, name)
    revealed = {str(action["target"]) for action, result in pairs if result.get("revealed")}
    labelled = [one for one in panels.targets_of(session, work, task) if target_name(work, one) in revealed]
    reveals = tasks.reveal_once(session, work, task, labelled) if labelled else {}
    by_name = {target_name(work, target): content for target, content in reveals.items()}
    if not any(result.get("changed") for _, result in pairs):
        return _Shown(by_name, None)
    jsons = tasks.task_jsons(session, work, [task])
    tasks.add_reveals(session, work, jsons, [task])
    return _Shown(by_name, jsons[0])


def _complete(result: Json, action: Mapping[str, Any], shown: _Shown | None) -> Json:
    answer = {key: value for key, value in result.items() if key not in _CIRCUMSTANCES}
    if shown is not None and result.get("revealed") and action["target"] in shown.reveals:
        answer["reveal"] = shown.reveals[action["target"]]
    if shown is not None and result.get("changed"):
        answer["task"] = shown.task
    return answer
