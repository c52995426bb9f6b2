"""Runs compared with each other: differing settings, changed verdicts, costs, agreement and accuracy.

A run that has several conclusions on a target, one for each judge, has a column for each judge.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.tables import Column, in_file, records
from core.statistics import catalogue
from core.statistics.data.arrays import Estimate
from core.statistics.data.dataset import Dataset, build_datasets
from core.statistics.reports.run_comparison import Pair, RunComparison, RunFigures, changed_targets, compare_runs
from core.wording import equate_p, format_count, format_estimate
from storage.db import connections
from storage.db.tables import RunRow
from storage.reports import alignment, references
from storage.reports.alignment import AlignmentData, comparable_scales, load_data, named_opinions
from storage.reports.chosen_labels import DISPUTED_TARGETS
from storage.reports.disagreements import MAX_LISTED, Drilldown, list_places
from storage.reports.judge_costs import RunCost, cost_by_run
from storage.reports.opinions import with_texts
from storage.reports.references import Reference
from storage.runs import runs
from storage.runs.runs import Run
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

# Characters of a value in a table; longer texts are compared by line.
MAX_VALUE = 80
CONTEXT_LINES = 2
# In place of a setting that a run does not have.
ABSENT = "–"
MAX_RUNS = 6
NO_ESTIMATE = Estimate(None, None, None, 0, 0, 0, 0)


@dataclass(frozen=True)
class Difference:
    """A setting or a template with different values."""

    path: str
    """Names with dots between them, as axes of experiments name settings: `judges.0.model`."""
    values: tuple[str, ...]
    """One for each run."""

    @property
    def is_text(self) -> bool:
        """Whether a value is compared by line."""
        return any("\n" in value or len(value) > MAX_VALUE for value in self.values)

    def lines(self, other: int) -> list[str]:
        """Return the lines of a unified diff from the first run's text to another's; empty if they are equal.

        The first character of a line is "+", "-" or " ", or the line states its place: "@@ -1,3 +1,4 @@".
        """
        first, second = (self.values[place].splitlines() for place in (0, other))
        return list(difflib.unified_diff(first, second, lineterm="", n=CONTEXT_LINES))[2:]


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of a comparison with their verdicts, the reference and the costs."""

    runs: tuple[Run, ...]
    columns: Mapping[str, int]
    """Column of the datasets -> the id of its run."""
    datasets: tuple[Dataset, ...]
    """One for each kind and criterion with a scale, the largest first; pooled criteria are "all"."""
    data: AlignmentData
    """Of the study, with the reference and the targets that its values are of."""
    costs: Mapping[int, RunCost]
    differences: tuple[Difference, ...]
    reference_runs: frozenset[int] = frozenset()
    """The ids of the runs whose verdicts are the reference."""

    @property
    def reference(self) -> Reference:
        """What runs are compared with."""
        return self.data.reference

    @property
    def settings(self) -> list[Difference]:
        """The short values that differ."""
        return [one for one in self.differences if not one.is_text]

    @property
    def texts(self) -> list[Difference]:
        """Templates and other long settings that differ."""
        return [one for one in self.differences if one.is_text]

    def note(self, dataset: Dataset) -> str:
        """Return that the figures of a reference are of disputed targets; empty if they are of all."""
        return self.data.choices.note(dataset.kind, dataset.criterion)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The (kind, criterion) that can be compared."""
        return [(dataset.kind, dataset.criterion) for dataset in self.datasets]

    def dataset(self, kind: str | None = None, criterion: str | None = None, scenario: str | None = None) -> Dataset:
        """Return the largest dataset with this kind, criterion and scenario; raises TiebreakError without targets."""
        for dataset in self.datasets:
            if kind in (None, dataset.kind) and criterion in (None, dataset.criterion):
                if scenario is None:
                    return dataset
                chosen = dataset.scenario == scenario
                if chosen.any():
                    return dataset.subset(scenario, chosen)
        alignment.check_keys(self.keys, kind, criterion)
        alignment.check_scenario({name for one in self.datasets for name in one.scenario.tolist()}, scenario)
        raise TiebreakError("These runs have no verdicts of this kind, criterion and scenario.")

    def pairs(self, dataset: Dataset) -> list[tuple[str, str]]:
        """Return every two columns of different runs, in the order of the runs."""
        every = combinations(dataset.judges, 2)
        return [(first, second) for first, second in every if self.columns[first] != self.columns[second]]

    def compare(self, dataset: Dataset, *, resamples: int = 1000) -> RunComparison:
        """Return the figures of a dataset, with every two columns of different runs."""
        own = frozenset(name for name, run in self.columns.items() if run in self.reference_runs)
        found = compare_runs(dataset, self.pairs(dataset), unmatched=own, resamples=resamples)
        return replace(found, population=self.data.choices.population(dataset.kind, dataset.criterion))


def load(engine: Engine, study: Study, names: Sequence[str], reference: str | None = None) -> ComparedRuns:
    """Load the runs with these names, in this order; raises TiebreakError for fewer than two or too many."""
    names = list(dict.fromkeys(names))
    if not 2 <= len(names) <= MAX_RUNS:
        raise TiebreakError(f"Choose 2 to {MAX_RUNS} runs to compare.")
    with connections.reading(engine) as session:
        chosen = find_runs(session, study.id, names)
        judged = named_opinions(session, study.id)
        costs = cost_by_run(session, [run.id for run in chosen])
    opinions = _conclusions(judged, chosen)
    data = load_data(engine, study, reference)
    own: list[int] = []
    if data.reference.type == "debate":
        with connections.reading(engine) as session:
            own = references.debate_run_ids(session, study.id, data.reference.name)
    scales = comparable_scales(opinions, data.scales)
    datasets = list(build_datasets(replace(data, opinions=opinions, scales=scales), "all"))
    datasets.sort(key=lambda dataset: -max(int(judge.asked.sum()) for judge in dataset.judges.values()))
    columns = dict(opinions[["judge", "run"]].drop_duplicates().itertuples(index=False, name=None))
    places = {run.id: place for place, run in enumerate(chosen)}
    order = sorted(columns, key=lambda name: (places[columns[name]], name))
    datasets = [
        replace(one, judges={name: one.judges[name] for name in order if name in one.judges}) for one in datasets
    ]
    found = differences([_settings(run) for run in chosen], [run.prompts for run in chosen])
    return ComparedRuns(tuple(chosen), columns, tuple(datasets), data, costs, tuple(found), frozenset(own))


def find_runs(session: Session, study_id: int, names: Sequence[str]) -> list[Run]:
    """Return the runs with these names, in this order; raises TiebreakError for a name without a run."""
    by_name = {
        run.name: run
        for run in runs.select_runs(session, (col(RunRow.study_id) == study_id) & col(RunRow.name).in_(names))
    }
    for name in names:
        if name not in by_name:
            raise TiebreakError(f"The study has no run called {name!r}.")
    return [by_name[name] for name in names]


def _settings(run: Run) -> dict[str, object]:
    """Return what determines the replies of a run, as one mapping."""
    own = run.settings if isinstance(run.settings, dict) else {}
    about = {"protocol": run.protocol, "criterion": run.criterion, "seed": run.seed, "repeat": run.repeat}
    return about | {"pairs": run.pairs, "extractor": run.extractor} | {k: v for k, v in own.items() if k != "prompts"}


def _conclusions(opinions: "pd.DataFrame", chosen: Sequence[Run]) -> "pd.DataFrame":
    """Return the verdicts of runs, one per row, with the name of the run as `judge`, or of the run and a judge.

    A run without verdicts on its targets has the last opinions of its judges.
    """
    names = {run.id: run.name for run in chosen}
    own = with_texts(opinions[opinions["run"].isin(names) & (opinions["stage"] != "first")])
    has_verdict = own["run"].isin(own.loc[own["stage"] == "verdict", "run"])
    own = own[(own["stage"] == "verdict") | ~has_verdict]
    several = set(own.loc[own.duplicated(["run", "item", "kind", "criterion", "part"]), "run"])
    judges = [
        f"{names[run]} · {rater}" if run in several else names[run]
        for run, rater in zip(own["run"], own["rater"], strict=True)
    ]
    return own.assign(judge=judges)


def estimate_columns(rows: Sequence[RunFigures | Pair]) -> list[Column]:
    """Return the columns of the statistics that rows have: value, interval and n of each."""
    names = dict.fromkeys(name for row in rows for name in row.estimates)
    columns = []
    for name in names:
        short = catalogue.BY_ID[name].short
        columns += [
            Column(short, partial(_interval, name), "estimate", f"{name} {name}_low {name}_high"),
            Column("", partial(_items, name), key=f"{name}_n"),
        ]
    return columns


def most_items(row: RunFigures | Pair) -> str:
    """Return the n of a row: of the statistic with the most targets; a dash without one."""
    most = max((estimate.items for estimate in row.estimates.values()), default=None)
    return "–" if most is None else f"{most:,}"


def _interval(name: str, row: RunFigures | Pair) -> tuple[float | None, ...]:
    estimate = row.estimates.get(name, NO_ESTIMATE)
    return estimate.value, estimate.low, estimate.high


def _items(name: str, row: RunFigures | Pair) -> int:
    return row.estimates.get(name, NO_ESTIMATE).items


def run_columns(
    compared: ComparedRuns, comparison: RunComparison, titles: Mapping[str, str] | None = None
) -> tuple[Column, ...]:
    """Return the columns of runs, with the costs of each; `titles` are other names of columns on a page."""
    names = titles or {}

    def cost(row: RunFigures) -> RunCost:
        return compared.costs[compared.columns[row.name]]

    return (
        Column("Run", lambda row: names.get(row.name, row.name)),
        in_file("name", "run"),
        *estimate_columns(comparison.figures),
        Column("n", most_items, "figure"),
        Column("Targets", "targets", "count", "targets"),
        Column("No verdict", "no_verdict", "count", "no_verdict"),
        Column("", lambda _: comparison.population, key="population"),
        Column("$ per 1,000", lambda row: cost(row).dollars_per_thousand, "estimate", "dollars_per_1000"),
        Column("Paid", lambda row: None if cost(row).unpriced else cost(row).paid_dollars, "estimate", "paid_dollars"),
        Column("Tokens", lambda row: cost(row).tokens_per_trace, "estimate", "tokens_per_trace"),
        Column("Seconds", lambda row: cost(row).seconds_per_trace, "estimate", "seconds_per_trace"),
        Column("Calls", lambda row: cost(row).calls, "count", "calls"),
        Column("Reused", lambda row: cost(row).reused, "count", "reused"),
        Column("", lambda row: cost(row).unpriced, key="unpriced"),
    )


def run_rows(compared: ComparedRuns, comparison: RunComparison) -> list[dict[str, object]]:
    """Return one row for each column: targets, statistics with intervals, and the costs of its run."""
    return records(comparison.figures, run_columns(compared, comparison))


def pair_columns(comparison: RunComparison, titles: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """Return the columns of pairs: changed verdicts, agreement, and the difference against the reference.

    `titles` are other names of columns on a page.
    """
    names = titles or {}
    share = "changed_share.value changed_share.low changed_share.high"
    difference = "difference.difference difference.low difference.high"
    return (
        Column("First", lambda pair: names.get(pair.first, pair.first)),
        Column("Second", lambda pair: names.get(pair.second, pair.second)),
        in_file("first second targets changed"),
        Column("Changed verdicts", _changed, "figure"),
        in_file(share, "changed_share changed_low changed_high"),
        Column("Difference", difference, "estimate", "difference low high"),
        in_file("statistic difference.p_bootstrap", "statistic p"),
        Column("p", "difference.p_corrected", "p", "p_corrected"),
        Column("n", "difference.items", "count", "n"),
        *estimate_columns(comparison.pairs),
        Column("n of both", most_items, "figure"),
        Column("", lambda _: comparison.population, key="population"),
        Column("Note", "difference.reason", key="reason"),
    )


def _changed(pair: Pair) -> str:
    share = format_estimate(pair.changed_share.value, pair.changed_share.low, pair.changed_share.high)
    return f"{pair.changed:,} of {pair.targets:,}: {share}" if pair.targets else "no common target"


def pair_rows(comparison: RunComparison) -> list[dict[str, object]]:
    """Return one row for each pair."""
    return records(comparison.pairs, pair_columns(comparison))


def summarize(comparison: RunComparison, titles: Mapping[str, str] | None = None) -> list[str]:
    """Return a sentence for each pair, without a number that has no n; `titles` are other names of columns."""
    return [_sentence(pair, titles or {}, comparison.population) for pair in comparison.pairs]


def _sentence(pair: Pair, titles: Mapping[str, str], population: str) -> str:
    first, second = (titles.get(name, name) for name in (pair.first, pair.second))
    if not pair.targets:
        return f"{second} and {first} have no target in common."
    start = f"{second} has another verdict than {first} on {pair.changed:,} of {format_count(pair.targets, 'target')}"
    one = pair.difference
    if one.difference is None or one.low is None or one.high is None or one.p_corrected is None:
        return f"{start}; against the reference: {one.reason or 'no difference can be computed'}."
    name = "accuracy" if pair.statistic == "accuracy_gold" else "Pearson's r"
    found = "" if one.p_corrected < 0.05 else ", which can be chance"
    interval = format_estimate(one.difference, one.low, one.high, 3, sign=True)
    noun = "disputed target" if population == DISPUTED_TARGETS else "target"
    targets_used = format_count(one.items, noun)
    p = equate_p(one.p_corrected)
    return f"{start}. The difference in {name} is {interval}, {p}{found} ({targets_used} with a reference)."


# The targets on which two runs have different verdicts.


def changed(
    dataset: Dataset,
    first: str,
    second: str,
    *,
    titles: Mapping[str, str] | None = None,
    viewer: str | None = None,
    limit: int | None = MAX_LISTED,
) -> Drilldown:
    """Return the targets on which two columns differ, with both values and people's labels.

    `titles` are other names of the columns. On scales of numbers the largest differences come first. See
    `disagreements.list_places`.
    """
    places = np.flatnonzero(changed_targets(dataset, first, second))
    if not dataset.scale.categories:
        distance = np.abs(dataset.judges[first].values - dataset.judges[second].values)[places]
        places = places[np.argsort(-np.nan_to_num(distance, nan=np.inf), kind="stable")]
    return list_places(dataset, places, (first, second), viewer, limit=limit, titles=titles)


def changed_rows(dataset: Dataset, pair: Pair) -> list[dict[str, object]]:
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


def differences(settings: Sequence[Mapping[str, Any]], texts: Sequence[Mapping[str, str]] = ()) -> list[Difference]:
    """Return the settings and the texts of runs that are not the same in all.

    Both have one mapping for each run; the runs may be of different protocols.
    """
    flat = [dict(_flatten(fields)) for fields in settings]
    paths = dict.fromkeys(path for fields in flat for path in fields)
    found = [Difference(path, tuple(fields.get(path, ABSENT) for fields in flat)) for path in paths]
    names = sorted({name for of_run in texts for name in of_run})
    found += [Difference(name, tuple(of_run.get(name, ABSENT) for of_run in texts)) for name in names]
    return [one for one in found if len(set(one.values)) > 1]


def _flatten(settings: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, value as text) of nested settings, without empty values; `spec` is not part of a path."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            own = path if name == "spec" and path else f"{path}.{name}" if path else str(name)
            yield from _flatten(value, own)
    elif isinstance(settings, list | tuple) and any(isinstance(element, Mapping) for element in settings):
        for number, element in enumerate(settings):
            yield from _flatten(element, f"{path}.{number}")
    elif settings not in (None, "", [], ()):
        yield path, _as_text(settings)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(_as_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
