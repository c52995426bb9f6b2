"""Edits of AIUs: they are only ever added, and what stands follows from them (core.aius)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aius import Adopt, Change, Edit, Standing, Undo, checked, last, standing
from core.critiques import hypotheses, reference
from core.formats.records import AiuEditRecord
from core.items import Item
from core.labels import Target
from core.problems import Problem
from core.protocols import registry
from core.protocols.metacritique import protocol as metacritique
from core.trace import TurnTaken
from storage import annotators, items, runs, studies, targets, traces
from storage.database import insert_all, insert_new
from storage.fingerprints import moment
from storage.tables import AiuEditRow, AnnotatorRow, ItemRow, LabelRow, RunRow, SeenRow, TraceRow, now


def put(session: Session, study_id: int, item: str, annotator: str, change: Change) -> Edit:
    """Add an edit; raises Problem where it cannot be made to what stands now."""
    studies.lock(session, study_id)
    known = history(session, study_id, item)
    checked(items.get(session, study_id, item), known, change)
    name = annotators.name_of(annotator)
    edit = Edit(number=len(known) + 1, annotator=name, change=change, at=now())
    _insert(session, study_id, item, [edit])
    return edit


def undo(session: Session, study_id: int, item: str, annotator: str, critique: str) -> Edit:
    """Take back the annotator's newest edit of a critique."""
    number = last_edit(session, study_id, item, annotator, critique)
    if number is None:
        raise Problem("There is no edit of yours to take back here.")
    return put(session, study_id, item, annotator, Undo(edit=number))


def last_edit(session: Session, study_id: int, item: str, annotator: str, critique: str) -> int | None:
    """The number of the annotator's newest standing edit of a critique; None where there is none."""
    known = history(session, study_id, item)
    return last(items.get(session, study_id, item), known, annotators.name_of(annotator), critique) if known else None


def history(session: Session, study_id: int, item: str) -> list[Edit]:
    """Every edit of an item, oldest first."""
    query = _edits(study_id).where(col(ItemRow.key) == item)
    return [_edit(*row[1:]) for row in session.execute(query)]


def all_of(session: Session, study_id: int) -> dict[str, list[Edit]]:
    """Every edit of a study by its item, oldest first."""
    found: dict[str, list[Edit]] = defaultdict(list)
    for key, *rest in session.execute(_edits(study_id)):
        found[key].append(_edit(*rest))
    return dict(found)


def count(session: Session, study_id: int) -> int:
    """How many edits there are: what was read is as new as this number."""
    return session.scalars(select(func.count()).where(col(AiuEditRow.study_id) == study_id)).one()


def now_standing(session: Session, study_id: int, item: str) -> Standing:
    """What people label of an item now."""
    return standing(items.get(session, study_id, item), history(session, study_id, item))


def every_standing(session: Session, study_id: int) -> dict[str, Standing]:
    """What people label now of every item that has a critique, in the order of the study."""
    known = all_of(session, study_id)
    there = (item for item in items.all_of(session, study_id) if item.critiques)
    return {item.id: standing(item, known.get(item.id, ())) for item in there}


def records(session: Session, study_id: int) -> Iterator[AiuEditRecord]:
    """Every edit of a study, item by item."""
    for key, edits in all_of(session, study_id).items():
        for edit in edits:
            yield AiuEditRecord(item=key, edit=edit)


def add(session: Session, study_id: int, told: Sequence[AiuEditRecord]) -> int:
    """Add a file's edits that are not here yet, and tell how many; others under the same numbers are refused."""
    by_item: dict[str, list[Edit]] = defaultdict(list)
    for record in told:
        by_item[record.item].append(record.edit)
    return sum(_add(session, study_id, item, edits) for item, edits in by_item.items())


