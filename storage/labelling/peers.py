"""Which peer misled the chair of a peer review (ReFeR): a target for each review, and the texts to decide it by.

A review shows the scores of judges, so an annotator gets those of items that the annotator has scored: see
`storage.labelling.queue.Queue.scored_by`. A value is the number of a peer in the order in which the chair read them; 0
is none.
"""

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Kind, Target, Value
from core.protocols import registry
from core.protocols.refer import protocol as refer
from core.texts import _
from core.trace import Turn, TurnCompleted, VerdictReached
from storage.db.connections import reading, write
from storage.db.guards import QUEUE, TASK, reading_for
from storage.db.tables import ItemRow, OpinionRow, RunRow, TargetRow
from storage.labelling.context import QueueContext
from storage.labelling.queue import target_query
from storage.labels import targets
from storage.runs import traces

KIND: Kind = "misleading_peer"
# The kinds of a chair's verdict.
REVIEWED: tuple[Kind, ...] = ("score", "answer")
# Id of a block, its title and its text.
Text = tuple[str, str, str]


def create_missing_targets(engine: Engine, study_id: int) -> None:
    """Add a target for each finished review with peers; its part is the run. Nothing is written if none is missing."""
    with reading(engine) as session, reading_for(QUEUE):
        reviews = select(col(RunRow.id), col(RunRow.name)).where(
            col(RunRow.study_id) == study_id, col(RunRow.protocol).in_(registry.with_artifact("peer reviews"))
        )
        names = {run_id: name for run_id, name in session.execute(reviews)}
        judged = (
            select(col(ItemRow.key), col(TargetRow.criterion), col(OpinionRow.run_id))
            .join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id))
            .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
            .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.run_id).in_(names))
            .where(col(OpinionRow.stage) == "last", col(TargetRow.kind).in_(REVIEWED))
        )
        wanted = [
            Target(item=item, kind=KIND, criterion=criterion, part=names[run_id])
            for item, criterion, run_id in (session.execute(judged.distinct()) if names else ())
        ]
        known = targets.find_ids(session, study_id, wanted) if wanted else {}
    missing = [target for target in wanted if target not in known]
    if missing:
        write(engine, lambda session: targets.get_or_create_ids(session, study_id, missing))


@reading_for(TASK)
def review_texts(session: Session, study_id: int, target: Target) -> tuple[Text | None, list[Text]]:
    """Return the chair's comment that stands for its verdict, and the review of each peer, without their names."""
    for kind in REVIEWED:
        judged = target.model_copy(update={"kind": kind, "part": ""})
        for trace in traces.of_target(session, study_id, judged):
            if trace.run == target.part:
                return _texts(session, trace.id, target.criterion)
    return None, []


def is_peer(session: Session, work: QueueContext, target: Target, value: object) -> bool:
    """Return whether a value is the number of a peer of the review, or 0."""
    _, reviews = review_texts(session, work.study.id, target)
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= len(reviews)


def has_scored(session: Session, work: QueueContext, target_id: int) -> bool:
    """Return whether the annotator has scored the item of a review, so its texts can be shown."""
    query = target_query(col(TargetRow.id), queue=work.queue).where(col(TargetRow.id) == target_id)
    return session.execute(query).first() is not None


def _texts(session: Session, trace_id: int, criterion: str) -> tuple[Text | None, list[Text]]:
    events = [event for _, event in traces.events(session, trace_id)]
    answered = [one for one in events if isinstance(one, TurnCompleted) and one.turn.criterion in ("", criterion)]
    turns = [one.turn for one in sorted(answered, key=lambda one: one.ask)]
    samples = [turn for turn in turns if turn.step == "chair"]
    concluded = [
        opinion.value
        for event in events
        if isinstance(event, VerdictReached)
        for opinion in event.verdict.opinions
        if opinion.stage == "verdict" and opinion.criterion == criterion
    ]
    verdict = concluded[-1] if concluded else None
    place = refer.representative_sample(samples, verdict)
    title = _("Area chair: {value}", value=_short(verdict))
    chair = None if place is None else ("chair", title, comment(samples[place]))
    peers = [turn for turn in turns if turn.step == "peer"]
    return chair, [
        (f"peer-{number}", _("Peer {number}: {value}", number=number, value=_short(turn.reading)), comment(turn))
        for number, turn in enumerate(peers, 1)
    ]


def comment(turn: Turn) -> str:
    """Return what a reviewer wrote; may be empty."""
    return turn.statement.strip().removeprefix("Analysis:").strip()


def _short(value: Value | None) -> str:
    return _("no value") if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
