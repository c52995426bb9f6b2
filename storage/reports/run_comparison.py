"""Runs compared with each other: differing settings, changed verdicts, costs, agreement and accuracy.

Verdicts are loaded for the compared runs only, as arrays. A run that has several conclusions on a target, one for each
judge, has a column for each judge.
"""

import difflib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine, Text, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.tables import Column, in_file, records
from core.statistics import catalogue
from core.statistics.data.arrays import Estimate, Ints
from core.statistics.data.dataset import Dataset, Frames, build_datasets, encode_opinions
from core.statistics.reports.run_comparison import Pair, RunComparison, RunFigures, changed_targets, compare_runs
from core.wording import equate_p, format_count, format_estimate
from storage.db import connections
from storage.db.tables import OpinionRow, RunRow, TraceRow
from storage.labels import designs, labels, targets
from storage.reports import alignment, chosen_labels, references
from storage.reports.alignment import comparable_scales
from storage.reports.chosen_labels import DISPUTED_TARGETS, NOTHING, Choices
from storage.reports.disagreements import MAX_LISTED, NO_VERDICT, Drilldown, format_value, list_places, value_of
from storage.reports.judge_costs import RunCost, cost_by_run
from storage.reports.opinions import find_scales, frame_panel, with_values
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
class SettingDifference:
    """A setting with different values."""

    path: str
    """Names with dots between them, as axes of experiments name settings: `judges.0.model`."""
    values: tuple[str, ...]
    """One for each run."""


