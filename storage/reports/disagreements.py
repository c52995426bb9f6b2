"""The targets on which a judge and the annotators disagree, and how judges change their opinions during a debate.

The annotators' answer is their strict majority; a tie is "no majority". A judge's missing verdict is "no verdict". Both
have a separate row or column in a table of values, and are never counted as one of the values.

A judge may have judged hundreds of thousands of targets: its opinions and their labels are columns of codes that are
counted and selected as numbers, and only those that are listed become objects.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Scale, Target, Value
from core.statistics.data.columns import Column, number_by_appearance
from core.statistics.data.dataset import Dataset
from core.statistics.data.frames import ALL, find_pools, select_rows, target_codes
from core.wording import stored_criterion
from storage.db.guards import COUNTS, reading_for
from storage.db.tables import AdjudicationRow, TargetRow
from storage.labels import labels, targets
from storage.reports.agreement_items import TargetValues
from storage.reports.alignment import AlignmentData
from storage.reports.opinions import row_keys

if TYPE_CHECKING:
    import pandas as pd

    from core.statistics.data.arrays import Bools, Floats, Ints

NO_VERDICT, NO_MAJORITY = "no verdict", "no majority"
# Maximum number of categories in a table; with more, numbers are compared as points.
MAX_CATEGORIES = 12
# Targets that are listed.
MAX_LISTED = 500
# A row and a column of a table of values, as `format_value` writes them.
Cell = tuple[str, str]


@dataclass(frozen=True)
class JudgeQuery:
    """A judge's opinions of a kind, on a criterion or on "all"; scenario None means no filter."""

    judge: str
    kind: str
    criterion: str
    scenario: str | None = None


