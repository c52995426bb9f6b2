"""The items from which an agreement statistic is computed, with every rater's values, strongest disagreement first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Engine

from core.labels import Target, Value
from core.statistics.data.frames import select_rows
from storage.db import connections
from storage.labels import labels as stored_labels
from storage.labels import targets
from storage.reports.opinions import RaterGroup, judge_panels, opinion_frame, row_keys
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

    from core.statistics.data.arrays import Ints

TARGET = ("item", "kind", "criterion", "part")


@dataclass(frozen=True)
class ItemQuery:
    """The items of one statistic; None means no filter."""

    group: RaterGroup
    kind: str
    criterion: str | None = None
    scenario: str | None = None
    raters: tuple[str, ...] = ()
    """Raters who all rated the item."""
    judges: str = ""
    """The set of judges (see `RaterPanel.judges`), if runs of the study have different ones."""


@dataclass(frozen=True)
class TargetValues:
    """The values of one target by rater: of all annotators, or of the judges of one debate."""

    target: Target
    scenario: str
    values: dict[str, tuple[Value, ...]]
    """For a judge the first and the last opinion, or one value if they are equal."""
    trace: int | None
    """The debate, or the newest one about the target."""
    blind: bool
    """The viewer has not labelled the target yet: `values` is empty."""


@dataclass(frozen=True)
class RatedValues:
    """The values behind the agreement of people or judges."""

    labels: "pd.DataFrame"
    """Current labels of all annotators."""
    frames: "tuple[tuple[str, pd.DataFrame], ...]"
    """(set of judges, values): the labels, or the judges' first, then last opinions, with the item's name."""


def load_values(engine: Engine, study: Study, group: RaterGroup) -> RatedValues:
    """Return the values of people or judges."""
    with connections.reading(engine) as session:
        labels = stored_labels.frame(session, study.id)
        if group == "people":
            return RatedValues(labels, (("", labels),))
        opinions = opinion_frame(session, study.id)
        items = dict(zip(opinions["trace"], opinions["item"], strict=True))
        panels = [panel for panel in judge_panels(session, study) if not panel.as_shown]
    frames = [
        (panel.judges, panel.values.assign(item=panel.values["trace"].map(items.__getitem__)).to_frame())
        for panel in panels
    ]
    return RatedValues(labels, tuple(frames))


def find_items(
    engine: Engine,
    study: Study,
    query: ItemQuery,
    viewer: str | None = None,
    *,
    values: RatedValues | None = None,
    limit: int | None = None,
) -> tuple[list[TargetValues], int]:
    """Return the first `limit` items of a statistic, strongest disagreement first, and the number of all.

    `viewer` is the annotator who is signed in: values of targets that the viewer has not labelled are hidden. `values`
    are those of `load_values`, if they were loaded before.
    """
    values = values or load_values(engine, study, query.group)
    rows = _select_values(values, query)
    if rows.empty:
        return [], 0
    keys = row_keys(rows, [*TARGET, *(["trace"] if "trace" in rows else [])])
    order = _order_items(rows, keys, query)
    chosen = order[:limit]
    places = {key: place for place, key in enumerate(chosen.tolist())}
    items = _collect_values(rows[np.isin(keys, chosen)], keys[np.isin(keys, chosen)], places)
    if query.group == "people":
        with connections.reading(engine) as session:
            traces = targets.newest_traces(session, study.id, [item.target for item in items])
        items = [replace(item, trace=traces.get(item.target)) for item in items]
    if viewer is not None:
        labels = values.labels
        labelled = set(targets.of_frame(labels[(labels["rater"] == viewer).to_numpy(bool)]))
        items = [item if item.target in labelled else replace(item, values={}, blind=True) for item in items]
    return items, order.size


def _select_values(values: RatedValues, query: ItemQuery) -> "pd.DataFrame":
    """Return the rows of a statistic; the last rows of a rater and item have its last value."""
    import pandas as pd

    frames = [frame for judges, frame in values.frames if judges == query.judges or query.group == "people"]
    selected = [select_rows(frame, query.kind, query.criterion, query.scenario) for frame in frames]
    return pd.concat(selected, ignore_index=True) if selected else values.labels[:0]


def _order_items(rows: "pd.DataFrame", keys: "Ints", query: ItemQuery) -> "Ints":
    """Return the keys of the items that all raters of the query rated, those with most distinct last values first."""
    import pandas as pd

    table = pd.DataFrame({"key": keys, "rater": rows["rater"], "value": rows["value"].map(repr)})
    last = table.drop_duplicates(["key", "rater"], keep="last")
    compared = last[last["rater"].isin(query.raters)] if query.raters else last
    counts = compared.groupby("key", sort=True)["rater"].size()
    wanted = len(set(query.raters)) or (2 if query.group == "people" else 1)
    distinct = compared.groupby("key", sort=True)["value"].nunique()[counts >= wanted]
    return distinct.index.to_numpy()[np.argsort(-distinct.to_numpy(), kind="stable")]


def _collect_values(rows: "pd.DataFrame", keys: "Ints", places: Mapping[int, int]) -> list[TargetValues]:
    """Return the items of the rows, in the order of their places."""
    found: dict[int, TargetValues] = {}
    debates = rows["trace"].tolist() if "trace" in rows else [None] * len(rows)
    columns = (rows["scenario"].tolist(), rows["rater"].tolist(), rows["value"].tolist(), debates)
    for key, target, scenario, rater, value, debate in zip(
        keys.tolist(), targets.of_frame(rows), *columns, strict=True
    ):
        name = scenario if isinstance(scenario, str) else ""
        item = found.setdefault(key, TargetValues(target, name, {}, debate, False))
        earlier = item.values.get(rater, ())
        item.values[rater] = earlier if earlier == (value,) else (*earlier, value)
    return [found[key] for key in sorted(found, key=places.__getitem__)]
