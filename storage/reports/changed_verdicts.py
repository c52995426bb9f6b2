"""The targets on which two runs have different verdicts, in arrays of a `Dataset` whose judges are runs."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from core.labels import Value
from core.statistics.data.arrays import Ints
from core.statistics.data.dataset import Dataset
from core.statistics.data.frames import ALL
from core.statistics.reports.run_comparison import Pair as RunPair
from core.statistics.reports.run_comparison import changed_targets
from core.wording import stored_criterion
from storage.labels import targets
from storage.reports.disagreements import NO_VERDICT, Drilldown, Pair, drill_down_judges, format_value
from storage.reports.judge_ranking import labelled_by, listed

MAX_LISTED = 500
"""Changed targets that are listed."""
Transition = tuple[str, str]
"""A verdict of the first run and one of the second, as `format_value` writes them."""


def transitions(dataset: Dataset, first: str, second: str) -> dict[Transition, int]:
    """Return how often a verdict of the first column became another one of the second, the most frequent first.

    Empty for a scale of numbers.
    """
    if not dataset.scale.categories:
        return {}
    places = np.flatnonzero(changed_targets(dataset, first, second))
    pairs = zip(*(_texts(dataset, name, places) for name in (first, second)), strict=True)
    return dict(Counter(pairs).most_common())


def _texts(dataset: Dataset, name: str, places: Ints) -> list[str]:
    """Return the verdicts of a column at some targets, as tables write them."""
    return [format_value(_value(dataset, code), NO_VERDICT) for code in dataset.judges[name].values[places].tolist()]


def _value(dataset: Dataset, code: float) -> Value | None:
    """Return the value that a code denotes on the scale; None for nan."""
    if code != code:
        return None
    return dataset.scale.categories[int(code)] if dataset.scale.categories else code


def changed(
    dataset: Dataset,
    first: str,
    second: str,
    *,
    titles: Mapping[str, str] | None = None,
    transition: Transition | None = None,
    viewer: str | None = None,
    limit: int | None = MAX_LISTED,
) -> Drilldown:
    """Return the targets on which two columns differ, with both values and people's labels.

    `titles` are other names of the columns. On scales of numbers the largest differences come first. Targets that the
    viewer, if any, has not labelled are counted and not returned.
    """
    differ = changed_targets(dataset, first, second)
    if transition is not None:
        every = np.arange(differ.size)
        texts = (_texts(dataset, name, every) for name in (first, second))
        differ = differ & np.array([pair == transition for pair in zip(*texts, strict=True)], bool)
    labelled = labelled_by(dataset, viewer)
    places = np.flatnonzero(differ & labelled)
    if not dataset.scale.categories:
        distance = np.abs(dataset.judges[first].values - dataset.judges[second].values)[places]
        places = places[np.argsort(-np.nan_to_num(distance, nan=np.inf), kind="stable")]
    people = dataset.labels  # computed once: it has the labels of all targets
    rows = [
        _row(dataset, place, (first, second), people[place].tolist(), titles or {}) for place in places[:limit].tolist()
    ]
    return listed(drill_down_judges(rows, viewer), differ, labelled)


def _row(
    dataset: Dataset, place: int, columns: Sequence[str], codes: Sequence[float], titles: Mapping[str, str]
) -> tuple[Pair, dict[str, Value | None]]:
    """Return a target with its labels, which are passed as codes, and the values of columns.

    Its trace is that of the first column.
    """
    values = {
        titles.get(name, name): _value(dataset, dataset.judges[name].values[place])
        for name in columns
        if dataset.judges[name].asked[place]
    }
    given = {
        rater: value
        for rater, code in zip(dataset.ratings.raters, codes, strict=True)
        if (value := _value(dataset, code)) is not None
    }
    criterion, part = dataset.criterion, str(dataset.part[place])
    if criterion == ALL and "\n" in part:  # pooled criteria are a part of the part's name
        criterion, part = part.split("\n", 1)
    target = targets.from_columns(str(dataset.item[place]), dataset.kind, stored_criterion(criterion), part)
    trace = trace_of(dataset, place, columns[0])
    return Pair(target, str(dataset.scenario[place]), trace, None, given), values


def trace_of(dataset: Dataset, place: int, column: str) -> int:
    """Return the trace of a column's verdict on a target."""
    return int(dataset.judges[column].sides["trace"][place])


def changed_rows(dataset: Dataset, pair: RunPair) -> list[dict[str, object]]:
    """Return every target on which two columns differ, with both values and people's labels."""
    drilldown = changed(dataset, pair.first, pair.second, limit=None)
    return [
        {
            "item": one.target.item,
            "kind": one.target.kind,
            "criterion": one.target.criterion,
            "part": one.target.part,
            "scenario": one.scenario,
            "first": next(iter(one.values.values()))[0],
            "second": list(one.values.values())[1][0],
            "labels": ", ".join(f"{rater}: {values[0]}" for rater, values in list(one.values.items())[2:]),
        }
        for one in drilldown.items
    ]