@dataclass(frozen=True)
class JudgeValues:
    """N opinions of one judge, or last opinions of several, with the M labels of the same kind."""

    opinions: "pd.DataFrame"
    """N rows of `AlignmentData.opinions`."""
    labels: "pd.DataFrame"
    """M rows of `AlignmentData.labels`."""
    first: Column | None = None
    """The first opinions (N,) of the same judges on the same targets."""

    def __len__(self) -> int:
        return len(self.opinions)

    @cached_property
    def values(self) -> Column:
        """The judges' values (N,); None for an unreadable one."""
        return Column.of(self.opinions["value"].to_numpy(object))

    @cached_property
    def majorities(self) -> Column:
        """The value of more than half of the annotators of each target (N,); None if there is none."""
        given = Column.of(self.labels["value"].to_numpy(object))
        size = len(given.values)
        labels_of_target = np.bincount(self.label_targets, minlength=self._target_count)
        votes, counts = np.unique(self.label_targets * max(size, 1) + given.codes, return_counts=True)
        voted, codes = np.divmod(votes, max(size, 1))
        majority = np.full(self._target_count, size)
        is_majority = counts * 2 > labels_of_target[voted]
        majority[voted[is_majority]] = codes[is_majority]
        return Column(majority[self.targets], [*given.values, None])

    @cached_property
    def means(self) -> "Floats":
        """The mean of the numbers that the annotators gave each target (N,); nan if there is none."""
        numbers: dict[int, list[float]] = {}
        for target, value in zip(self.label_targets.tolist(), self.labels["value"].tolist(), strict=True):
            if isinstance(value, int | float):
                numbers.setdefault(target, []).append(float(value))
        means = np.full(self._target_count, np.nan)
        means[list(numbers)] = [fmean(given) for given in numbers.values()]
        return means[self.targets]

    @cached_property
    def labelled(self) -> "Bools":
        """Whether each target has a label (N,)."""
        return np.bincount(self.label_targets, minlength=self._target_count)[self.targets] > 0

    @property
    def targets(self) -> "Ints":
        """A number for each target (N,), and for the targets of the labels (M,)."""
        return self._targets[: len(self)]

    @property
    def label_targets(self) -> "Ints":
        """See `targets`."""
        return self._targets[len(self) :]

    @cached_property
    def _targets(self) -> "Ints":
        return number_by_appearance(target_codes(self.opinions, self.labels))[0]

    @property
    def _target_count(self) -> int:
        return int(self._targets.max(initial=-1)) + 1

    @cached_property
    def cells(self) -> Column:
        """The cell of each target in the table of judge and annotators (N,)."""
        return _cells((self.values, NO_VERDICT), (self.majorities, NO_MAJORITY))

    @cached_property
    def change_cells(self) -> Column:
        """The cell of each target in the table of first and last opinions (N,)."""
        assert self.first is not None, "there are no first opinions"
        return _cells((self.first, NO_VERDICT), (self.values, NO_VERDICT))

    @cached_property
    def numbers(self) -> "Floats":
        """The judges' values as numbers (N,); nan for those that are none."""
        numbers = [float(value) if isinstance(value, int | float) else np.nan for value in self.values.values]
        return np.array(numbers, float)[self.values.codes] if len(self) else np.zeros(0)

    @property
    def distances(self) -> "Floats":
        """The distance of the judge's number from the annotators' mean (N,); nan if one of them is missing."""
        return np.abs(self.numbers - self.means)

    def with_distance(self) -> "JudgeValues":
        """Return the opinions that have a distance."""
        return self.take(np.flatnonzero(~np.isnan(self.distances)))

    @property
    def differs(self) -> "Bools":
        """Whether the judge's value differs from the majority's (N,); not if one of them is missing."""
        return _both(self.values, self.majorities, lambda value, majority: bool(value != majority))

    def labelled_by(self, viewer: str | None) -> "Bools":
        """Return whether the viewer has labelled each target (N,); all of them without a viewer."""
        if viewer is None:
            return np.ones(len(self), bool)
        own = np.zeros(self._target_count, bool)
        own[self.label_targets[(self.labels["rater"] == viewer).to_numpy(bool)]] = True
        return own[self.targets]

    def take(self, places: "Ints") -> "JudgeValues":
        """Return the opinions at some places, in this order, with the labels of their targets."""
        wanted = np.zeros(self._target_count, bool)
        wanted[self.targets[places]] = True
        first = None if self.first is None else self.first.take(places)
        return JudgeValues(self.opinions.iloc[places], self.labels[wanted[self.label_targets]], first)

    def select(self, cell: str | None, *, categorical: bool) -> "Ints":
        """Return the places of the labelled opinions of one cell, "row × column".

        Without a cell: those that differ, or for numbers all with a distance, the largest first.
        """
        if cell is not None:
            return np.flatnonzero(self.labelled & self.cells.where(lambda names: " × ".join(names) == cell))
        if categorical:
            return np.flatnonzero(self.labelled & self.differs)
        distances = self.distances
        order = np.argsort(-distances, kind="stable")
        return order[: int((~np.isnan(distances)).sum())]

    def select_change(self, cell: Cell) -> "Ints":
        """Return the places of one cell of the table of first and last opinions."""
        return np.flatnonzero(self.change_cells.where(lambda names: names == cell))

    def count_changes(self) -> tuple[int, int, int, int, int]:
        """Return the numbers of readable pairs of opinions, and of changes: all, those on targets with a majority of
        people, those to its value, and those from it.
        """
        assert self.first is not None, "there are no first opinions"
        readable = self.first.present() & self.values.present()
        changed = readable & _both(self.first, self.values, lambda first, last: bool(first != last))
        away, towards = (
            changed & _both(values, self.majorities, lambda value, majority: bool(value == majority))
            for values in (self.first, self.values)
        )
        known = changed & self.majorities.present()
        return int(readable.sum()), int(changed.sum()), int(known.sum()), int(towards.sum()), int(away.sum())


def load_values(data: AlignmentData, query: JudgeQuery, criteria: Sequence[str]) -> JudgeValues:
    """Return every opinion of the judge on some criteria, one criterion after another; see `compared_criteria`."""
    own = data.opinions[(data.opinions["judge"] == query.judge).to_numpy(bool)]
    rows = _concatenate([_select(own, query, criterion) for criterion in criteria], own)
    return JudgeValues(rows, _select(data.labels, query, query.criterion))


