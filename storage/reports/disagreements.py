"""The targets on which a judge and the annotators disagree, and how judges change their opinions during a debate.

The annotators' answer is their strict majority; a tie is "no majority". A judge's missing verdict is "no verdict". Both
have a separate row or column in a table of values, and are never counted as one of the values.

A judge may have judged hundreds of thousands of targets: its opinions and their labels are columns of codes that are
counted and selected as numbers, and only those that are listed become objects.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Scale, Target, Value
from core.statistics.data.arrays import mean_of_defined
from core.statistics.data.dataset import Dataset
from core.statistics.data.frames import ALL, select_rows
from core.wording import stored_criterion
from storage.db.guards import COUNTS, reading_for
from storage.db.tables import AdjudicationRow, TargetRow
from storage.labels import labels, targets
from storage.reports.agreement import TargetValues
from storage.reports.alignment import AlignmentData

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.statistics.data.arrays import Bools, Floats, Ints

    Texts = npt.NDArray[np.object_]

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
    """The opinions of one judge about the N targets of a dataset."""

    dataset: Dataset
    judge: str

    @property
    def values(self) -> "Floats":
        """The judge's values (N,), as codes if the scale has categories; nan for an unreadable one."""
        return self.dataset.judges[self.judge].values

    @property
    def labelled(self) -> "Bools":
        """Whether each target has a label (N,)."""
        return np.asarray(~np.isnan(self.dataset.labels).all(axis=1))

    @property
    def texts(self) -> "tuple[Texts, Texts]":
        """The row and the column of each target in the table of judge and annotators (N,)."""
        majority = majority_of(self.dataset)
        return texts(self.dataset, self.values, NO_VERDICT), texts(self.dataset, majority, NO_MAJORITY)

    @cached_property
    def means(self) -> "Floats":
        """The mean of the numbers that the annotators gave each target (N,); nan if there is none."""
        return mean_of_defined(self.dataset.to_numbers(self.dataset.labels))

    @property
    def numbers(self) -> "Floats":
        """The judge's values as numbers (N,)."""
        return self.dataset.to_numbers(self.values)

    def select(self, cell: str | None = None) -> "Ints":
        """Return the places of the labelled opinions of one cell, "row × column".

        Without a cell: those that differ, or for numbers all with a distance, the largest first.
        """
        if is_categorical(self.dataset.scale):
            rows, columns = self.texts
            known = ~np.isnan(self.values) & ~np.isnan(majority_of(self.dataset))
            chosen = known & (rows != columns) if cell is None else rows + " × " + columns == cell
            return np.flatnonzero(self.labelled & chosen.astype(bool))
        distances = np.abs(self.numbers - self.means)
        order = np.argsort(-distances, kind="stable")
        return order[: int((~np.isnan(distances)).sum())] if cell is None else order[:0]


def load_values(data: AlignmentData, query: JudgeQuery) -> JudgeValues | None:
    """Return the opinions of the judge; None if they have no scale, or on "all" if the criteria have different ones."""
    dataset = find_dataset(data, query, [query.judge])
    return None if dataset is None else JudgeValues(dataset, query.judge)


def find_dataset(data: AlignmentData, query: JudgeQuery, judges: Sequence[str]) -> Dataset | None:
    """Return the targets of a query about which one of these judges was asked; None without a scale for all of them."""
    for dataset in data.datasets:
        if (dataset.kind, dataset.criterion) == (query.kind, query.criterion) and {*judges} <= {*dataset.judges}:
            asked = np.any([dataset.judges[name].asked for name in judges], axis=0)
            asked &= True if query.scenario is None else dataset.scenario == query.scenario
            return dataset.subset(dataset.group, asked) if asked.any() else None
    return None


@dataclass(frozen=True)
class OpinionChanges:
    """The first and the last opinions of judges about the targets of a dataset with categories."""

    dataset: Dataset
    first: Mapping[str, str]
    """Judge -> the name of its first opinions."""


