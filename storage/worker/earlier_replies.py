"""The replies of earlier runs that a run over edited items reuses: only what annotators changed is judged again."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.llm.reuse import EarlierReply, ReplyKey, reply_key
from core.trace import TurnCompleted
from storage import aius, runs
from storage.events import parse_event
from storage.runs import Run
from storage.tables import EventRow, TraceRow

Replies = dict[ReplyKey, list[EarlierReply]]


def earlier_replies(session: Session, run: Run, item_ids: Sequence[int]) -> dict[int, Replies]:
    """Return item id -> the replies about it that earlier runs with the same settings could read."""
    names = {
        other.id: other.name
        for other in (runs.of_study(session, run.study_id) if item_ids else ())
        if other.id < run.id and other.protocol == run.protocol and _comparable(other) == _comparable(run)
    }
    if not names:
        return {}
    query = (
        select(col(TraceRow.item_id), col(TraceRow.run_id), cast(col(EventRow.body), Text), col(EventRow.prompt))
        .join(TraceRow, col(TraceRow.id) == col(EventRow.trace_id))
        .where(col(TraceRow.run_id).in_(names), col(TraceRow.item_id).in_(item_ids), col(EventRow.type) == "turn")
        .order_by(col(TraceRow.run_id), col(EventRow.seq))
    )
    replies: dict[int, Replies] = defaultdict(dict)
    for item_id, run_id, body, prompt in session.execute(query):
        event = parse_event(body, prompt)
        if isinstance(event, TurnCompleted) and event.turn.reading is not None:
            known = replies[item_id].setdefault(reply_key(event.turn), [])
            if known and known[0].run != names[run_id]:  # the newest run counts
                known.clear()
            known.append(EarlierReply(event.turn.reply, names[run_id]))
    return replies


def _comparable(run: Run) -> dict[str, Any]:
    """Return the settings that decide what a model replies."""
    return {name: value for name, value in run.settings.items() if name != aius.EDITED}
