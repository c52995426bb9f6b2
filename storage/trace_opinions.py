"""The opinions of traces: their targets, the verdicts by criterion, and summaries of the last ones."""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Target
from storage import targets
from storage.operations import reading_for
from storage.read_guard import COUNTS
from storage.tables import ItemRow, OpinionRow, TargetRow

MAX_LISTED = 8
"""A summary lists at most this many opinions, and counts more than that."""


def judged_targets(session: Session, trace_id: int) -> list[Target]:
    """Return the targets that a trace holds opinions about."""
    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .where(col(OpinionRow.trace_id) == trace_id)
        .distinct()
    )
    return [targets.from_columns(*row) for row in session.execute(query)]


def exist(session: Session, study_id: int) -> bool:
    """Return whether a judge has an opinion in a study."""
    query = select(col(OpinionRow.id)).where(col(OpinionRow.study_id) == study_id).limit(1)
    with reading_for(COUNTS):
        return session.scalars(query).first() is not None


def verdict_criteria(session: Session, study_id: int) -> list[str]:
    """Return the criteria of the verdicts in a study, in the order of their names."""
    own = (col(TargetRow.study_id) == study_id, col(TargetRow.criterion) != "")
    criteria = select(col(TargetRow.criterion).label("criterion")).where(*own).distinct().subquery()
    has_verdict = (
        select(col(OpinionRow.id))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(*own, col(TargetRow.criterion) == criteria.c.criterion, col(OpinionRow.stage) == "verdict")
        .correlate(criteria)
        .exists()
    )
    query = select(criteria.c.criterion).where(has_verdict)
    return sorted(session.scalars(query))


def verdicts_by_criterion(session: Session, trace_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return trace id -> criterion -> its verdicts, as "1 · 2", in the order of the verdicts."""
    query = (
        select(col(OpinionRow.trace_id), col(TargetRow.criterion), col(OpinionRow.value))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.trace_id).in_(trace_ids), col(OpinionRow.stage) == "verdict")
        .where(col(TargetRow.criterion) != "")
        .order_by(col(OpinionRow.id))
    )
    verdicts: dict[int, dict[str, list[str]]] = {}
    for trace_id, criterion, value in session.execute(query):
        by_criterion = verdicts.setdefault(trace_id, {})
        by_criterion.setdefault(criterion, []).append("–" if value is None else str(value))
    return {
        trace_id: {criterion: " · ".join(_list_or_count(values)) for criterion, values in by_criterion.items()}
        for trace_id, by_criterion in verdicts.items()
    }


def summarize_last(session: Session, trace_ids: Sequence[int]) -> dict[int, str]:
    """Return trace id -> its last opinions, as "1 · 1 · 2", with "–" for one that could not be read.

    More than MAX_LISTED are counted instead: "24 × True · 10 × False".
    """
    query = (
        select(col(OpinionRow.trace_id), col(OpinionRow.value))
        .where(col(OpinionRow.trace_id).in_(trace_ids), col(OpinionRow.stage) == "last")
        .order_by(col(OpinionRow.id))
    )
    opinions: dict[int, list[str]] = {}
    for trace_id, value in session.execute(query):
        opinions.setdefault(trace_id, []).append("–" if value is None else str(value))
    return {trace_id: " · ".join(_list_or_count(values)) for trace_id, values in opinions.items()}


def _list_or_count(values: list[str]) -> list[str]:
    if len(values) <= MAX_LISTED:
        return values
    return [f"{count} × {value}" for value, count in Counter(values).most_common(MAX_LISTED)]
