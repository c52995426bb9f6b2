"""The targets on which a judge and the annotators disagree, and how judges change their opinions during a debate.

The annotators' answer is their strict majority; a tie is "no majority". A judge's missing verdict is "no verdict". Both
have a separate row or column in a table of values, and are never counted as one of the values.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Scale, Target, Value, majority_value
from core.statistics.data.frames import ALL as ALL
from core.statistics.data.frames import select_rows
from storage import labels, targets
from storage.operations import reading_for
from storage.read_guard import COUNTS
from storage.reports.agreement_items import TargetValues
from storage.reports.alignment import AlignmentData
from storage.tables import AdjudicationRow, TargetRow

if TYPE_CHECKING:
    import pandas as pd

NO_VERDICT, NO_MAJORITY = "no verdict", "no majority"
MAX_CATEGORIES = 12
"""Maximum number of categories in a table; with more, numbers are compared as points."""
Bias = Literal["shown_first", "longer"]
BIASES: tuple[Bias, ...] = ("shown_first", "longer")
Cell = tuple[str, str]
"""A row and a column of a table of values, as `format_value` writes them."""


@dataclass(frozen=True)
class JudgeQuery:
    """A judge's opinions of a kind, on a criterion or on "all"; scenario None means no filter."""

    judge: str
    kind: str
    criterion: str
    scenario: str | None = None


@dataclass(frozen=True)
class Pair:
    """A judge's opinion of a target with the annotators' labels."""

    target: Target
    scenario: str
    trace: int
    judge: Value | None
    majority: Value | None
    """The value of more than half of the annotators; None if there is none."""
    labels: Mapping[str, Value]
    sides: Mapping[Bias, int] = field(default_factory=dict)
    """The number of the response that was shown first, and of the longer one, if they are known."""
    length_gap: float | None = None
    """The length of the longer response over that of the shorter one."""

    @property
    def cell(self) -> Cell:
        """The cell of the target in the table of judge and annotators."""
        return format_value(self.judge, NO_VERDICT), format_value(self.majority, NO_MAJORITY)

    @property
    def mean(self) -> float | None:
        """The mean of the annotators' numbers."""
        numbers = [float(value) for value in self.labels.values() if isinstance(value, int | float)]
        return fmean(numbers) if numbers else None

    @property
    def distance(self) -> float:
        """The absolute difference of the judge's number and the annotators' mean; -1 if one of them is missing."""
        if not isinstance(self.judge, int | float) or self.mean is None:
            return -1.0
        return abs(float(self.judge) - self.mean)

    @property
    def differs(self) -> bool:
        """Whether the judge's value differs from the majority's."""
        return self.judge is not None and self.majority is not None and self.judge != self.majority

    def chose(self, bias: Bias) -> bool:
        """Return whether the judge chose the response that was shown first, or the longer one."""
        return self.judge is not None and self.judge == self.sides.get(bias)


@dataclass(frozen=True)
class OpinionPair:
    """A judge's first and last opinion in one debate."""

    judge: str
    first: Value | None
    last: Value | None
    pair: Pair
    """The last opinion with the annotators' labels."""

    @property
    def cell(self) -> Cell:
        """The cell of the debate in the table of first and last opinions."""
        return format_value(self.first, NO_VERDICT), format_value(self.last, NO_VERDICT)


@dataclass(frozen=True)
class ChangeCounts:
    """Counts of changed opinions, relative to the annotators' majority."""

    opinions: int
    """Pairs of which both opinions could be read."""
    changed: int
    towards: int
    """From another value to the majority's."""
    away: int
    """From the majority's value to another."""
    unknown: int
    """Changes on targets without a majority."""


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


def format_value(value: Any, missing: str) -> str:
    """Return a value as tables and query strings write it; `missing` for None."""
    if value is None:
        return missing
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def pairs(data: AlignmentData, query: JudgeQuery) -> list[Pair]:
    """Return every opinion of the judge with the labels of its target, if any."""
    opinions = _select(data.opinions, query)
    return _pair_with_labels(data, query, opinions[opinions["judge"] == query.judge] if len(opinions) else opinions)


