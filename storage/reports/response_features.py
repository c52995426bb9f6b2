"""What is known of the responses behind each opinion: systems, lengths, the order shown, the judge's own family."""

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from sqlalchemy.orm import Session

from core.critiques import RECALL_SEPARATOR
from core.pairs import pair_numbers
from storage import shown_orders
from storage.items import Outline
from storage.reports.frame_keys import distinct_rows
from storage.reports.judge_families import own_responses
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd

Features = tuple[str | None, str | None, float, float]
"""System, critique, the longer response (1 or 2; 0 for equal lengths), and its length over that of the shorter one."""
Value = TypeVar("Value")
NO_PAIR = (float("nan"), float("nan"))


def add(session: Session, study: Study, opinions: "pd.DataFrame", outlines: Mapping[str, Outline]) -> "pd.DataFrame":
    """Add system, critique, shown_first, longer, length_gap and own, if they apply to the kind of opinion."""
    import pandas as pd

    if opinions.empty:
        return opinions
    targets, distinct = distinct_rows(opinions, ["item", "kind", "part"])
    found = [_features(item, outlines[item], kind, part) for item, kind, part in distinct]
    systems_of_pairs = [_systems_of_pair(outlines[item], kind, part) for item, kind, part in distinct]
    systems, critiques = (
        pd.Series([one[place] for one in found], dtype=object).astype("category").take(targets).array
        for place in (0, 1)
    )
    longer, gaps = (np.array([one[place] for one in found], float)[targets] for place in (2, 3))
    shown = first_shown(session, study.id).reindex(opinions["trace"]).to_numpy(float)
    return opinions.assign(
        system=systems,
        critique=critiques,
        shown_first=np.where(np.isnan(longer), np.nan, shown),
        longer=longer,
        length_gap=gaps,
        own=own_responses(session, study, opinions, targets, systems_of_pairs),
    )


def _features(item: str, outline: Outline, kind: str, part: str) -> Features:
    if kind.startswith("aiu_"):
        critique = part.partition(RECALL_SEPARATOR)[2] or part.rpartition(".")[0]
        return None, f"{item}\n{critique}", *NO_PAIR
    if kind == "score":
        return outline.systems[0] if len(outline.systems) == 1 else None, None, *NO_PAIR
    lengths = _of_pair(outline.lengths, part) if kind == "preference" else ()
    if len(lengths) != 2:
        return None, None, *NO_PAIR
    first, second = lengths
    longer = 0 if first == second else 1 if first > second else 2
    return None, None, longer, max(first, second) / max(min(first, second), 1)


def _systems_of_pair(outline: Outline, kind: str, part: str) -> tuple[str | None, str | None]:
    """Return the two systems of a pair; None twice if one of them has no name."""
    named = _of_pair(outline.systems, part) if kind == "preference" else ()
    systems = [system for system in named if system is not None]
    return (systems[0], systems[1]) if len(systems) == 2 else (None, None)


def _of_pair(of_responses: tuple[Value, ...], part: str) -> tuple[Value, ...]:
    """Return what belongs to the responses of a pair; all of it for a part that names no pair of the item."""
    numbers = pair_numbers(part)
    if numbers is None or numbers[1] > len(of_responses):
        return of_responses
    return tuple(of_responses[number - 1] for number in numbers)


def first_shown(session: Session, study_id: int) -> "pd.Series[float]":
    """Return the response that was shown first by trace, if it was the same in every turn."""
    import pandas as pd

    traces, responses = array("q"), array("q")
    for trace, orders in shown_orders.of_study(session, study_id):
        first = orders[0][0]
        if len(orders) == 1 or all(order[0] == first for order in orders):
            traces.append(trace)
            responses.append(first)
    index = pd.Index(np.array(traces, np.int64), name="trace")
    return pd.Series(np.array(responses, np.int64), index=index, name="first").astype(float)