@dataclass(frozen=True)
class TextDifference:
    """A text, such as a template, with different values."""

    path: str
    texts: tuple[str | None, ...]
    """One for each run; None if the run has no such text."""

    def lines(self, other: int) -> list[str]:
        """Return the lines of a unified diff from the first run's text to another's; empty if they are equal.

        The first character of a line is "+", "-" or " ", or the line states its place: "@@ -1,3 +1,4 @@".
        """
        first, second = ((self.texts[place] or "").splitlines() for place in (0, other))
        return list(difflib.unified_diff(first, second, lineterm="", n=CONTEXT_LINES))[2:]


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of a comparison with their verdicts, the reference and the costs."""

    runs: tuple[Run, ...]
    columns: Mapping[str, int]
    """Column of the datasets -> the id of its run."""
    datasets: tuple[Dataset, ...]
    """One for each kind and criterion with a scale, the largest first; pooled criteria are "all"."""
    reference: Reference
    costs: Mapping[int, RunCost]
    settings: tuple[SettingDifference, ...]
    texts: tuple[TextDifference, ...]
    """Templates and other long settings that differ."""
    choices: Choices = NOTHING
    """Values of the reference that are mainly of disputed targets; those of other targets are left out."""
    reference_runs: frozenset[int] = frozenset()
    """The ids of the runs whose verdicts are the reference."""

    def note(self, dataset: Dataset) -> str:
        """Return that the figures of a reference are of disputed targets; empty if they are of all."""
        return self.choices.note(dataset.kind, dataset.criterion)

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
        return replace(found, population=self.choices.population(dataset.kind, dataset.criterion))


def load(engine: Engine, study: Study, names: Sequence[str], reference: str | None = None) -> ComparedRuns:
    """Load the runs with these names, in this order; raises TiebreakError for fewer than two or too many."""
    names = list(dict.fromkeys(names))
    if not 2 <= len(names) <= MAX_RUNS:
        raise TiebreakError(f"Choose 2 to {MAX_RUNS} runs to compare.")
    with connections.reading(engine) as session:
        chosen = find_runs(session, study.id, names)
        run_ids = [run.id for run in chosen]
        opinions = _conclusions(session, study.id, chosen)
        named = references.resolve(session, study.id, reference)
        given = opinions[opinions["value"].notna()] if len(opinions) else opinions
        scales = comparable_scales(opinions, find_scales(session, study, [frame_panel(given)]) if len(given) else {})
        gold = references.frame(session, study.id, named, scales)
        stored = labels.frame(session, study.id)
        scales = with_values(scales, gold, stored)
        design = None if named.type == "debate" else designs.frame(session, study.id)
        people = chosen_labels.keep_drawn(stored, design)
        gold = chosen_labels.keep_drawn(gold, design)
        disputed = targets.frame(session, study.id).loc[list(references.disputed_targets(session, study.id))]
        own = references.debate_run_ids(session, study.id, named.name) if named.type == "debate" else []
        costs = cost_by_run(session, run_ids)
    encoded = list(encode_opinions(opinions, scales, "criterion")) if len(opinions) else []
    of_everybody = named.type in ("gold", "majority", "mean")
    found = chosen_labels.find(people, gold, encoded, disputed, of_everybody=of_everybody, design=design)
    gold = chosen_labels.keep_disputed(gold, found.of_reference)
    datasets = list(build_datasets(Frames(people, opinions, gold, scales, design=design), "all"))
    datasets.sort(key=lambda dataset: -max(int(judge.asked.sum()) for judge in dataset.judges.values()))
    columns = dict(opinions[["judge", "run"]].drop_duplicates().itertuples(index=False, name=None))
    order = sorted(columns, key=lambda name: (run_ids.index(columns[name]), name))
    datasets = [
        replace(one, judges={name: one.judges[name] for name in order if name in one.judges}) for one in datasets
    ]
    short, long = setting_differences([_settings(run) for run in chosen])
    texts = (*text_differences([run.prompts for run in chosen]), *long)
    return ComparedRuns(
        tuple(chosen), columns, tuple(datasets), named, costs, tuple(short), texts, found, frozenset(own)
    )


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


def _conclusions(session: Session, study_id: int, chosen: Sequence[Run]) -> "pd.DataFrame":
    """Return the verdicts of runs, one per row, with the columns of `opinion_frame` and the column `judge`.

    A run without verdicts on its targets has the last opinions of its judges.
    """
    import pandas as pd

    columns = (col(OpinionRow.run_id), col(OpinionRow.trace_id), col(OpinionRow.target_id), col(OpinionRow.judge))
    query = (
        select(*columns, sql_cast(col(OpinionRow.value), Text))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .order_by(col(OpinionRow.id))
    )

    def read(stage: str, run_ids: Sequence[int]) -> list[tuple[int, int, int, str, str | None]]:
        rows = session.execute(query.where(col(TraceRow.run_id).in_(run_ids), col(OpinionRow.stage) == stage))
        return [(run, trace, target, judge, value) for run, trace, target, judge, value in rows]

    rows = read("verdict", [run.id for run in chosen])
    without = {run.id for run in chosen} - {row[0] for row in rows}
    rows += read("last", sorted(without)) if without else []
    if not rows:
        return pd.DataFrame(columns=["judge", "run"])
    run_ids, trace_ids, target_ids, raters, texts = zip(*rows, strict=True)
    parsed = {text: json.loads(text) for text in set(texts) if text is not None}  # a run has few distinct values
    frame = targets.frame(session, study_id).reindex(np.array(target_ids)).reset_index(drop=True)
    frame["trace"], frame["run"] = np.array(trace_ids), np.array(run_ids)
    frame["rater"], frame["value"] = list(raters), pd.Series([parsed.get(text) for text in texts], dtype=object)
    again = frame.assign(target=np.array(target_ids)).duplicated(["run", "target"])
    several = set(frame.loc[again, "run"])  # with several conclusions on one target
    names = {run.id: run.name for run in chosen}
    frame["judge"] = [
        f"{names[run]} · {rater}" if run in several else names[run] for run, rater in zip(run_ids, raters, strict=True)
    ]
    return frame


def estimate_columns(rows: Sequence[RunFigures | Pair], only_in_file: Collection[str] = ()) -> list[Column]:
    """Return the columns of the statistics that rows have: value, interval and n of each."""
    names = dict.fromkeys(name for row in rows for name in row.estimates)
    columns = []
    for name in names:
        title = "" if name in only_in_file else catalogue.BY_ID[name].short
        columns += [
            Column(title, partial(_interval, name), "estimate", f"{name} {name}_low {name}_high"),
            Column("", partial(_items, name), key=f"{name}_n"),
        ]
    return columns


def most_items(row: RunFigures | Pair) -> int | None:
    """Return the n of a row: of the statistic with the most targets; None without one."""
    return max((estimate.items for estimate in row.estimates.values()), default=None)


def _interval(name: str, row: RunFigures | Pair) -> tuple[float | None, ...]:
    estimate = row.estimates.get(name, NO_ESTIMATE)
    return estimate.value, estimate.low, estimate.high


def _items(name: str, row: RunFigures | Pair) -> int:
    return row.estimates.get(name, NO_ESTIMATE).items


COST_COLUMNS = (
    in_file("calls reused tokens_per_trace seconds_per_trace"),
    in_file("dollars_per_thousand", "dollars_per_1000"),
    Column("", lambda cost: None if cost.unpriced else cost.paid_dollars, key="paid_dollars"),
    in_file("unpriced"),
)


def run_rows(compared: ComparedRuns, comparison: RunComparison) -> list[dict[str, object]]:
    """Return one row for each column: targets, statistics with intervals, and the costs of its run."""
    columns = (
        in_file("name targets no_verdict", "run targets no_verdict"),
        Column("", lambda _: comparison.population, key="population"),
        *estimate_columns(comparison.figures),
    )
    costs = [compared.costs[compared.columns[figures.name]] for figures in comparison.figures]
    both = zip(records(comparison.figures, columns), records(costs, COST_COLUMNS), strict=True)
    return [figures | cost for figures, cost in both]


# Statistics of pairs that the table leaves out: a screen has no room for them beside κ and the changed verdicts.
ONLY_IN_FILE = ("percent", "gwet_ac1")


def pair_columns(comparison: RunComparison, titles: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """Return the columns of pairs: changed verdicts, agreement, and the difference against the reference.

    `titles` are other names of columns on a page.
    """
    names = titles or {}
    return (
        Column("First", lambda pair: names.get(pair.first, pair.first)),
        Column("Second", lambda pair: names.get(pair.second, pair.second)),
        Column("Changed verdicts", _changed, "figure"),
        Column("Difference", "difference.difference difference.low difference.high", "estimate"),
        Column("p", "difference.p_corrected", "p"),
        Column("n", "difference.items", "count"),
        in_file("first second targets changed"),
        in_file("changed_share.value changed_share.low changed_share.high", "changed_share changed_low changed_high"),
        *estimate_columns(comparison.pairs, ONLY_IN_FILE),
        Column("n of both", lambda pair: "–" if most_items(pair) is None else f"{most_items(pair):,}", "figure"),
        in_file("statistic difference.difference difference.low difference.high"),
        in_file("difference.items difference.p_bootstrap difference.p_corrected", "n p p_corrected"),
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

# A verdict of the first run and one of the second, as `format_value` writes them.
Transition = tuple[str, str]


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
    return [format_value(value_of(dataset, code), NO_VERDICT) for code in dataset.judges[name].values[places].tolist()]


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

    `titles` are other names of the columns. On scales of numbers the largest differences come first. See
    `disagreements.list_places`.
    """
    differ = changed_targets(dataset, first, second)
    if transition is not None:
        every = np.arange(differ.size)
        texts = (_texts(dataset, name, every) for name in (first, second))
        differ = differ & np.array([pair == transition for pair in zip(*texts, strict=True)], bool)
    places = np.flatnonzero(differ)
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


def setting_differences(
    settings: Sequence[Mapping[str, Any]],
) -> tuple[list[SettingDifference], list[TextDifference]]:
    """Return the settings of runs that are not the same in all, and those of them that are long texts.

    `settings` has one mapping for each run, which may be of different protocols.
    """
    flat = [dict(_flatten(fields)) for fields in settings]
    paths = dict.fromkeys(path for fields in flat for path in fields)
    short: list[SettingDifference] = []
    long: list[TextDifference] = []
    for path in paths:
        values = [fields.get(path, ABSENT) for fields in flat]
        if len(set(values)) == 1:
            continue
        if any("\n" in value or len(value) > MAX_VALUE for value in values):
            long.append(TextDifference(path, tuple(fields.get(path) for fields in flat)))
        else:
            short.append(SettingDifference(path, tuple(values)))
    return short, long


def text_differences(texts: Sequence[Mapping[str, str]]) -> list[TextDifference]:
    """Return the texts of runs that are not the same in all, in the order of their names."""
    names = sorted({name for of_run in texts for name in of_run})
    found = [TextDifference(name, tuple(of_run.get(name) for of_run in texts)) for name in names]
    return [difference for difference in found if len(set(difference.texts)) > 1]


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
