"""How often a judge that was asked in both orders of two texts makes the same choice: one row for each judge.

The choices are read from the turns, because the opinion of a judge whose choice changes with the order has no value.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.protocols import registry
from core.protocols.dna_eval.settings import Settings, settings_of_item
from core.protocols.dna_eval.verdicts import collect_judgements_of_order
from core.statistics.data.frames import ALL
from core.statistics.measures.bias import order_consistency
from core.statistics.measures.pairwise import preference_of_scores
from core.statistics.reports.alignment import AlignmentRow, By, rows_from_estimates
from core.trace import Turn
from core.wording import join_notes, scenario_group, stored_criterion
from storage.runs import aius, aspects, events, runs, trace_opinions
from storage.studies import items

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
    choices: tuple[int | None, ...]
    trace: int = 0


def rows(session: Session, study_id: int, opinions: "pd.DataFrame", by: By) -> list[AlignmentRow]:
    """Return the share of pairs with the same choice in both orders, for each judge, criterion and group.

    `opinions` are those of `storage.reports.alignment`, whose judges are named.
    """
    groups: dict[tuple[str, str, str], list[OrderPair]] = defaultdict(list)
    for pair in pairs(session, study_id, opinions):
        groups[pair.judge, pair.criterion, scenario_group(pair.scenario) if by == "scenario" else ALL].append(pair)
    return [row for key, of_judge in sorted(groups.items()) for row in _rows(*key, of_judge)]


def pairs(session: Session, study_id: int, opinions: "pd.DataFrame") -> Iterator[OrderPair]:
    """Yield the choices of every judge that was asked in both orders."""
    judged = opinions[opinions["kind"] == "preference"] if len(opinions) else opinions
    if judged.empty:
        return
    judged = judged[judged["trace"].isin(trace_opinions.with_orders(session, study_id, BOTH))]
    if judged.empty:
        return
    criteria: dict[int, set[str]] = defaultdict(set)
    for trace, criterion in zip(judged["trace"], judged["criterion"], strict=True):
        criteria[trace].add(criterion)
    later = judged[judged["stage"] != "first"]
    names = dict(zip(zip(later["run"], later["rater"], strict=True), later["judge"], strict=True))
    scoring = _aspect_settings(session, study_id)
    by_id = items.by_key(session, study_id) if scoring else {}
    judged_items = {run: aius.evaluated_items(session, runs.get(session, run), by_id) for run in scoring}
    for recorded in events.turns_by_trace(session, study_id, sorted(set(judged["run"].tolist()))):
        settings = scoring.get(recorded.run)
        by_aspect = None if settings is None else settings_of_item(settings, judged_items[recorded.run][recorded.item])
        for criterion in sorted(criteria.get(recorded.trace, ())):
            own = recorded.of_criterion(stored_criterion(criterion))
            for speaker, choices in _choices(own) if by_aspect is None else _choices_by_aspect(own, by_aspect):
                judge = names.get((recorded.run, speaker), speaker)
                yield OrderPair(judge, criterion, recorded.scenario, choices, recorded.trace)


def _aspect_settings(session: Session, study_id: int) -> dict[int, Settings]:
    """Return run id -> its settings, for the protocols whose preference follows from the scores of several asks."""
    protocols = registry.with_artifact("aspects")
    found = {}
    for run in runs.of_study(session, study_id):
        if run.protocol in protocols:
            with suppress(TiebreakError):  # an imported run may have any settings
                found[run.id] = aspects.parse_settings(run.settings)
    return found


def _choices_by_aspect(given: tuple[Turn, ...], settings: Settings) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    """Yield (judge, preferences in both orders) by the judge's overall scores in each order."""
    by_order = [collect_judgements_of_order(given, settings, 2, order) for order in ((1, 2), (2, 1))]
    for of_judge in zip(*by_order, strict=True):
        choices = [preference_of_scores(*judgement.overalls) if judgement.overalls else None for judgement in of_judge]
        yield of_judge[0].judge, tuple(choices)


def _choices(given: tuple[Turn, ...]) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    """Yield (speaker, choices in both orders), from each speaker's last round in each order.

    The asks about several pairs come in the same sequence in both orders, so they match by number.
    """
    by_speaker: dict[str, dict[tuple[int, ...], list[Turn]]] = defaultdict(lambda: defaultdict(list))
    for turn in given:
        if turn.shown in BOTH:
            by_speaker[turn.speaker][turn.shown].append(turn)
    for speaker, orders in by_speaker.items():
        rounds = {order: max(turn.round for turn in of_order) for order, of_order in orders.items()}
        last = {order: [turn for turn in own if turn.round == rounds[order]] for order, own in orders.items()}
        for first, second in zip(last.get((1, 2), ()), last.get((2, 1), ()), strict=False):
            yield speaker, (choice_of_turn(first), choice_of_turn(second))


def choice_of_turn(turn: Turn) -> int | None:
    """Return the choice in the item's own order: as it was read, or by the scores that were read."""
    match turn.reading:
        case bool():
            return None
        case 0 | 1 | 2:
            return int(turn.reading)
        case {"1": int() | float() as first, "2": int() | float() as second}:
            return preference_of_scores(first, second)
    return None


def _rows(judge: str, criterion: str, group: str, pairs: list[OrderPair]) -> list[AlignmentRow]:
    estimate = order_consistency(np.array([pair.choices for pair in pairs], float))
    unread = len(pairs) - estimate.items
    note = f"{unread} of {len(pairs)} pairs are unreadable in an order, left out" if unread else ""
    named = {STATISTIC: replace(estimate, reason=join_notes(note, estimate.reason))}
    return rows_from_estimates(judge, "preference", criterion, group, named)
