"""Edits of AIUs, references and aspects. Rows are never changed; the current state of an item follows from its edits.

See `core.aius`. A new run has the edits before its start as inputs.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aius import Adopt, Change, Edit, EditedAius, apply_edits, validate_change, with_edits, with_inputs
from core.errors import TiebreakError
from core.formats.records import AiuEditRecord
from core.frozen import Frozen
from core.items import Item
from core.protocols import registry
from core.protocols.metacritique.protocol import replay_turns
from core.protocols.metacritique.settings import Settings
from core.trace import Turn, TurnCompleted
from storage.db.connections import insert_all
from storage.db.fingerprints import to_utc
from storage.db.guards import TASK, reading_for
from storage.db.tables import AiuEditRow, AnnotatorRow, ItemRow, RunRow, TraceRow, now
from storage.runs import runs, traces
from storage.studies import annotators, items, studies

Key = TypeVar("Key")
# The setting of protocols whose runs can evaluate edited AIUs.
EDITED = "edited_aius"


def save_edit(session: Session, study_id: int, item: str, annotator: str, change: Change) -> Edit:
    """Add an edit; raises TiebreakError if it does not apply to the current AIUs."""
    studies.lock(session, study_id)
    edits = history(session, study_id, item)
    validate_change(items.get(session, study_id, item), edits, change)
    name = annotators.normalize_name(annotator)
    edit = Edit(number=len(edits) + 1, annotator=name, change=change, at=now())
    insert(session, study_id, {item: [edit]})
    return edit


def history(session: Session, study_id: int, item: str) -> list[Edit]:
    """Return every edit of an item, oldest first."""
    return edits_by_item(session, study_id, [item]).get(item, [])


def edits_by_item(session: Session, study_id: int, keys: Collection[str] | None = None) -> dict[str, list[Edit]]:
    """Return item -> its edits, oldest first, for all edited items of a study, or for a few."""
    query = (
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
    if keys is not None:
        query = query.where(col(ItemRow.key).in_(keys))
    edits: dict[str, list[Edit]] = defaultdict(list)
    for key, number, annotator, body, at in session.execute(query):
        fields = {"number": number, "annotator": annotator, "change": body, "at": at}
        edits[key].append(Edit.model_validate(fields))
    return dict(edits)


def count_edits(session: Session, study_id: int) -> int:
    """Return the number of edits of a study, which changes with every edit."""
    return session.scalars(select(func.count()).where(col(AiuEditRow.study_id) == study_id)).one()


def current_state(session: Session, study_id: int, item: str) -> EditedAius:
    """Return the critiques and AIUs of an item with all active edits applied."""
    return apply_edits(items.get(session, study_id, item), history(session, study_id, item))


def current_states(session: Session, study_id: int) -> dict[str, EditedAius]:
    """Return item -> its current state, for every item with a critique, in the order of the study."""
    edits = edits_by_item(session, study_id)
    edited = select(col(AiuEditRow.item_id)).where(col(AiuEditRow.study_id) == study_id)
    has_critiques = func.json_array_length(col(ItemRow.body)["critiques"]) > 0
    query = (
        select(col(ItemRow.body))
        .where(col(ItemRow.study_id) == study_id, or_(has_critiques, col(ItemRow.id).in_(edited)))
        .order_by(col(ItemRow.position))
    )
    found = [Item.model_validate(body) for body in session.scalars(query)]
    states = ((item.id, apply_edits(item, edits.get(item.id, ()))) for item in found)
    return {key: state for key, state in states if state.critiques}


def evaluated_items(session: Session, run: runs.Run, by_key: Mapping[Key, Item]) -> dict[Key, Item]:
    """Return the items as a run evaluates them: with the edits before its start.

    References and aspects are inputs of every protocol, AIUs and critiques only of those with the setting EDITED; if it
    is off, the items are as they were imported. Edits are immutable, so the same run always gets the same items.
    """
    if not run.settings.get(EDITED, True):
        return dict(by_key)
    keys = {item.id for item in by_key.values()}
    edits = edits_by_item(session, run.study_id, keys if len(keys) <= items.MAX_KEYS_IN_QUERY else None)
    apply = with_edits if EDITED in run.settings else with_inputs
    earlier = {
        key: [edit for edit in of_item if edit.at is None or edit.at <= run.created_at]
        for key, of_item in edits.items()
    }
    return {key: apply(item, earlier.get(item.id, ())) for key, item in by_key.items()}


def evaluated_item(session: Session, run: runs.Run, item: Item) -> Item:
    """Return an item as a run evaluates it."""
    return evaluated_items(session, run, {0: item})[0]


def standing_items(session: Session, study_id: int, sample: Sequence[Item], settings: Frozen) -> list[Item]:
    """Return the items as a new run with these settings evaluates them, see `evaluated_items`."""
    edited = getattr(settings, EDITED, None)
    if edited is False:
        return list(sample)
    edits, apply = edits_by_item(session, study_id), with_inputs if edited is None else with_edits
    return [apply(item, edits.get(item.id, ())) for item in sample]


def records(session: Session, study_id: int) -> Iterator[AiuEditRecord]:
    """Yield every edit of a study, item by item."""
    for key, edits in edits_by_item(session, study_id).items():
        for edit in edits:
            yield AiuEditRecord(item=key, edit=edit)


def add_records(session: Session, study_id: int, records: Sequence[AiuEditRecord]) -> int:
    """Add the edits of a file that are new, and return their number.

    Raises TiebreakError if the study has different edits under the same numbers.
    """
    by_item: dict[str, list[Edit]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.edit.number):
        by_item[record.item].append(record.edit)
    new = {}
    for item, edits in by_item.items():
        stored = history(session, study_id, item)
        if [edit.number for edit in edits] != list(range(1, len(edits) + 1)):
            raise TiebreakError(f"The edits of the AIUs of item {item!r} are not numbered from 1 without a gap.")
        if any(ours.change != theirs.change for ours, theirs in zip(stored, edits, strict=False)):
            raise TiebreakError(f"The AIUs of item {item!r} were edited differently in this study.")
        new[item] = edits[len(stored) :]
    insert(session, study_id, {item: edits for item, edits in new.items() if edits})
    return sum(map(len, new.values()))


@reading_for(TASK)
def find_adoptable(session: Session, study_id: int, item: str) -> Adopt | None:
    """Return the AIUs and reference of the newest run that has some, if the item lacks them; else None."""
    if not current_state(session, study_id, item).lacks_aius():
        return None
    source = items.get(session, study_id, item)
    return next((adoptable for adoptable in _generated(session, study_id, source) if adoptable.critiques), None)


def _generated(session: Session, study_id: int, item: Item) -> Iterator[Adopt]:
    """Yield the critiques and AIUs that each run generated for an item, newest run first."""
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
        evaluated = evaluated_item(session, run, item)
        turns = {e.ask: e.turn for _, e in traces.events(session, trace_id) if isinstance(e, TurnCompleted)}
        yield adoption(run, evaluated, turns)


def adoption(run: runs.Run, evaluated: Item, turns: Mapping[int, Turn]) -> Adopt:
    """Return what a run generated for an item as it evaluated it; `turns` are by the number of their ask."""
    result = replay_turns(evaluated, Settings.model_validate(run.settings), turns).evaluation
    critiques = [*result.critiques, *([result.reference] if result.reference else [])]
    new = tuple(critique for critique in critiques if critique.aius is not None and critique not in evaluated.critiques)
    return Adopt(run=run.name, critiques=new, answer=result.answer if evaluated.reference is None else None)


def save_changes(session: Session, study_id: int, annotator: str, changes: Mapping[str, Sequence[Change]]) -> None:
    """Add changes of many items, each after the item's earlier edits. The study has to be locked."""
    edits, name, at = edits_by_item(session, study_id) if changes else {}, annotators.normalize_name(annotator), now()
    new = {
        key: [
            Edit(number=number, annotator=name, change=change, at=at)
            for number, change in enumerate(own, len(edits.get(key, ())) + 1)
        ]
        for key, own in changes.items()
    }
    insert(session, study_id, new)


def insert(session: Session, study_id: int, by_item: Mapping[str, Sequence[Edit]]) -> None:
    """Add the edits of items; raises TiebreakError for an item that the study does not have."""
    item_ids = items.find_ids(session, study_id, set(by_item))
    missing = sorted(by_item.keys() - item_ids.keys())
    if missing:
        raise TiebreakError(f"There is no item {missing[0]!r} in this study.")
    names = {edit.annotator for edits in by_item.values() for edit in edits}
    annotator_ids = annotators.get_or_create_ids(session, names)
    rows = [
        {
            "study_id": study_id,
            "item_id": item_ids[item],
            "annotator_id": annotator_ids[edit.annotator],
            "number": edit.number,
            "body": edit.change.model_dump(mode="json"),
            "at": to_utc(edit.at),
        }
        for item, edits in by_item.items()
        for edit in edits
    ]
    insert_all(session, AiuEditRow, rows)
