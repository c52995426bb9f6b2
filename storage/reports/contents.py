"""What a study has: which pages have something to show for it; and counts of the whole database."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, distinct, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Kind
from core.protocols import registry
from storage.db.connections import clock
from storage.db.guards import COUNTS, reading_for
from storage.db.tables import ItemRow, LabelRow, LeaseRow, OpinionRow, RunRow, StudyRow, TargetRow, TraceRow
from storage.labels import targets
from storage.studies import items

CRITIQUES: tuple[Kind, ...] = ("aiu_precision", "aiu_recall")
ASPECTS: tuple[Kind, ...] = ("aspect_weights", "aspect_quality")
# Kinds by which systems are compared.
COMPARED: tuple[Kind, ...] = ("preference", "score")
# Items in which two systems are looked for: the question is asked with each page, and bodies of items are long.
FIRST_ITEMS = 100


@dataclass(frozen=True)
class StudyContents:
    """Which data and methods a study has; a study without anything by default."""

    items: bool = False
    runs: int = 0
    labels: bool = False
    verdicts: bool = False
    systems: bool = False
    """Whether different systems wrote responses that are labelled or judged."""
    critiques: bool = False
    aspects: bool = False
    peer_reviews: bool = False


@reading_for(COUNTS)
def of_study(session: Session, study_id: int) -> StudyContents:
    """Return what a study has; each question stops at its first row."""

    def has(*where: ColumnElement[bool]) -> bool:
        return session.scalar(select(1).where(*where).limit(1)) is not None

    def has_kind(kinds: tuple[Kind, ...]) -> bool:
        return any(has(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == kind) for kind in kinds)

    first = items.of_study(session, study_id, FIRST_ITEMS) if has_kind(COMPARED) else []
    systems = {response.system for item in first for response in item.responses}
    protocols = session.scalars(select(col(RunRow.protocol)).where(col(RunRow.study_id) == study_id)).all()
    return StudyContents(
        items=has(col(ItemRow.study_id) == study_id),
        runs=len(protocols),
        labels=has(col(LabelRow.study_id) == study_id),
        verdicts=has(col(OpinionRow.study_id) == study_id),
        systems=len(systems) > 1,
        critiques=has_kind(CRITIQUES),
        aspects=has_kind(ASPECTS),
        peer_reviews=bool(protocols) and not set(protocols).isdisjoint(registry.with_artifact("peer reviews")),
    )


@dataclass(frozen=True)
class Progress:
    """Counts of a study's content."""

    items: int
    runs: int
    labels: int
    labelled: int
    """Targets with at least one label."""
    annotators: int
    targets: int = 0
    """Targets that were offered, labelled, marked or judged."""


@reading_for(COUNTS)
def progress(session: Session) -> dict[int, Progress]:
    """Return study id -> counts of its content; a changed label counts once, a withdrawn one not."""
    query = (
        select(
            col(LabelRow.study_id),
            func.count(),
            func.count(distinct(col(LabelRow.target_id))),
            func.count(distinct(col(LabelRow.annotator_id))),
        )
        .where(targets.is_current(LabelRow))
        .group_by(col(LabelRow.study_id))
    )
    labels = {study: (count, labelled, people) for study, count, labelled, people in session.execute(query)}
    counted: list[dict[int, int]] = []
    for column in (col(ItemRow.study_id), col(RunRow.study_id), col(TargetRow.study_id)):
        counted.append(dict(session.execute(select(column, func.count()).group_by(column)).all()))
    sizes, runs, judged = counted
    return {
        study: Progress(sizes.get(study, 0), runs.get(study, 0), *labels.get(study, (0, 0, 0)), judged.get(study, 0))
        for study in session.scalars(select(col(StudyRow.id))).all()
    }


# Counts of the whole database for monitoring.


@dataclass(frozen=True)
class ServerCounts:
    """Numbers of rows."""

    labels: int
    claims: int
    """Targets that an annotator has claimed now."""
    runs: dict[str, int]
    """By state."""
    traces: dict[str, int]
    """By outcome."""


@reading_for(COUNTS)
def count(session: Session) -> ServerCounts:
    """Count labels, claims, runs and traces."""
    claims = select(func.count()).select_from(LeaseRow).where(col(LeaseRow.until) > clock(session))
    runs = select(col(RunRow.state), func.count()).group_by(col(RunRow.state))
    traces = select(col(TraceRow.outcome), func.count()).group_by(col(TraceRow.outcome))
    return ServerCounts(
        labels=session.scalar(select(func.count()).select_from(LabelRow)) or 0,
        claims=session.scalar(claims) or 0,
        runs={state: number for state, number in session.execute(runs)},
        traces={outcome: number for outcome, number in session.execute(traces)},
    )
