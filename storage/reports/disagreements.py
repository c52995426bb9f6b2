"""The targets on which a judge and the annotators disagree, and how judges change their opinions during a debate.

The annotators' answer is their strict majority; a tie is "no majority". A judge's missing verdict is "no verdict". Both
have a separate row or column in a table of values, and are never counted as one of the values.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Scale, Target, Value
from core.statistics.data.columns import Column
from storage.db.guards import COUNTS, reading_for
from storage.db.tables import AdjudicationRow, TargetRow
from storage.labels import labels, targets
from storage.reports import judge_values
from storage.reports.agreement_items import TargetValues
from storage.reports.alignment import AlignmentData
from storage.reports.judge_values import NO_VERDICT, Cell, JudgeQuery, JudgeValues, format_value

if TYPE_CHECKING:
    from core.statistics.data.arrays import Ints


@dataclass(frozen=True)
class Pair:
    """A judge's opinion of a target with the annotators' labels."""

    target: Target
    scenario: str
    trace: int
    judge: Value | None
    labels: Mapping[str, Value]


@dataclass(frozen=True)
class OpinionPair:
    """A judge's first and last opinion in one debate."""

    judge: str
    first: Value | None
    last: Value | None
    pair: Pair
    """The last opinion with the annotators' labels."""


@dataclass(frozen=True)
class Matrix:
    """A table of counts."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: Mapping[Cell, int]


@dataclass(frozen=True)
class Drilldown:
    """The targets of a statistic, and the number of those that the viewer has not labelled."""

    items: tuple[TargetValues, ...]
    hidden: int
    more: int = 0
    """Further targets that are not listed."""

    @property
    def total(self) -> int:
        """The targets that the viewer may see."""
        return len(self.items) + self.more

    @property
    def selected(self) -> int:
        """All targets of the statistic."""
        return self.total + self.hidden


@reading_for(COUNTS)
def version(session: Session, study_id: int) -> tuple[int, ...]:
    """Return numbers that change with every label, opinion and adjudication."""
    adjudications = (
        select(func.count())
        .select_from(AdjudicationRow)
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(col(TargetRow.study_id) == study_id)
    )
    return (*labels.version(session, study_id), session.scalars(adjudications).one())


def pairs(data: AlignmentData, query: JudgeQuery) -> list[Pair]:
    """Return every opinion of the judge with the labels of its target, if any."""
    return _pairs(judge_values.load_values(data, query, [query.criterion]))


def opinion_pairs(data: AlignmentData, query: JudgeQuery) -> list[OpinionPair]:
    """Return the judge's first and last opinions; those of all judges of its runs, if it is a whole method."""
    return _opinion_pairs(judge_values.load_changes(data, query, [query.criterion]))


def _pairs(values: JudgeValues) -> list[Pair]:
    by_target: dict[int, dict[str, Value]] = {}
    labels = values.labels
    columns = (labels["rater"].tolist(), labels["value"].tolist())
    for number, rater, value in zip(values.label_targets.tolist(), *columns, strict=True):
        by_target.setdefault(number, {})[rater] = value
    opinions = values.opinions
    names = (opinions[name].tolist() for name in ("trace", "scenario"))
    rows = zip(targets.of_frame(opinions), *names, values.values.tolist(), values.targets.tolist(), strict=True)
    return [
        Pair(target, scenario if isinstance(scenario, str) else "", trace, value, by_target.get(number, {}))
        for target, trace, scenario, value, number in rows
    ]


def _opinion_pairs(changes: JudgeValues) -> list[OpinionPair]:
    assert changes.first is not None, "there are no first opinions"
    columns = (changes.opinions["rater"].tolist(), changes.first.tolist(), _pairs(changes))
    return [OpinionPair(judge, first, pair.judge, pair) for judge, first, pair in zip(*columns, strict=True)]


def count_matrix(cells: Column, scale: Scale, missing: Cell) -> Matrix:
    """Count cells. Every category of the scale has a row and a column; missing values only if they occur."""
    used, categories = cells.used(), category_names(scale)
    counts: Counter[Cell] = Counter()
    for cell, count in zip(used.values, np.bincount(used.codes).tolist(), strict=True):
        counts[cell] += count
    rows, columns = (
        tuple([*categories, *([name] if any(cell[side] == name for cell in counts) else [])])
        for side, name in enumerate(missing)
    )
    return Matrix(rows, columns, counts)


def category_names(scale: Scale) -> list[str]:
    """Return the categories of a scale, as `format_value` writes them."""
    return [format_value(category, "") for category in scale.categories]


def list_targets(
    values: JudgeValues, places: "Ints", judge: str, viewer: str | None, *, limit: int, item: str | None = None
) -> Drilldown:
    """Return the first `limit` targets at some places, and those of an item, with the opinions and the labels.

    Targets that the viewer, if any, has not labelled are counted and not returned.
    """
    visible = places[values.labelled_by(viewer)[places]]
    named = (values.opinions["item"].iloc[visible[limit:]] == item).to_numpy(bool)
    listed = values.take(np.concatenate([visible[:limit], visible[limit:][named]]))
    if listed.first is None:
        drilldown = drill_down(_pairs(listed), judge, viewer)
    else:
        drilldown = drill_down_changes(_opinion_pairs(listed), viewer)
    return replace(drilldown, hidden=places.size - visible.size, more=visible.size - len(drilldown.items))


def drill_down(pairs: Sequence[Pair], judge: str, viewer: str | None) -> Drilldown:
    """Return the targets of pairs with the judge's value and the labels.

    Targets that the viewer, if any, has not labelled are counted and not returned.
    """
    return _drilldown([(pair, {judge: (pair.judge,)}) for pair in pairs], viewer)


def drill_down_judges(rows: Sequence[tuple[Pair, Mapping[str, Value | None]]], viewer: str | None) -> Drilldown:
    """Return the targets of pairs with the values of several judges and the labels; see `drill_down`."""
    return _drilldown([(pair, {judge: (value,) for judge, value in values.items()}) for pair, values in rows], viewer)


def drill_down_changes(pairs: Sequence[OpinionPair], viewer: str | None) -> Drilldown:
    """Return the targets of opinion pairs with both opinions and the labels; see `drill_down`."""
    return _drilldown([(pair.pair, {pair.judge: (pair.first, pair.last)}) for pair in pairs], viewer)


def _drilldown(rows: Sequence[tuple[Pair, Mapping[str, tuple[Value | None, ...]]]], viewer: str | None) -> Drilldown:
    """Return the targets of (pair, {judge: its values})."""
    visible = [row for row in rows if viewer is None or viewer in row[0].labels]
    items = tuple(
        TargetValues(
            pair.target,
            pair.scenario,
            # A judge may have an annotator's name.
            {
                f"{judge} (judge)" if judge in pair.labels else judge: tuple(map(_value_or_no_verdict, values))
                for judge, values in judges.items()
            }
            | {annotator: (value,) for annotator, value in pair.labels.items()},
            pair.trace,
            False,
        )
        for pair, judges in visible
    )
    return Drilldown(items, len(rows) - len(visible))


def _value_or_no_verdict(value: Value | None) -> Value:
    return NO_VERDICT if value is None else value
