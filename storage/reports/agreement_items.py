"""The items from which an agreement statistic is computed, with every rater's values, strongest disagreement first."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from core.labels import Target, Value
from core.statistics.data.frames import select_rows
from storage import database, targets
from storage.reports.opinions import RaterGroup, RaterPanel, annotator_panel, judge_panels, opinion_frame
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd


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


def find_items(engine: Engine, study: Study, query: ItemQuery, viewer: str | None = None) -> list[TargetValues]:
    """Return the items of a statistic, strongest disagreement first.

    `viewer` is the annotator who is signed in: values of targets that the viewer has not labelled are hidden.
    """
    with database.reading(engine) as session:
        labels = annotator_panel(session, study).values
        opinions = opinion_frame(session, study.id)
        if query.group == "people":
            frames = [labels]
        else:
            frames = _panel_frames(judge_panels(session, study), query.judges, opinions)
    traces = dict(zip(targets.of_frame(opinions), opinions["trace"].tolist(), strict=True))
    labelled = set(targets.of_frame(labels[labels["rater"] == viewer]))
    rated = [
        item
        for item in _collect_values(frames, query, traces)
        if (query.group == "judges" or len(item.values) > 1) and set(query.raters) <= item.values.keys()
    ]
    if viewer is not None:
        rated = [item if item.target in labelled else _hide_values(item) for item in rated]
    return sorted(rated, key=lambda item: -_count_distinct(item, query.raters))


def _panel_frames(panels: list[RaterPanel], judges: str, opinions: "pd.DataFrame") -> list["pd.DataFrame"]:
    """Return first, then last opinions, with the item's name in place of the trace's id."""
    items = dict(zip(opinions["trace"], opinions["item"], strict=True))
    frames = [panel.values for panel in panels if panel.judges == judges and not panel.as_shown]
    return [frame.assign(item=frame["trace"].map(items)) for frame in frames]


def _collect_values(frames: "list[pd.DataFrame]", query: ItemQuery, traces: dict[Target, int]) -> list[TargetValues]:
    rated: dict[Hashable, TargetValues] = {}
    for frame in frames:
        rows = select_rows(frame, query.kind, query.criterion, query.scenario)
        debates = rows["trace"].tolist() if "trace" in rows else [None] * len(rows)
        columns = (rows["scenario"].tolist(), rows["rater"].tolist(), rows["value"].tolist(), debates)
        for target, scenario, rater, value, debate in zip(targets.of_frame(rows), *columns, strict=True):
            trace = traces.get(target) if debate is None else debate
            name = scenario if isinstance(scenario, str) else ""
            item = rated.setdefault((target, debate), TargetValues(target, name, {}, trace, False))
            earlier = item.values.get(rater, ())
            item.values[rater] = earlier if earlier == (value,) else (*earlier, value)
    return list(rated.values())


def _hide_values(item: TargetValues) -> TargetValues:
    return TargetValues(item.target, item.scenario, {}, item.trace, True)


def _count_distinct(item: TargetValues, raters: tuple[str, ...]) -> int:
    """Return the number of distinct last values of the raters, or of all raters if none are named."""
    return len({repr(values[-1]) for rater, values in item.values.items() if rater in (raters or item.values)})
