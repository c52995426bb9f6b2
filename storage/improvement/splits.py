"""The split of a study's items with gold into a development and a held-out part; see `core.improvement.changes`."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.improvement.changes import PARTS, Part, assign_parts
from core.improvement.comparison import AcceptanceRule, score
from core.improvement.suggestion import Case, example_text
from core.items import Item
from core.labels import Gold, Target, Value
from core.trace import Turn
from storage.db import audit
from storage.db.connections import insert_all
from storage.db.tables import AnnotatorRow, ItemPartRow, ItemRow, OpinionRow, OpinionViewRow, SplitRow, TargetRow, now
from storage.improvement.judges import CurrentJudge
from storage.labels import labels, targets
from storage.runs import events
from storage.studies import items, studies

NO_SPLIT = "The study has no split into development and held-out items yet."


@dataclass(frozen=True)
class Split:
    """The split of a study, with the rule of acceptance."""

    study_id: int
    share: float  # of held-out items
    seed: int
    rule: AcceptanceRule
    author: str
    at: datetime
    items: Mapping[str, Mapping[Part, int]]  # scenario -> part -> number of items

    def count(self, part: Part) -> int:
        """Return the number of items of a part."""
        return sum(counts[part] for counts in self.items.values())


def create(session: Session, study_id: int, *, share: float, seed: int, rule: AcceptanceRule) -> Split:
    """Split the items that have gold; raises TiebreakError if the study has a split, or too few items."""
    studies.lock(session, study_id)
    if find(session, study_id) is not None:
        raise TiebreakError("The study has a split already; it never changes. Items with new gold can be added to it.")
    if not 0 < share < 1:
        raise TiebreakError("The share of held-out items is between 0 and 1.")
    parts = _new_parts(session, study_id, share, seed)
    if set(parts.values()) < set(PARTS):
        raise TiebreakError(
            "A split needs gold on items that do not all belong together, by their group, context or prompt: label "
            "or adjudicate items first."
        )
    session.add(
        SplitRow(
            study_id=study_id, share=share, seed=seed, rule=rule.model_dump(mode="json"),
            author=audit.actor_name(), at=now(),
        )
    )  # fmt: skip
    _insert(session, study_id, parts)
    audit.record_change(session, study_id, f"{len(parts):,} items split into development and held-out, seed {seed}")
    return get(session, study_id)


def preview(session: Session, study_id: int, *, share: float, seed: int) -> dict[Part, int]:
    """Return part -> the number of items with gold that `create` would assign to it."""
    assigned = Counter(_new_parts(session, study_id, share, seed).values())
    return {part: assigned[part] for part in PARTS}


def extend(session: Session, study_id: int) -> int:
    """Add the items that have gold now, and return their number; items that are in the split keep their part."""
    studies.lock(session, study_id)
    split = get(session, study_id)
    parts = _new_parts(session, study_id, split.share, split.seed)
    if parts:
        _insert(session, study_id, parts)
        audit.record_change(session, study_id, f"{len(parts):,} items added to the split")
    return len(parts)


def get(session: Session, study_id: int) -> Split:
    """Return the split of a study; raises TiebreakError if it has none."""
    split = find(session, study_id)
    if split is None:
        raise TiebreakError(NO_SPLIT)
    return split


def find(session: Session, study_id: int) -> Split | None:
    """Return the split of a study; None if it has none."""
    row = session.scalars(select(SplitRow).where(col(SplitRow.study_id) == study_id)).first()
    if row is None:
        return None
    counted = (
        select(col(ItemRow.scenario), col(ItemPartRow.held_out), func.count())
        .join(ItemPartRow, col(ItemPartRow.item_id) == col(ItemRow.id))
        .where(col(ItemPartRow.study_id) == study_id)
        .group_by(col(ItemRow.scenario), col(ItemPartRow.held_out))
    )
    by_scenario: dict[str, dict[Part, int]] = {}
    for scenario, held_out, number in session.execute(counted):
        by_scenario.setdefault(scenario or "", dict.fromkeys(PARTS, 0))[PARTS[held_out]] = number
    rule = AcceptanceRule.model_validate(row.rule)
    in_order = {name: by_scenario[name] for name in sorted(by_scenario)}
    return Split(study_id, row.share, row.seed, rule, row.author, row.at, in_order)


def parts(session: Session, study_id: int) -> dict[str, Part]:
    """Return item -> part of the items in the split, in the order of the study."""
    query = (
        select(col(ItemRow.key), col(ItemPartRow.held_out))
        .join(ItemPartRow, col(ItemPartRow.item_id) == col(ItemRow.id))
        .where(col(ItemPartRow.study_id) == study_id)
        .order_by(col(ItemRow.position))
    )
    return {key: PARTS[held_out] for key, held_out in session.execute(query)}


def gold_of_part(session: Session, study_id: int, part: Part, kind: str, criterion: str) -> dict[Target, Gold]:
    """Return target -> gold of the targets of a kind and criterion on the items of a part, if they have a value."""
    chosen = {item for item, own in parts(session, study_id).items() if own == part}
    return {
        gold.target: gold
        for gold in labels.gold_labels(session, study_id)
        if (gold.target.kind, gold.target.criterion) == (kind, criterion)
        and gold.target.item in chosen
        and gold.value is not None
    }


def count_seen(session: Session, study_id: int, annotator: str) -> int:
    """Return on how many held-out items an annotator has seen opinions of judges or labels of others."""
    query = (
        select(func.count(col(ItemPartRow.item_id).distinct()))
        .join(TargetRow, col(TargetRow.item_id) == col(ItemPartRow.item_id))
        .join(OpinionViewRow, col(OpinionViewRow.target_id) == col(TargetRow.id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(OpinionViewRow.annotator_id))
        .where(col(ItemPartRow.study_id) == study_id, col(ItemPartRow.held_out), col(AnnotatorRow.name) == annotator)
    )
    return session.scalars(query).one()


def _new_parts(session: Session, study_id: int, share: float, seed: int) -> dict[str, Part]:
    """Return item -> part of the items that have gold and no part yet."""
    existing = parts(session, study_id)
    with_gold = {gold.target.item for gold in labels.gold_labels(session, study_id) if gold.value is not None}
    if with_gold <= existing.keys():
        return {}
    known = items.by_keys(session, study_id, with_gold | existing.keys())
    return assign_parts(list(known.values()), existing, share=share, seed=seed)


def _insert(session: Session, study_id: int, parts: Mapping[str, Part]) -> None:
    ids = items.find_ids(session, study_id, set(parts))
    rows = [
        {"study_id": study_id, "item_id": ids[item], "held_out": part == "held-out"} for item, part in parts.items()
    ]
    insert_all(session, ItemPartRow, rows)


# The targets of development items on which a verdict differs from people's decision, with the judges' replies.

AGREES = 0.999  # from this score on, a verdict does not differ from people's decision


def disagreement_cases(session: Session, study_id: int, current: CurrentJudge) -> list[Case]:
    """Return the disagreements on development items: adjudicated ones first, then the largest distance."""
    gold = _development_gold(session, study_id, current)
    verdicts = verdicts_of_runs(session, [current.run.id], current.kind, current.judge.criterion.name)
    differing = {}
    for (_, target), (trace, verdict) in verdicts.items():
        if target in gold:
            agreement = score(verdict, _value(gold[target]), current.scale)
            if agreement < AGREES:
                differing[target] = verdict, 1.0 - agreement, trace
    by_key = items.by_keys(session, study_id, {target.item for target in differing})
    replies = _replies(session, study_id, current, set(by_key))
    found = [
        _case(
            by_key[target.item],
            gold[target],
            *judged,
            replies.get((target.item, target.part), replies.get((target.item, ""), ())),
        )
        for target, judged in differing.items()
    ]
    return sorted(found, key=lambda case: (case.source != "adjudicated", -case.distance, case.target.item))


def disagreement_examples(session: Session, study_id: int, current: CurrentJudge, chosen: Sequence[str]) -> list[str]:
    """Return development items with their decisions, as examples for a judge; raises TiebreakError for any other."""
    gold = _development_gold(session, study_id, current)
    by_item: dict[str, list[Target]] = {}
    for target in gold:
        by_item.setdefault(target.item, []).append(target)
    if others := [item for item in chosen if item not in by_item]:
        raise TiebreakError(f"{others[0]!r} is not a development item with a decision on this criterion.")
    by_key = items.by_keys(session, study_id, chosen)
    return [example_text(_case(by_key[item], gold[target])) for item in chosen for target in by_item[item]]


def verdicts_of_runs(
    session: Session, run_ids: Sequence[int], kind: str, criterion: str
) -> dict[tuple[int, Target], tuple[int, Value | None]]:
    """Return (run, target) -> (trace, verdict) on the targets of a kind and criterion; None for no verdict."""
    query = (
        select(
            col(OpinionRow.run_id), col(OpinionRow.trace_id), col(ItemRow.key), col(TargetRow.kind),
            col(TargetRow.criterion), col(TargetRow.part), col(OpinionRow.value),
        )
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(
            col(OpinionRow.run_id).in_(run_ids),
            col(OpinionRow.stage) == "verdict",
            col(TargetRow.kind) == kind,
            col(TargetRow.criterion) == criterion,
        )
        .order_by(col(OpinionRow.id))
    )  # fmt: skip
    return {
        (run, targets.from_columns(*columns)): (trace, value) for run, trace, *columns, value in session.execute(query)
    }


def _development_gold(session: Session, study_id: int, current: CurrentJudge) -> dict[Target, Gold]:
    return gold_of_part(session, study_id, "development", current.kind, current.judge.criterion.name)


def _value(gold: Gold) -> Value:
    """Return the value of gold that has one."""
    if gold.value is None:
        raise ValueError("gold without a value was selected")
    return gold.value


def _case(
    item: Item,
    gold: Gold,
    verdict: Value | None = None,
    distance: float = 0.0,
    trace: int = 0,
    replies: tuple[tuple[str, str], ...] = (),
) -> Case:
    return Case(item, gold.target, _value(gold), gold.source, gold.reason, verdict, distance, trace, replies)


def _replies(
    session: Session, study_id: int, current: CurrentJudge, chosen: Collection[str]
) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Return (item, pair) -> (judge, last statement on the criterion) of the judges of a run, for the chosen items."""
    criteria = ("", current.judge.criterion.name)
    found = {}
    for trace in events.turns_by_trace(session, study_id, [current.run.id]):
        if trace.item in chosen:
            last = {turn.speaker: turn for turn in trace.turns if turn.criterion in criteria}
            texts = ((speaker, f"{turn.statement}{_order_note(turn)}") for speaker, turn in last.items())
            found[trace.item, trace.part] = tuple(texts)
    return found


def _order_note(turn: Turn) -> str:
    """Return a note if the responses were shown in another order than the item's."""
    if list(turn.shown) == sorted(turn.shown):
        return ""
    order = ", ".join(f"Response {number}" for number in turn.shown)
    return f"\n(The judge read the responses in the order {order}.)"