def load_changes(data: AlignmentData, query: JudgeQuery, criteria: Sequence[str]) -> JudgeValues:
    """Return the judge's first and last opinions; those of all judges of its runs, if it is a whole method."""
    own = data.opinions[(data.opinions["judge"] == query.judge).to_numpy(bool)]
    staged = data.opinions["stage"].isin(["first", "last"]) & data.opinions["run"].isin(own["run"].unique())
    debated = data.opinions[staged.to_numpy(bool)]
    parts = [
        _of_same_judges(_select(debated, query, criterion), _select(own, query, criterion)) for criterion in criteria
    ]
    rows = _concatenate(parts, debated)
    keys, stages = row_keys(rows, ("trace", "rater", "criterion", "part")), rows["stage"].to_numpy(object)
    first_of_key = np.full(len(rows), -1)
    first = np.flatnonzero(stages == "first")
    first_of_key[keys[first]] = first
    last = np.flatnonzero((stages == "last") & (first_of_key[keys] >= 0))
    values = Column.of(rows["value"].to_numpy(object))
    labels = _select(data.labels, query, query.criterion)
    return JudgeValues(rows.iloc[last], labels, values.take(first_of_key[keys[last]]))


def _of_same_judges(debated: "pd.DataFrame", own: "pd.DataFrame") -> "pd.DataFrame":
    """Return the opinions of a judge's own runs, and of its own members if it has first opinions."""
    in_runs = debated[debated["run"].isin(own["run"].unique()).to_numpy(bool)]
    by_itself = in_runs["rater"].isin(own["rater"].unique())
    return in_runs[by_itself.to_numpy(bool)] if (by_itself & (in_runs["stage"] == "first")).any() else in_runs


def compared_criteria(data: AlignmentData, query: JudgeQuery) -> list[str]:
    """Return the criterion of a query; for "all" those that the judge judged, or none if their scales differ."""
    if query.criterion != ALL:
        return [query.criterion]
    own = select_rows(data.opinions[(data.opinions["judge"] == query.judge).to_numpy(bool)], query.kind)
    criteria = sorted(own["criterion"].unique())
    return criteria if len(criteria) == 1 or find_pools(own, data.scales) else []


def is_categorical(values: Column, scale: Scale | None) -> bool:
    """Return whether a table of values can hold all opinions; a mean may be between two categories."""
    if scale is None or not 0 < len(scale.categories) <= MAX_CATEGORIES:
        return False
    return all(value is None or scale.contains(value) for value in values.used().values)


def format_value(value: Any, missing: str) -> str:
    """Return a value as tables and query strings write it; `missing` for None."""
    if value is None:
        return missing
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _select(frame: "pd.DataFrame", query: JudgeQuery, criterion: str) -> "pd.DataFrame":
    """Return the rows of a query; "all" is every criterion of a kind, which is a choice only if they share a scale."""
    return select_rows(frame, query.kind, None if criterion == ALL else criterion, query.scenario)


