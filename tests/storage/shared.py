"""Records of debates that several tests of storage use."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import ItemRecord, Record, RunRecord, StudyRecord, TraceRecord
from core.labels import Label, Opinion, Target, Value
from core.trace import Event, Outcome, ReplyUnreadable, Turn, TurnCompleted, Usage, Verdict, VerdictReached
from core.verdicts import combine_verdicts
from storage.db.columns import START
from storage.db.connections import writing
from storage.db.tables import RunRow, now
from storage.labelling.queue import Queue
from storage.labels import labels, targets
from storage.runs import traces
from storage.studies import annotators, studies
from storage.studies.studies import Study
from storage.transfer import imports
from tests.conftest import make_item
from tests.sessions import read

RUN = RunRecord(name="r", protocol="scaleeval", criterion="helpfulness")
RUN_WITHOUT_CRITERION = RunRecord(name="r", protocol="scaleeval", criterion="")


def import_study(engine: Engine, records: Iterable[Record], name: str = "s") -> Study:
    imports.import_records(engine, name, records)
    return stored_study(engine, name)


def stored_study(engine: Engine, name: str = "s") -> Study:
    return read(engine, studies.get, name)


def a_turn(number: int = 0, **fields: object) -> TurnCompleted:
    """Return a completed turn of judge j0, j1 or j2."""
    defaults = {
        "speaker": f"j{number % 3}",
        "step": "opinion",
        "round": number // 3,
        "model": "m",
        "reply": "1",
        "reading": 1,
    }
    usage = Usage(prompt_tokens=10, completion_tokens=2, seconds=0.5, dollars=0.25)
    return TurnCompleted(ask=number, turn=Turn(**{**defaults, "usage": usage, "prompt": f"prompt {number}"} | fields))


def an_unreadable(number: int = 0) -> ReplyUnreadable:
    """Return a turn whose reply could not be read."""
    turn = a_turn(number, reply="hm", reading=None, problem="no choice", usage=Usage(seconds=1.0)).turn
    return ReplyUnreadable(ask=number, turn=turn)


def a_verdict(outcome: Outcome = "disputed", last: tuple[object, ...] = (1, 2, 0)) -> VerdictReached:
    """Return the verdict of three judges, whose first opinions are 1."""
    value = last[0] if outcome == "agreed" else None
    opinions = tuple(
        _opinion(f"j{n}", stage, opinion)
        for n, last_opinion in enumerate(last)
        for stage, opinion in (("first", 1), ("last", last_opinion))
    )
    opinions += (_opinion("j0 · j1 · j2", "verdict", value),)
    return VerdictReached(verdict=Verdict(outcome=outcome, value=value, opinions=opinions))


def _opinion(judge: str, stage: str, value: object) -> Opinion:
    return Opinion(kind="preference", judge=judge, stage=stage, value=value, criterion="helpfulness")


def verdict_on_criteria(**values: object) -> VerdictReached:
    """Return the verdict of judge j0 on several criteria, given by name."""
    opinions = tuple(
        Opinion(kind="preference", judge="j0", stage="verdict", value=value, criterion=criterion)
        for criterion, value in values.items()
    )
    return VerdictReached(verdict=Verdict(outcome="agreed", value=None, opinions=opinions))


def combined_verdict(**outcomes: Outcome) -> VerdictReached:
    """Return the verdict of judge j0 on several criteria, given by name; only agreed ones have a value."""
    verdicts = {
        criterion: Verdict(
            outcome=outcome,
            opinions=verdict_on_criteria(**{criterion: 1 if outcome == "agreed" else None}).verdict.opinions,
        )
        for criterion, outcome in outcomes.items()
    }
    return VerdictReached(verdict=combine_verdicts(verdicts))


def a_trace(item: str, *events: Event, run: str = "r") -> TraceRecord:
    """Return a trace of an item; without events, a disputed debate."""
    return TraceRecord(run=run, item=item, events=events or (a_turn(), a_verdict()))


def find_traces(session: Session, filter: traces.Filter, order: traces.Order = "run") -> list[traces.Trace]:
    """Return all matching traces in an order."""
    return traces.page(session, filter, after=START, size=traces.count(session, filter), order=order).rows


def debates(engine: Engine, count: int, *, study: str = "s") -> Queue:
    """Import a study with `count` disputed debates, and return their queue."""
    names = [f"item {number}" for number in range(count)]
    records: list[Record] = [ItemRecord(item=make_item(name)) for name in names]
    imports.import_records(engine, study, [StudyRecord(), *records, RUN, *(a_trace(name) for name in names)])
    return Queue(read(engine, studies.get, study).id)


def store_label(
    session: Session, study_id: int, target: Target, annotator: str, value: Value | None, **fields: Any
) -> Label:
    """Add a label as the workbench does, with a value that is on the declared scale."""
    studies.check_value(studies.scales(session, study_id), target.kind, target.criterion, value)
    name = annotators.normalize_name(annotator)
    label = Label(target=target, annotator=name, value=value, **fields)
    target_id = targets.get_or_create_id(session, study_id, target)
    targets.lock_targets(session, [target_id])
    return labels.add(session, study_id, label, target_id, annotators.get_or_create_id(session, name))


def expire_claims(engine: Engine) -> None:
    """Let all claims of runs expire, as after a crash."""
    with writing(engine) as session:
        session.execute(update(RunRow).where(col(RunRow.claimed_until).is_not(None)).values(claimed_until=now()))
