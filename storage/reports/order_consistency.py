"""How often a judge that was asked in both orders of two texts makes the same choice: one row for each judge.

The choices are read from the turns, because the opinion of a judge whose choice changes with the order has no value.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy.orm import Session

from core.statistics.conversions import preference_of_scores
from core.statistics.data.frames import ALL
from core.statistics.measures.bias import order_consistency
from core.statistics.reports.alignment import AlignmentRow, By
from core.trace import Turn
from storage.reports import turns
from storage.reports.opinions import shown_orders

if TYPE_CHECKING:
    import pandas as pd

STATISTIC = "both_orders_consistency"
BOTH = {(1, 2), (2, 1)}


@dataclass(frozen=True)
class OrderPair:
    """One judge's choices on one pair, with the first text shown first and with the second; None if unreadable."""

    judge: str
    criterion: str
    scenario: str
    choices: tuple[int | None, int | None]


def rows(session: Session, study_id: int, opinions: "pd.DataFrame", by: By) -> list[AlignmentRow]:
    """Return the share of pairs with the same choice in both orders, for each judge, criterion and group.

    `opinions` are those of `storage.reports.alignment`, whose judges are named.
    """
    groups: dict[tuple[str, str, str], list[OrderPair]] = defaultdict(list)
    for pair in _pairs(session, study_id, opinions):
        groups[pair.judge, pair.criterion, pair.scenario if by == "scenario" else ALL].append(pair)
    return [_row(judge, criterion, group, pairs) for (judge, criterion, group), pairs in sorted(groups.items())]


def _pairs(session: Session, study_id: int, opinions: "pd.DataFrame") -> Iterator[OrderPair]:
    orders: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for trace, order in shown_orders(session, study_id):
        orders[trace].add(order)
    in_both = [trace for trace, shown in orders.items() if shown >= BOTH]
    judged = opinions[opinions["kind"] == "preference"] if len(opinions) else opinions
    judged = judged[judged["trace"].isin(in_both)] if len(judged) else judged
    if judged.empty:
        return
    criteria = dict(zip(judged["trace"], judged["criterion"], strict=True))
    later = judged[judged["stage"] != "first"]
    names = dict(zip(zip(later["run"], later["rater"], strict=True), later["judge"], strict=True))
    for recorded in turns.by_trace(session, study_id, sorted(set(judged["run"].tolist()))):
        if recorded.trace in criteria:
            for speaker, choices in _choices(recorded.turns):
                judge = names.get((recorded.run, speaker), speaker)
                yield OrderPair(judge, criteria[recorded.trace], recorded.scenario, choices)


def _choices(given: tuple[Turn, ...]) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    """Yield (speaker, choices in both orders), from each speaker's last round.

    The asks about several pairs come in the same sequence in both orders, so they match by number.
    """
    by_ask: dict[tuple[str, str], dict[int, dict[tuple[int, ...], list[Turn]]]] = defaultdict(dict)
    for turn in given:
        if turn.shown in BOTH:
            rounds = by_ask[turn.speaker, turn.step]
            rounds.setdefault(turn.round, defaultdict(list))[turn.shown].append(turn)
    for (speaker, _), rounds in by_ask.items():
        last = rounds[max(rounds)]
        for first, second in zip(last.get((1, 2), ()), last.get((2, 1), ()), strict=False):
            yield speaker, (_choice(first), _choice(second))


def _choice(turn: Turn) -> int | None:
    """Return the choice in the item's own order: as it was read, or by the scores that were read."""
    match turn.reading:
        case bool():
            return None
        case 0 | 1 | 2:
            return int(turn.reading)
        case {"1": int() | float() as first, "2": int() | float() as second}:
            return preference_of_scores(first, second)
    return None


def _row(judge: str, criterion: str, group: str, pairs: list[OrderPair]) -> AlignmentRow:
    choices = np.array([[np.nan if choice is None else choice for choice in pair.choices] for pair in pairs], float)
    numbers = np.repeat(np.arange(len(pairs)), 2)
    estimate = order_consistency(choices.reshape(-1), np.tile([1, 2], len(pairs)), numbers)
    unread = len(pairs) - estimate.items
    notes = [f"{unread} of {len(pairs)} pairs are unreadable in an order, left out"] if unread else []
    notes += [estimate.reason] if estimate.reason else []
    return AlignmentRow(
        judge, "preference", criterion, group, STATISTIC, estimate.value, estimate.low, estimate.high, estimate.items,
        1, 0, "; ".join(notes),
    )  # fmt: skip