def _concatenate(frames: "Sequence[pd.DataFrame]", like: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of all frames; without frames none, with the columns of `like`."""
    import pandas as pd

    return pd.concat(frames) if len(frames) > 1 else frames[0] if frames else like[:0]


def _cells(*sides: tuple[Column, str]) -> Column:
    """Return a column of cells from two columns, each with the name of a missing value."""
    (down, down_missing), (across, across_missing) = sides
    pairs = _zip_columns(down, across)
    return pairs.map(lambda pair: (format_value(pair[0], down_missing), format_value(pair[1], across_missing)))


def _both(values: Column, others: Column, is_true: Callable[[Value, Value], bool]) -> "Bools":
    """Return whether a comparison is true of two values that are both present, for each row."""
    return _zip_columns(values, others).where(lambda pair: None not in pair and is_true(*pair))


def _zip_columns(down: Column, across: Column) -> Column:
    """Return a column of pairs of the values of two columns."""
    size = max(len(across.values), 1)
    codes, distinct = number_by_appearance(down.codes * size + across.codes)
    places = (divmod(code, size) for code in distinct.tolist())
    return Column(codes, [(down.values[row], across.values[column]) for row, column in places])


# Listed targets with their values.


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


def count_matrix(cells: Column, scale: Scale, missing: Cell) -> Matrix:
    """Count cells. Every category of the scale has a row and a column; missing values only if they occur."""
    used, categories = cells.used(), [format_value(category, "") for category in scale.categories]
    counts: Counter[Cell] = Counter()
    for cell, count in zip(used.values, np.bincount(used.codes).tolist(), strict=True):
        counts[cell] += count
    rows, columns = (
        tuple([*categories, *([name] if any(cell[side] == name for cell in counts) else [])])
        for side, name in enumerate(missing)
    )
    return Matrix(rows, columns, counts)


def list_targets(
    values: JudgeValues, places: "Ints", judge: str, viewer: str | None, *, limit: int, item: str | None = None
) -> Drilldown:
    """Return the first `limit` targets at some places, and those of an item, with the opinions and the labels.

    Targets that the viewer, if any, has not labelled are counted and not returned. First opinions are before the last.
    """
    visible = places[values.labelled_by(viewer)[places]]
    named = (values.opinions["item"].iloc[visible[limit:]] == item).to_numpy(bool)
    listed = values.take(np.concatenate([visible[:limit], visible[limit:][named]]))
    by_target: dict[int, dict[str, Value]] = {}
    columns = (listed.labels[name].tolist() for name in ("rater", "value"))
    for number, rater, value in zip(listed.label_targets.tolist(), *columns, strict=True):
        by_target.setdefault(number, {})[rater] = value
    opinions, last = listed.opinions, listed.values.tolist()
    judges = [judge] * len(listed) if listed.first is None else opinions["rater"].tolist()
    given = zip(last, strict=True) if listed.first is None else zip(listed.first.tolist(), last, strict=True)
    names = (opinions[name].tolist() for name in ("scenario", "trace"))
    rows = zip(targets.of_frame(opinions), *names, judges, given, listed.targets.tolist(), strict=True)
    items = tuple(
        _listed(target, scenario, trace, {of: own}, by_target.get(number, {}))
        for target, scenario, trace, of, own, number in rows
    )
    return Drilldown(items, places.size - visible.size, visible.size - len(items))


def list_places(
    dataset: Dataset,
    places: "Ints",
    judges: Sequence[str],
    viewer: str | None,
    *,
    limit: int | None = MAX_LISTED,
    titles: Mapping[str, str] | None = None,
    item: str | None = None,
) -> Drilldown:
    """Return the first `limit` targets of a dataset at some places, and those of an item, with values and labels.

    The trace is that of the first judge; `titles` are other names of judges. Targets that the viewer, if any, has not
    labelled are counted and not returned.
    """
    people, raters = dataset.labels, dataset.ratings.raters
    own = places
    if viewer is not None:
        own = places[~np.isnan(people[places, raters.index(viewer)])] if viewer in raters else places[:0]
    listed = own if limit is None else np.append(own[:limit], own[limit:][dataset.item[own[limit:]] == item])
    items = []
    for place in listed.tolist():
        given = {
            (titles or {}).get(name, name): (value_of(dataset, dataset.judges[name].values[place]),)
            for name in judges
            if dataset.judges[name].asked[place]
        }
        labels = {rater: value_of(dataset, code) for rater, code in zip(raters, people[place].tolist(), strict=True)}
        criterion, part = dataset.criterion, str(dataset.part[place])
        if criterion == ALL and "\n" in part:  # pooled criteria are a part of the part's name
            criterion, part = part.split("\n", 1)
        target = targets.from_columns(str(dataset.item[place]), dataset.kind, stored_criterion(criterion), part)
        trace = int(dataset.judges[judges[0]].sides["trace"][place])
        of_people = {rater: value for rater, value in labels.items() if value is not None}
        items.append(_listed(target, dataset.scenario[place], trace, given, of_people))
    return Drilldown(tuple(items), places.size - own.size, own.size - len(items))


def value_of(dataset: Dataset, code: float) -> Value | None:
    """Return the value that a code denotes on the scale; None for nan."""
    if code != code:
        return None
    return dataset.scale.categories[int(code)] if dataset.scale.categories else code


def _listed(
    target: Target,
    scenario: object,
    trace: int,
    judges: Mapping[str, tuple[Value | None, ...]],
    labels: Mapping[str, Value],
) -> TargetValues:
    """Return a target with the values of judges, and the labels."""
    values: dict[str, tuple[Value, ...]] = {
        # A judge may have an annotator's name.
        f"{judge} (judge)" if judge in labels else judge: tuple(NO_VERDICT if one is None else one for one in given)
        for judge, given in judges.items()
    }
    values |= {annotator: (value,) for annotator, value in labels.items()}
    return TargetValues(target, scenario if isinstance(scenario, str) else "", values, trace, False)
