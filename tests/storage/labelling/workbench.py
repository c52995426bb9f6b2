"""A study with disputed debates, and annotators who act in its queue without a browser."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from core.labels import Target
from storage.db.connections import reading, writing
from storage.db.tables import AnnotatorRow, DraftRow, LabelRow, LeaseRow, now
from storage.labelling import actions, adjudication, claims, effects, queue_view, tasks
from storage.labelling.adjudication import Case
from storage.labelling.context import QueueContext, find_tasks, open_context
from storage.labelling.queue import Queue, TargetState
from storage.labelling.queue_view import open_view
from storage.labels import targets
from storage.studies import annotators, studies
from tests.sessions import read, write


def set_rules(engine: Engine, **rules: Any) -> None:
    """Change the rules of the study "s"."""
    with writing(engine) as session:
        study = studies.get(session, "s")
        changed = study.rules.model_copy(update=rules)
        studies.update(session, study.id, description="", guidelines=study.guidelines, rules=changed)


def add_guidelines(engine: Engine) -> None:
    """Add version 1 of the guidelines to the study "s"."""
    with writing(engine) as session:
        study = studies.get(session, "s")
        studies.update(session, study.id, description="", guidelines="Be fair.", rules=study.rules)


def claim_next(session: Session, queue: Queue, annotator: str, overlap: int = 3) -> Target | None:
    """Claim the next target that is open to an annotator, and return it; None if there is none."""
    work = open_context(session, "disagreements", "s", annotator)
    rules = work.study.rules.model_copy(update={"overlap": overlap})
    work = replace(work, queue=queue, study=replace(work.study, rules=rules))
    wanted = list(open_view(session, work).tab("todo"))
    return next((task.target for task in find_tasks(session, work, wanted) if claims.claim(session, work, task)), None)


def queue_states(session: Session, queue: Queue, annotator: str, overlap: int = 3) -> list[TargetState]:
    """Return the states of a queue's targets in the order of their ids."""
    work = open_context(session, "disagreements", "s", annotator)
    rules = work.study.rules.model_copy(update={"overlap": overlap})
    work = replace(work, queue=queue, study=replace(work.study, rules=rules))
    return sorted(queue_view.target_states(session, work), key=lambda state: state.id)


def lease(session: Session, study_id: int, target: Target, annotator: str) -> None:
    """Lease a target to an annotator for half an hour, whatever the overlap."""
    target_id = targets.get_or_create_id(session, study_id, target)
    annotator_id = annotators.get_or_create_id(session, annotator)
    session.add(LeaseRow(target_id=target_id, annotator_id=annotator_id, until=now() + timedelta(minutes=30)))


def find_draft(session: Session, study_id: int, target: Target, annotator: str) -> DraftRow | None:
    """Return the annotator's draft of a target."""
    target_id = targets.find_id(session, study_id, target)
    query = select(DraftRow).join(AnnotatorRow, AnnotatorRow.id == DraftRow.annotator_id)
    return session.scalars(query.where(DraftRow.target_id == target_id, AnnotatorRow.name == annotator)).first()


@dataclass
class Client:
    """An outbox: one window of one annotator."""

    engine: Engine
    annotator: str = "ann"
    name: str = "c-1"
    queue: str = "disagreements"
    seq: int = 0
    after: int = 0
    sent: list[dict[str, Any]] = field(default_factory=list)

    def work(self) -> QueueContext:
        """Return the queue as it is now."""
        return write(self.engine, open_context, self.queue, "s", self.annotator)

    def tasks(
        self,
        count: int = 30,
        have: tuple[str, ...] = (),
        tab: str = "todo",
        first: str | None = None,
        again: bool = True,
    ) -> Any:
        """Return the next tasks."""
        work = self.work()
        with reading(self.engine) as session:
            found = tasks.next_tasks(session, work, have=have, count=count, tab=tab, first=first, again=again)
            return found["tasks"]

    def progress(self) -> Any:
        """Return the progress."""
        work = self.work()
        return queue_view.progress(read(self.engine, open_view, work, again=False))

    def history(self) -> dict[str, Any]:
        """Return both stacks."""
        work = self.work()
        return read(self.engine, effects.history, work)

    def action(self, type: str, task: Any = None, part: int = 0, **fields: Any) -> dict[str, Any]:
        """Return the next action."""
        self.seq += 1
        about = {} if task is None else {"task": task["id"]}
        if type in ("label", "draft"):
            about |= {"target": task["targets"][part]["id"], "base": "0", "reason": "", "evidence": []}
        return {"seq": self.seq, "type": type, **about, **fields}

    def send(self, *batch: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        """Send actions in one request, and return their results."""
        results = actions.perform(self.engine, self.work(), self.name, batch, after=self.after, **more)
        self.after = max(self.after, batch[-1]["seq"])
        return results

    def do(self, type: str, task: Any = None, part: int = 0, **fields: Any) -> dict[str, Any]:
        """Send one action, and return its result."""
        return self.send(self.action(type, task, part, **fields))[0]

    def label(self, task: Any, value: Any = 1, base: str = "0", **fields: Any) -> dict[str, Any]:
        """Label a task."""
        return self.do("label", task, value=value, base=base, **fields)


def stored(engine: Engine) -> list[LabelRow]:
    """Return every label, oldest first."""
    with reading(engine) as session:
        return list(session.scalars(select(LabelRow).order_by(LabelRow.id)))


def leases(engine: Engine) -> list[LeaseRow]:
    """Return every lease."""
    with reading(engine) as session:
        return list(session.scalars(select(LeaseRow)))


def listed_cases(session: Session, adjudicator: str) -> list[Case]:
    """Return all cases with their values, in their order."""
    study = studies.get(session, "s")
    order = adjudication.order_cases(session, study)
    cases = adjudication.read(session, study, adjudicator, list(order.states))
    assert [case.state for case in cases] == list(order.states.values())
    return cases
