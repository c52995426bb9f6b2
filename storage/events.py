"""Events and the judges' opinions as rows. Prompts are kept apart: a list of turns does not need them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Opinion, Target
from core.trace import EVENT, Event, ReplyUnreadable, TurnTaken
from storage.json_columns import storable
from storage.tables import EventRow, now


def target_of(item: str, opinion: Opinion) -> Target:
    """What an opinion is about."""
    return Target(item=item, kind=opinion.kind, criterion=opinion.criterion, part=opinion.part)


def opinion_row(study_id: int, run_id: int, trace_id: int, target_id: int, opinion: Opinion) -> dict[str, Any]:
    """The columns that keep an opinion."""
    return {
        "study_id": study_id,
        "run_id": run_id,
        "trace_id": trace_id,
        "target_id": target_id,
        "judge": opinion.judge,
        "stage": opinion.stage,
        "value": opinion.value,
        "problem": opinion.problem,
    }


def event_row(event: Event, trace_id: int, run_id: int, seq: int) -> dict[str, Any]:
    """The columns that keep an event; the prompt stands apart from the body."""
    body = storable(event.model_dump(mode="json"))
    text, usage = "", {}
    if isinstance(event, TurnTaken | ReplyUnreadable):
        text, body["turn"]["prompt"], usage = body["turn"]["prompt"], "", body["turn"]["usage"]
    return {
        "trace_id": trace_id,
        "seq": seq,
        "run_id": run_id,
        "type": event.type,
        "body": body,
        "prompt": text,
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "seconds": usage.get("seconds"),
        "dollars": usage.get("dollars"),
        "at": now(),
    }


def event_of(body: str, prompt: str = "") -> Event:
    """An event from its columns."""
    event: Event = EVENT.validate_json(body)
    if prompt and isinstance(event, TurnTaken | ReplyUnreadable):
        return event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": prompt})})
    return event


def next_seq(session: Session, trace_ids: Sequence[int]) -> dict[int, int]:
    """The number of each trace's next event."""
    query = (
        select(col(EventRow.trace_id), func.max(col(EventRow.seq)) + 1)
        .where(col(EventRow.trace_id).in_(trace_ids))
        .group_by(col(EventRow.trace_id))
    )
    found = dict(session.execute(query).all())
    return {trace: found.get(trace, 0) for trace in trace_ids}