def labelled_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with at least one label."""
    return [pair for pair in pairs if pair.labels]


def count_matrix(cells: Sequence[Cell], scale: Scale, missing: Cell) -> Matrix:
    """Count cells. Every category of the scale has a row and a column; missing values only if they occur."""
    categories = category_names(scale)
    rows, columns = (
        tuple([*categories, *([name] if any(cell[side] == name for cell in cells) else [])])
        for side, name in enumerate(missing)
    )
    return Matrix(rows, columns, Counter(cells))


def category_names(scale: Scale) -> list[str]:
    """Return the categories of a scale, as `format_value` writes them."""
    return [format_value(category, "") for category in scale.categories]


def is_categorical(pairs: Sequence[Pair], scale: Scale | None) -> bool:
    """Return whether a table of values can hold all opinions; a mean may be between two categories."""
    if scale is None or not 0 < len(scale.categories) <= MAX_CATEGORIES:
        return False
    return all(pair.judge is None or scale.contains(pair.judge) for pair in pairs)


def select_pairs(pairs: Sequence[Pair], cell: str | None, *, categorical: bool) -> list[Pair]:
    """Return the labelled pairs of one cell, "row × column".

    Without a cell: those that differ, or for numbers all, the largest distance first.
    """
    labelled = labelled_pairs(pairs)
    if cell is not None:
        return [pair for pair in labelled if " × ".join(pair.cell) == cell]
    if categorical:
        return [pair for pair in labelled if pair.differs]
    return sorted((pair for pair in labelled if pair.distance >= 0), key=lambda pair: -pair.distance)


def drill_down(pairs: Sequence[Pair], judge: str, viewer: str | None) -> Drilldown:
    """Return the targets of pairs with the judge's value and the labels.

    Targets that the viewer, if any, has not labelled are counted and not returned.
    """
    return _drilldown([(pair, {judge: (pair.judge,)}) for pair in pairs], viewer)


def drill_down_judges(rows: Sequence[tuple[Pair, Mapping[str, Value | None]]], viewer: str | None) -> Drilldown:
    """Return the targets of pairs with the values of several judges and the labels; see `drill_down`."""
    return _drilldown([(pair, {judge: (value,) for judge, value in values.items()}) for pair, values in rows], viewer)


def opinion_pairs(data: AlignmentData, query: JudgeQuery) -> list[OpinionPair]:
    """Return the judge's first and last opinions; those of all judges of its runs, if it is a whole method."""
    opinions = _select(data.opinions, query)
    if opinions.empty:
        return []
    own = opinions[opinions["judge"] == query.judge]
    runs, raters = set(own["run"]), set(own["rater"])
    debated = opinions[opinions["run"].isin(runs) & opinions["stage"].isin(["first", "last"])]
    if (debated["rater"].isin(raters) & (debated["stage"] == "first")).any():
        debated = debated[debated["rater"].isin(raters)]
    return list(_match_stages(data, query, debated))


def count_changes(pairs: Sequence[OpinionPair]) -> ChangeCounts:
    """Count how many opinions changed, and how many towards the annotators' majority."""
    readable = [pair for pair in pairs if pair.first is not None and pair.last is not None]
    changed = [pair for pair in readable if pair.first != pair.last]
    known = [pair for pair in changed if pair.pair.majority is not None]
    return ChangeCounts(
        opinions=len(readable),
        changed=len(changed),
        towards=sum(pair.last == pair.pair.majority for pair in known),
        away=sum(pair.first == pair.pair.majority for pair in known),
        unknown=len(changed) - len(known),
    )


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


def _pair_with_labels(data: AlignmentData, query: JudgeQuery, opinions: "pd.DataFrame") -> list[Pair]:
    """Return opinions with the labels of their targets, in the order of the opinions."""
    labels_by_target = _labels_by_target(data, query, set(opinions["item"]))
    majorities = {target: majority_value([*values.values()]) for target, values in labels_by_target.items()}
    sides = [(bias, opinions[bias].tolist()) for bias in BIASES if bias in opinions]
    columns = (opinions[name].tolist() for name in ("trace", "scenario", "value"))
    gaps = opinions["length_gap"].tolist() if "length_gap" in opinions else [None] * len(opinions)
    pairs = []
    for row, (target, trace, scenario, value) in enumerate(zip(targets.of_frame(opinions), *columns, strict=True)):
        known_sides = {bias: int(values[row]) for bias, values in sides if values[row] in (1, 2)}
        name = scenario if isinstance(scenario, str) else ""
        given = labels_by_target.get(target, {})
        values_and_labels = _none_if_nan(value), majorities.get(target), given
        gap = None if gaps[row] != gaps[row] else gaps[row]
        pairs.append(Pair(target, name, trace, *values_and_labels, known_sides, gap))
    return pairs


def _match_stages(data: AlignmentData, query: JudgeQuery, opinions: "pd.DataFrame") -> Iterator[OpinionPair]:
    unit = ["trace", "rater", "criterion", "part"]
    first = opinions[opinions["stage"] == "first"].set_index(unit)["value"].to_dict()
    last = opinions[opinions["stage"] == "last"]
    keys = zip(*(last[name].tolist() for name in unit), strict=True)
    for key, rater, pair in zip(keys, last["rater"].tolist(), _pair_with_labels(data, query, last), strict=True):
        if key in first:
            yield OpinionPair(rater, _none_if_nan(first[key]), pair.judge, pair)


def _labels_by_target(data: AlignmentData, query: JudgeQuery, items: Collection[str]) -> dict[Target, dict[str, Value]]:
    """Return target -> annotator -> label."""
    rows = _select(data.labels, query)
    rows = rows[rows["item"].isin(items)]
    by_target: dict[Target, dict[str, Value]] = {}
    columns = (rows["rater"].tolist(), rows["value"].tolist())
    for target, rater, value in zip(targets.of_frame(rows), *columns, strict=True):
        by_target.setdefault(target, {})[rater] = value
    return by_target


def _select(frame: "pd.DataFrame", query: JudgeQuery) -> "pd.DataFrame":
    """Return the rows of a query; "all" is every criterion of a kind, which is a choice only if they share a scale."""
    criterion = None if query.criterion == ALL else query.criterion
    return select_rows(frame, query.kind, criterion, query.scenario)


def _none_if_nan(value: Any) -> Value | None:
    return None if value is None or value != value else value
