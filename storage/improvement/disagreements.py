"""The targets of development items on which a verdict differs from people's decision, with the judges' replies."""

from collections.abc import Iterable, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.improvement.comparison import score
from core.improvement.suggestion import Case, example_text
from core.items import Item
from core.labels import Gold, Target, Value
from core.trace import Turn
from storage import items, targets
from storage.improvement import splits
from storage.improvement.judges import CurrentJudge
from storage.reports import turns
from storage.tables import ItemRow, OpinionRow, TargetRow

AGREES = 0.999
"""From this score on, a verdict does not differ from people's decision."""


def cases(session: Session, study_id: int, current: CurrentJudge) -> list[Case]:
    """Return the disagreements on development items: adjudicated ones first, then the largest distance."""
    gold = _development_gold(session, study_id, current)
    verdicts = verdicts_of_runs(session, [current.run.id], current.kind, current.judge.criterion.name)
    judged = {target: (trace, value) for (_, target), (trace, value) in verdicts.items() if target in gold}
    differing = {
        target: (trace, value, score(value, _value(gold[target]), current.scale))
        for target, (trace, value) in judged.items()
    }
    differing = {target: found for target, found in differing.items() if found[2] < AGREES}
    by_key = items.by_keys(session, study_id, {target.item for target in differing})
    replies = _replies(session, study_id, current, differing.keys())
    found = [
        Case(
            item=by_key[target.item],
            target=target,
            gold=_value(gold[target]),
            source=gold[target].source,
            reason=gold[target].reason,
            verdict=value,
            distance=1.0 - agreement,
            trace=trace,
            replies=replies.get((target.item, target.part), replies.get((target.item, ""), ())),
        )
        for target, (trace, value, agreement) in differing.items()
    ]
    return sorted(found, key=lambda case: (case.source != "adjudicated", -case.distance, case.target.item))


def examples(session: Session, study_id: int, current: CurrentJudge, chosen: Sequence[str]) -> list[str]:
    """Return development items with their decisions, as examples for a judge; raises TiebreakError for any other."""
    gold = _development_gold(session, study_id, current)
    by_item: dict[str, list[Target]] = {}
    for target in gold:
        by_item.setdefault(target.item, []).append(target)
    if others := [item for item in chosen if item not in by_item]:
        raise TiebreakError(f"{others[0]!r} is not a development item with a decision on this criterion.")
    by_key = items.by_keys(session, study_id, chosen)
    return [
        example_text(_example(by_key[target.item], target, gold[target])) for item in chosen for target in by_item[item]
    ]


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
    return splits.gold_of_part(session, study_id, "development", current.kind, current.judge.criterion.name)


def _value(gold: Gold) -> Value:
    """Return the value of gold that has one."""
    if gold.value is None:
        raise ValueError("gold without a value was selected")
    return gold.value


def _example(item: Item, target: Target, gold: Gold) -> Case:
    return Case(item, target, _value(gold), gold.source, gold.reason, None, 0.0, 0)


def _replies(
    session: Session, study_id: int, current: CurrentJudge, wanted: Iterable[Target]
) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Return (item, pair) -> (judge, last reply) of the judges of a run, for the items of the wanted targets."""
    chosen = {target.item for target in wanted}
    return {
        (trace.item, trace.part): tuple(_last_replies(trace.turns, current.judge.criterion.name))
        for trace in turns.by_trace(session, study_id, [current.run.id])
        if trace.item in chosen
    }


def _last_replies(answered: Sequence[Turn], criterion: str) -> list[tuple[str, str]]:
    """Return the last statement of each judge on the criterion, with the order in which it read the responses."""
    last = {turn.speaker: turn for turn in answered if turn.criterion in ("", criterion)}
    return [(speaker, f"{turn.statement}{_order_note(turn)}") for speaker, turn in last.items()]


def _order_note(turn: Turn) -> str:
    """Return a note if the responses were shown in another order than the item's."""
    if list(turn.shown) == sorted(turn.shown):
        return ""
    order = ", ".join(f"Response {number}" for number in turn.shown)
    return f"\n(The judge read the responses in the order {order}.)"