def _add(session: Session, study_id: int, item: str, told: list[Edit]) -> int:
    edits, known = sorted(told, key=lambda one: one.number), history(session, study_id, item)
    if [edit.number for edit in edits] != list(range(1, len(edits) + 1)):
        raise Problem(f"The edits of the AIUs of item {item!r} are not numbered from 1 without a gap.")
    if any(ours.change != theirs.change for ours, theirs in zip(known, edits, strict=False)):
        raise Problem(f"The AIUs of item {item!r} were edited otherwise in this study.")
    new = edits[len(known) :]
    if new:
        _insert(session, study_id, item, new)
    return len(new)


def see(session: Session, study_id: int, shown: Collection[Target], annotator: str) -> bool:
    """Record that the annotator was shown what judges say of some AIUs; whether any of it was new to them."""
    numbers = targets.numbers(session, study_id, shown) if shown else {}
    annotator_id = annotators.annotator_id(session, annotator)
    seen = set(session.scalars(select(col(SeenRow.target_id)).where(col(SeenRow.annotator_id) == annotator_id)))
    new = sorted({numbers[target] for target in shown} - seen)
    insert_new(session, SeenRow, [{"target_id": n, "annotator_id": annotator_id, "at": now()} for n in new])
    said = select(col(LabelRow.target_id)).where(col(LabelRow.annotator_id) == annotator_id)
    return bool(set(new) - set(session.scalars(said.where(col(LabelRow.study_id) == study_id))))


def adoptable(session: Session, study_id: int, item: str) -> Adopt | None:
    """What the newest run brings that people could label, where the item lacks AIUs or a reference; else None."""
    now_there = now_standing(session, study_id, item)
    held = reference(now_there.critiques)
    if held is not None and held.aius is not None and all(c.aius is not None for c in hypotheses(now_there.critiques)):
        return None
    thing = items.get(session, study_id, item)
    return next((found for found in _written(session, study_id, thing) if found.critiques), None)


def _written(session: Session, study_id: int, item: Item) -> Iterator[Adopt]:
    """What each run wrote of an item, the newest first."""
    query = (
        select(col(TraceRow.id), col(TraceRow.run_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.study_id) == study_id, col(ItemRow.key) == item.id)
        .where(col(RunRow.protocol).in_(registry.with_artifact("aius")))
        .order_by(col(RunRow.id).desc())
    )
    for trace_id, run_id in session.execute(query).all():
        run = runs.get(session, run_id)
        settings = metacritique.Settings.model_validate(run.settings)
        turns = {e.ask: e.turn for _, e in traces.events(session, trace_id) if isinstance(e, TurnTaken)}
        case = metacritique.replayed(item, settings, turns).case
        there = [*case.critiques, *([case.reference] if case.reference else [])]
        found = tuple(one for one in there if one.aius is not None and one not in item.critiques)
        yield Adopt(run=run.name, critiques=found, answer=case.answer if item.reference is None else None)


def _insert(session: Session, study_id: int, item: str, edits: Iterable[Edit]) -> None:
    places = items.ids(session, study_id, {item})
    if item not in places:
        raise Problem(f"There is no item {item!r} in this study.")
    there = list(edits)
    names = annotators.annotator_ids(session, {edit.annotator for edit in there})
    rows = [
        {
            "study_id": study_id,
            "item_id": places[item],
            "annotator_id": names[edit.annotator],
            "number": edit.number,
            "body": edit.change.model_dump(mode="json"),
            "at": moment(edit.at),
        }
        for edit in there
    ]
    insert_all(session, AiuEditRow, rows)


def _edits(study_id: int) -> Select[*tuple[Any, ...]]:
    return (
        select(
            col(ItemRow.key),
            col(AiuEditRow.number),
            col(AnnotatorRow.name),
            col(AiuEditRow.body),
            col(AiuEditRow.at),
        )
        .join(ItemRow, col(ItemRow.id) == col(AiuEditRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AiuEditRow.annotator_id))
        .where(col(AiuEditRow.study_id) == study_id)
        .order_by(col(ItemRow.position), col(AiuEditRow.number))
    )


def _edit(number: int, annotator: str, body: Any, at: Any) -> Edit:
    return Edit.model_validate({"number": number, "annotator": annotator, "change": body, "at": at})
