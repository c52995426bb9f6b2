"""Preferences that follow from scores of the responses of one item, so scores are compared with preferences.

Only across kinds: a judge's scores become preferences on the pairs that people (or the reference) compared directly,
and people's scores on the pairs that a judge compared directly. Scores are still compared with scores as well.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.pairs import pair_part
from core.statistics.conversions import pairwise_preferences

if TYPE_CHECKING:
    import pandas as pd

BY_SCORES = ", by scores"
TARGET = ("item", "criterion", "part")
Key = tuple[str, str, str]
"""Item, criterion, part."""


def add(
    labels: "pd.DataFrame", opinions: "pd.DataFrame", gold: "pd.DataFrame", response_counts: Mapping[str, int]
) -> tuple["pd.DataFrame", "pd.DataFrame", "pd.DataFrame"]:
    """Return the three frames with the preferences that follow from scores.

    `opinions` have the column `judge`: a derived one is a judge of its own, "NAME, by scores". A label is derived for
    an annotator without a preference of their own on the pair, and a reference value if there is none.
    `response_counts` has the number of responses of each item.
    """
    if not any(map(_has_scores_of_parts, (labels, opinions, gold))):
        return labels, opinions, gold
    responses = {key: count for key, count in response_counts.items() if count > 1}
    by_judges, by_people = _preferred(opinions), _preferred(labels) | _preferred(gold)
    new_opinions = [
        row | {"judge": f"{row['judge']}{BY_SCORES}"}
        for row in _derive(opinions, ("run", "judge", "stage"), "value", responses)
        if _key(row) in by_people
    ]
    own = _preferred(labels, "rater")
    new_labels = [
        row
        for row in _derive(labels, ("rater",), "value", responses)
        if _key(row) in by_judges and row["value"] is not None and (*_key(row), row["rater"]) not in own
    ]
    known = _preferred(gold)
    new_gold = [
        row | {"number": None}
        for row in _derive(gold, (), "number", responses)
        if _key(row) in by_judges and row["value"] is not None and _key(row) not in known
    ]
    return _append(labels, new_labels), _append(opinions, new_opinions), _append(gold, new_gold)


def _has_scores_of_parts(frame: "pd.DataFrame") -> bool:
    return not frame.empty and bool(((frame["kind"] == "score") & (frame["part"] != "")).any())


def _key(row: Mapping[str, Any]) -> Key:
    return row["item"], row["criterion"], row["part"]


def _preferred(frame: "pd.DataFrame", *columns: str) -> set[Hashable]:
    """Return (item, criterion, part) of the preferences in a frame, followed by further columns."""
    if frame.empty:
        return set()
    rows = frame[(frame["kind"] == "preference") & frame["value"].notna()]
    return set(zip(*(rows[name] for name in (*TARGET, *columns)), strict=True))


def _derive(
    frame: "pd.DataFrame", by: Sequence[str], value: str, responses: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield a row for every two responses of an item that one source scored; `by` are the columns of the source."""
    if frame.empty:
        return
    scores = frame[(frame["kind"] == "score") & frame["item"].isin(list(responses)) & (frame["part"] != "")]
    by_source: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = defaultdict(dict)
    for row in scores.to_dict("records"):
        if str(row["part"]).isdecimal() and 1 <= int(row["part"]) <= responses[row["item"]]:
            by_source[tuple(row[name] for name in ("item", "criterion", *by))][int(row["part"])] = {
                str(name): cell for name, cell in row.items()
            }
    for rows in by_source.values():
        first = next(iter(rows.values()))
        count = responses[first["item"]]
        numbers = [_number(rows.get(place, {}).get(value)) for place in range(1, count + 1)]
        for (i, j), preference in pairwise_preferences(numbers).items():
            if i in rows and j in rows:
                part = pair_part(i, j, count)
                yield first | {"kind": "preference", "part": part, "value": preference}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _append(frame: "pd.DataFrame", rows: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    """Return the frame with further rows; values stay objects, because None among numbers would become nan."""
    import pandas as pd

    if not rows:
        return frame
    added = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in frame.columns})
    categories = {name: dtype.categories.dtype for name, dtype in frame.dtypes.items() if dtype == "category"}
    frame = frame.astype(categories)
    for name, dtype in frame.dtypes.items():
        if name not in ("value", "part"):
            added[name] = added[name].astype(dtype)
    return pd.concat([frame, added], ignore_index=True)
