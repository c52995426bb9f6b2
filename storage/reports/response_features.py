"""What is known of the responses behind each opinion: systems, lengths, the order shown, the judge's own family."""

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy.orm import Session

from core.critiques import RECALL_SEPARATOR
from core.items import Item
from core.pairs import pair_item
from storage.reports.frame_keys import distinct_rows
from storage.reports.judge_families import own_responses
from storage.reports.opinions import shown_orders
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd

Features = tuple[str | None, str | None, float, float]
"""System, critique, the longer response (1 or 2; 0 for equal lengths), and its length over that of the shorter one."""
NO_PAIR = (float("nan"), float("nan"))


def add(session: Session, study: Study, opinions: "pd.DataFrame", items_by_id: Mapping[str, Item]) -> "pd.DataFrame":
    """Add system, critique, shown_first, longer, length_gap and own, if they apply to the kind of opinion."""
    import pandas as pd

    if opinions.empty:
        return opinions
    targets, distinct = distinct_rows(opinions, ["item", "kind", "part"])
    found = [_features(items_by_id[item], kind, part) for item, kind, part in distinct]
    systems, critiques = (np.array([one[place] for one in found], object)[targets] for place in (0, 1))
    longer, gaps = (np.array([one[place] for one in found], float)[targets] for place in (2, 3))
    shown = pd.Series(first_shown(session, study.id), dtype=float).reindex(opinions["trace"]).to_numpy(float)
    return opinions.assign(
        system=pd.Series(systems, index=opinions.index, dtype=object),
        critique=pd.Series(critiques, index=opinions.index, dtype=object),
        shown_first=np.where(np.isnan(longer), np.nan, shown),
        longer=longer,
        length_gap=gaps,
        own=own_responses(session, study, opinions, items_by_id),
    )


def _features(item: Item, kind: str, part: str) -> Features:
    if kind.startswith("aiu_"):
        critique = part.partition(RECALL_SEPARATOR)[2] or part.rpartition(".")[0]
        return None, f"{item.id}\n{critique}", *NO_PAIR
    if kind == "score":
        return item.responses[0].system if len(item.responses) == 1 else None, None, *NO_PAIR
    responses = pair_item(item, part).responses if kind == "preference" else ()
    if len(responses) != 2:
        return None, None, *NO_PAIR
    first, second = (len(response.text) for response in responses)
    longer = 0 if first == second else 1 if first > second else 2
    return None, None, longer, max(first, second) / max(min(first, second), 1)


def first_shown(session: Session, study_id: int) -> dict[int, int]:
    """Return trace id -> the response that was shown first, if it was the same in every turn."""
    first: dict[int, set[int]] = defaultdict(set)
    for trace, order in shown_orders(session, study_id):
        if order:
            first[trace].add(order[0])
    return {trace: responses.pop() for trace, responses in first.items() if len(responses) == 1}