def load_changes(data: AlignmentData, query: JudgeQuery) -> OpinionChanges | None:
    """Return the judge's first and last opinions; those of all judges of its runs, if it is a whole method.

    None if no judge has both, on a scale with few categories.
    """
    own = data.opinions[(data.opinions["judge"] == query.judge).to_numpy(bool)]
    staged = select_rows(data.opinions, query.kind, None if query.criterion == ALL else query.criterion)
    staged = staged[(staged["stage"].isin(["first", "last"]) & staged["run"].isin(own["run"].unique())).to_numpy(bool)]
    by_itself = staged[staged["rater"].isin(own["rater"].unique()).to_numpy(bool)]
    staged = by_itself if (by_itself["stage"] == "first").any() else staged
    names: dict[tuple[int, str], dict[str, str]] = {}
    distinct = staged[["run", "rater", "stage", "judge"]].drop_duplicates()
    for run, rater, stage, judge in distinct.itertuples(index=False, name=None):
        names.setdefault((run, rater), {})[stage] = judge
    first = {one["last"]: one["first"] for one in names.values() if len(one) == 2}
    dataset = find_dataset(data, query, [*first, *first.values()]) if first else None
    return None if dataset is None or not is_categorical(dataset.scale) else OpinionChanges(dataset, first)


def is_categorical(scale: Scale) -> bool:
    """Return whether a table of values can hold all opinions; means between categories have a scale without any."""
    return 0 < len(scale.categories) <= MAX_CATEGORIES


def majority_of(dataset: Dataset) -> "Floats":
    """Return the code that more than half of the annotators of each target chose (N,); nan if there is none."""
    codes = dataset.label_rows.majority
    return np.where(codes < 0, np.nan, codes)


def texts(dataset: Dataset, codes: "Floats", missing: str) -> "Texts":
    """Return values as tables write them; `missing` for nan."""
    names = [format_value(category, "") for category in dataset.scale.categories]
    found: Texts = np.array([*names, missing], object)[np.where(np.isnan(codes), -1, codes).astype(int)]
    return found


def format_value(value: Any, missing: str) -> str:
    """Return a value as tables and query strings write it; `missing` for None."""
    if value is None:
        return missing
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


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


def join(found: Iterable[Drilldown]) -> Drilldown:
    """Return the targets of all."""
    listed = list(found)
    items = tuple(item for one in listed for item in one.items)
    return Drilldown(items, sum(one.hidden for one in listed), sum(one.more for one in listed))


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


def count_matrix(scale: Scale, down: "Texts", across: "Texts", missing: Cell) -> Matrix:
    """Count cells. Every category of the scale has a row and a column; missing values only if they occur."""
    categories = [format_value(category, "") for category in scale.categories]
    rows, columns = (
        tuple([*categories, *([name] if name in {*side.tolist()} else [])])
        for name, side in zip(missing, (down, across), strict=True)
    )
    return Matrix(rows, columns, Counter(zip(down.tolist(), across.tolist(), strict=True)))


def list_places(
    dataset: Dataset,
    places: "Ints",
    judges: Sequence[str],
    viewer: str | None,
    *,
    limit: int | None = MAX_LISTED,
    titles: Mapping[str, str] | None = None,
    first: Mapping[str, str] | None = None,
    item: str | None = None,
) -> Drilldown:
    """Return the first `limit` targets of a dataset at some places, and those of an item, with values and labels.

    The trace is that of the first judge; `titles` are other names of judges. `first`: judge -> the name of its first
    opinions, which are before its own. Targets that the viewer, if any, has not labelled are counted and not returned.
    """
    people, raters = dataset.labels, dataset.ratings.raters
    own = places
    if viewer is not None:
        own = places[~np.isnan(people[places, raters.index(viewer)])] if viewer in raters else places[:0]
    listed = own if limit is None else np.append(own[:limit], own[limit:][dataset.item[own[limit:]] == item])
    items = []
    for place in listed.tolist():
        given = {
            (titles or {}).get(name, name): tuple(
                value_of(dataset, dataset.judges[one].values[place])
                for one in filter(None, ((first or {}).get(name), name))
            )
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
