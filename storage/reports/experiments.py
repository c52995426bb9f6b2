"""The results of an experiment: statistics of its cells, costs, and differences along its axes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.experiments import Definition
from core.formats.cell_table import CellTable, cell_table, long_row
from core.formats.tables import Column, rows_csv
from core.items import pair_numbers
from core.protocols.critique_baselines.correction import NAME as CORRECTION
from core.statistics.data.dataset import ALL_DISPUTED
from core.statistics.data.frames import as_text
from core.statistics.reports.alignment import Wanted
from core.statistics.reports.experiment_differences import (
    AxisDifference,
    axis_differences,
    correct_differences,
    trace_differences,
)
from core.statistics.reports.experiments import CellResult, Levels, RunOfCell, cell_statistics
from core.wording import format_count, group_by_note
from storage.db.connections import reading
from storage.db.tables import EventRow, ItemRow, TraceRow
from storage.reports.alignment import AlignmentData, comparable_scales, load_data
from storage.reports.judge_costs import cost_by_run, efficient
from storage.reports.opinions import with_texts
from storage.runs import experiments
from storage.runs.experiments import Experiment
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

# Short names of statistics. The accuracy of a cell counts a missing verdict as a wrong one.
ALIASES = {"accuracy": "example_level_agreement", "kappa": "cohen_kappa_gold"}
# Statistics that need no reference. A reused call counts with its price and duration when it was made.
COSTS = {"dollars": "dollars for 1,000 traces", "seconds": "seconds of calls for 1,000 traces"}
DISPUTED = "disputed_rate"
LESS_IS_BETTER = ("no_verdict_rate", DISPUTED)
# Outcomes of traces that ended and did not fail.
ENDED = ("agreed", "disputed", "no_verdict")
# The statistics that are shown first: of verdicts that are ordered, and of others and of answers.
OF_SCORES, OF_CATEGORIES = "spearman", "example_level_agreement"


@dataclass(frozen=True)
class Results:
    """Every statistic of the cells of an experiment, and the differences along its axes."""

    experiment: Experiment
    axes: tuple[str, ...]
    levels: Mapping[str, Sequence[str]]
    """Axis -> its levels: those of the file, then those that only earlier runs have."""
    cells: Mapping[str, Sequence[CellResult]]
    """Statistic -> the cells that have it."""
    reference: str

    @property
    def statistics(self) -> list[str]:
        """The names of the statistics, first the one for the kind of the verdicts."""
        of_scores = [cell for cell in self.cells.get(OF_SCORES, ()) if cell.kind != "answer"]
        of_categories = self.cells.get(OF_CATEGORIES, ())
        usual = OF_SCORES if of_scores and len(of_scores) >= len(of_categories) else OF_CATEGORIES
        first = [name for name in (usual, "no_verdict_rate") if name in self.cells]
        return [*first, *(name for name in self.cells if name not in first)]

    @property
    def cost(self) -> str:
        """The cost that is known of every cell with an ended trace: dollars, otherwise seconds; empty if none is."""
        ended = len(self.cells.get(DISPUTED, ()))
        return next((name for name in COSTS if len(self.cells.get(name, ())) == ended > 0), "")

    @property
    def missing(self) -> str:
        """Why no statistic compares the verdicts with the reference; empty if one does."""
        if not self.cells or any(name not in (*COSTS, DISPUTED) for name in self.cells):
            return ""
        if self.reference == f"debate:{self.experiment.name}":
            return f"Its verdicts cannot be compared with themselves: its reference is {self.reference}."
        return f"None of its verdicts could be compared with its reference, {self.reference}."

    def of(self, statistic: str | None) -> tuple[str, Sequence[CellResult]]:
        """Return the full name and the cells of a statistic; raises TiebreakError for one that they do not have."""
        name = self.statistics[0] if statistic is None and self.cells else ALIASES.get(statistic or "", statistic or "")
        if name == "dollars" and name not in self.cells:
            raise TiebreakError(
                "The dollars are unknown: a model has no price. `prompt_price` and `completion_price` in its settings "
                "are dollars per million tokens."
            )
        if name not in self.cells:
            known = ", ".join(self.statistics) or "none, because no run has a verdict"
            reason = f" {self.missing}" if self.missing else ""
            raise TiebreakError(f"The experiment has no statistic {statistic!r}; it has {known}.{reason}")
        return name, self.cells[name]


def results(
    engine: Engine, study: Study, experiment: Experiment, reference: str | None = None, wanted: Wanted = None
) -> Results:
    """Compute the results of an experiment from the verdicts that its runs have so far.

    `reference` is by default that of the experiment's file, otherwise that of the study.
    """
    with reading(engine) as session:
        runs = _runs_of(session, experiment)
        from_events = _cost_results(session, runs)
    data = _verdicts(engine, study, experiment, runs, reference)
    cells: dict[str, list[CellResult]] = {}
    if len(data.opinions):
        cells |= cell_statistics(data, runs, wanted=wanted)
    levels = {
        axis.name: list(dict.fromkeys([*axis.labels, *(run.levels[place] for run in runs.values())]))
        for place, axis in enumerate(experiment.definition.axes)
    }
    return Results(experiment, tuple(levels), levels, cells | from_events, str(data.reference))


def differences(
    engine: Engine,
    study: Study,
    experiment: Experiment,
    statistic: str,
    reference: str | None = None,
    *,
    effects: bool = False,
) -> tuple[AxisDifference, ...]:
    """Compute the paired differences along the axes in a statistic by its full name, with corrected p.

    With `effects` each is the mean over the combinations of the other levels. Raises TiebreakError for a statistic that
    has no paired difference.
    """
    axes = tuple(axis.name for axis in experiment.definition.axes)
    with reading(engine) as session:
        runs = _runs_of(session, experiment)
        if statistic in (*COSTS, DISPUTED):
            return correct_differences(
                trace_differences(_trace_values(session, runs, statistic), runs, axes, statistic, effects=effects)
            )
    data = _verdicts(engine, study, experiment, runs, reference)
    found: list[AxisDifference] = []
    if len(data.opinions):
        found = axis_differences(data, runs, axes, statistic, effects=effects)
        if not found and len({run.levels for run in runs.values()}) > 1:
            raise TiebreakError(f"No paired difference is computed in {statistic!r}.")
    return correct_differences(found)


@dataclass(frozen=True)
class Value:
    """A cell with its cost."""

    cell: str
    criterion: str
    value: float
    low: float | None
    high: float | None
    items: int
    cost: float
    on_front: bool
    """Whether no other cell is at least as good for less."""


def values_for_money(results: Results, statistic: str) -> list[Value]:
    """Return the cells by criterion: those of the Pareto front, then the others, each by cost.

    Raises TiebreakError without costs, or for a statistic that is a cost.
    """
    if not results.cost or statistic == results.cost:
        raise TiebreakError("The front of value and cost needs the cost of the calls, and a statistic that is no cost.")
    costs = {cell.levels: cell.value for cell in results.cells[results.cost] if cell.value is not None}
    sign = -1 if statistic in LESS_IS_BETTER else 1
    rows: list[Value] = []
    for criterion in dict.fromkeys(cell.criterion for cell in results.cells[statistic]):
        points = {
            cell: (costs[cell.levels], sign * cell.value)
            for cell in results.cells[statistic]
            if cell.criterion == criterion and cell.value is not None and cell.levels in costs
        }
        front = efficient(points)
        found = [
            Value(
                " · ".join(cell.levels), criterion, sign * value, cell.low, cell.high, cell.items, cost, cell in front
            )
            for cell, (cost, value) in points.items()
        ]
        rows += sorted(found, key=lambda row: (not row.on_front, row.cost))
    return rows


def _runs_of(session: Session, experiment: Experiment) -> dict[int, RunOfCell]:
    axes = [axis.name for axis in experiment.definition.axes]
    made = experiments.runs_of(session, experiment.id)
    return {
        run.id: RunOfCell(tuple((run.cell or {}).get(axis, "") for axis in axes), run.repeat)
        for run in sorted(made, key=lambda run: (run.repeat, run.id))
    }


def _verdicts(
    engine: Engine, study: Study, experiment: Experiment, runs: Mapping[int, RunOfCell], reference: str | None
) -> AlignmentData:
    """Return the verdicts of the runs, with a missing one for each target of a failed trace, and their reference."""
    data = load_data(engine, study, reference or experiment.definition.reference)
    verdicts = with_texts(data.opinions[(data.opinions["stage"] == "verdict") & data.opinions["run"].isin(runs)])
    if not len(verdicts):
        return replace(data, opinions=verdicts)
    with reading(engine) as session:
        query = (
            select(col(TraceRow.run_id), col(ItemRow.key), col(TraceRow.part))
            .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
            .where(col(TraceRow.run_id).in_(runs), col(TraceRow.outcome) == "failed")
        )
        failed = [(run, item, part) for run, item, part in session.execute(query)]
    verdicts = _with_failed(verdicts, failed, runs)
    return replace(data, opinions=verdicts, scales=comparable_scales(verdicts, data.scales))


def _with_failed(
    verdicts: "pd.DataFrame", failed: Sequence[tuple[int, str, str]], runs: Mapping[int, RunOfCell]
) -> "pd.DataFrame":
    """Return the verdicts with a row without a value for each target of a failed trace, marked as `failed`.

    Its targets are those that other runs judged on the item; of an item on which all failed, those of other items.
    """
    import pandas as pd

    keys = ["kind", "criterion", "part"]
    distinct = verdicts.assign(cell=verdicts["run"].map({run: str(one.levels) for run, one in runs.items()}))
    by_item = {item: rows for item, rows in distinct.drop_duplicates(["item", *keys]).groupby("item")}
    of_cell = {cell: {*zip(rows["kind"], rows["criterion"], strict=True)} for cell, rows in distinct.groupby("cell")}
    added = []
    for run, item, part in failed:
        rows = by_item.get(item)
        if rows is None:
            rows = distinct.drop_duplicates(keys).assign(item=item, scenario=None, group=None)
            rows = rows[[not part or pair_numbers(part) is not None for part in rows["part"].map(as_text)]]
        wanted = of_cell.get(str(runs[run].levels))
        is_own = [
            (wanted is None or (kind, criterion) in wanted) and part in ("", as_text(of))
            for kind, criterion, of in zip(rows["kind"], rows["criterion"], rows["part"], strict=True)
        ]
        added.append(rows[is_own].assign(run=run, value=None, failed=True))
    every = pd.concat([verdicts.assign(failed=False), *added], ignore_index=True) if added else verdicts
    return every.drop(columns="cell", errors="ignore")


def _trace_values(session: Session, runs: Mapping[int, RunOfCell], statistic: str) -> dict[int, dict[str, float]]:
    """Return run -> item -> the mean over its ended traces of a cost for 1,000 of them, or the disputed share."""
    amount = func.sum(col(EventRow.dollars if statistic == "dollars" else EventRow.seconds))
    query = (
        select(col(TraceRow.run_id), col(ItemRow.key), col(TraceRow.outcome), amount)
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .outerjoin(EventRow, col(EventRow.trace_id) == col(TraceRow.id))
        .where(col(TraceRow.run_id).in_(runs), col(TraceRow.outcome).in_(ENDED))
        .group_by(col(TraceRow.id), col(TraceRow.run_id), col(ItemRow.key), col(TraceRow.outcome))
    )
    values: dict[int, dict[str, list[float]]] = {}
    for run, item, outcome, total in session.execute(query):
        value = float(outcome == "disputed") if statistic == DISPUTED else 1000 * float(total or 0)
        values.setdefault(run, {}).setdefault(item, []).append(value)
    return {run: {item: fmean(of_item) for item, of_item in of_run.items()} for run, of_run in values.items()}


def _cost_results(session: Session, runs: Mapping[int, RunOfCell]) -> dict[str, list[CellResult]]:
    """Return the costs of the cells, and the share of their traces that are disputed."""
    outcomes = (
        select(
            col(TraceRow.run_id),
            func.count().filter(col(TraceRow.outcome).in_(ENDED)),
            func.count().filter(col(TraceRow.outcome) == "disputed"),
        )
        .where(col(TraceRow.run_id).in_(runs))
        .group_by(col(TraceRow.run_id))
    )
    done = {run: (ended, disputed) for run, ended, disputed in session.execute(outcomes) if ended}
    values: dict[str, dict[int, float]] = {"dollars": {}, "seconds": {}}
    for run, cost in cost_by_run(session, list(done)).items():
        if cost.calls and not cost.unpriced:
            values["dollars"][run] = 1000 * cost.dollars / done[run][0]
        if cost.untimed < cost.calls:
            values["seconds"][run] = 1000 * cost.seconds / done[run][0]
    values[DISPUTED] = {run: disputed / ended for run, (ended, disputed) in done.items()}
    traces = {run: ended for run, (ended, _) in done.items()}
    return {name: _mean_by_cell(of_run, runs, traces) for name, of_run in values.items() if of_run}


def _mean_by_cell(
    values: Mapping[int, float], runs: Mapping[int, RunOfCell], traces: Mapping[int, int]
) -> list[CellResult]:
    by_cell: dict[Levels, list[int]] = {}
    for run_id, run in runs.items():
        if run_id in values:
            by_cell.setdefault(run.levels, []).append(run_id)
    found = []
    for levels, ids in by_cell.items():
        own, counts = [values[run] for run in ids], tuple(traces[run] for run in ids)
        deviation, reason = stdev(own) if len(own) > 1 else None, "no interval is computed for this statistic"
        found.append(CellResult(levels, "", "", fmean(own), deviation, None, None, max(counts), counts, reason))
    return found


def table_of(
    results: Results, statistic: str | None, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None
) -> tuple[str, CellTable]:
    """Return the full name of a statistic and its table; see `core.formats.cell_table.cell_table`."""
    name, cells = results.of(statistic)
    return name, cell_table(cells, results.levels, rows, columns)


def render(
    results: Results,
    statistic: str | None,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    format: str,
) -> tuple[list[dict[str, Any]], str]:
    """Return the cells of a statistic as rows, and their table as "text", "markdown", "latex" or "csv"."""
    name, table = table_of(results, statistic, rows, columns)
    cells = results.cells[name]
    replaced = replaced_models(results.experiment.definition)
    values = [long_row(cell, results.axes, name) for cell in cells]
    values = [row | {"models": replaced} for row in values] if replaced else values
    caption = f"{results.experiment.name}: {caption_of(results, name, table)}"
    text = rows_csv(values) if format == "csv" else table.render(caption, results.experiment.name, format)
    return values, text


# The columns of differences and of effects on a page.
LEVELS = (Column("Axis", "axis"), Column("Level", "level"), Column("less", "other_level"))
TESTED = (Column("n", "items", "count"), Column("p", "p_corrected", "p"))
LAST = (Column("Criterion", "criterion"), Column("Note", "reason"))
DIFFERENCE_COLUMNS = (
    *LEVELS,
    Column("Difference", "difference low high", "estimate"),
    *TESTED,
    Column("Others", lambda row: ", ".join(f"{name} {level}" for name, level in row.fixed.items())),
    *LAST,
)
EFFECT_COLUMNS = (
    *LEVELS,
    Column("Effect", "difference low high", "estimate"),
    *TESTED,
    Column("Combinations", "combinations", "count"),
    *LAST,
)
VALUE_COLUMNS = (
    Column("Cell", "cell"),
    Column("Criterion", "criterion"),
    Column("Value", "value low high", "estimate"),
    Column("n", "items", "count"),
    Column("Cost", lambda row: f"{row.cost:,.2f}"),
    Column("On the front", "on_front", "yes"),
)


def describe_effects(results: Results, statistic: str) -> str:
    """Return what effects are, as a caption."""
    return (
        f"effects on {statistic}: one level less another, mean over the combinations of the other levels, paired over "
        "items, with 95 % intervals; p of the paired bootstrap, corrected by Holm's method for all effects; "
        f"reference: {results.reference}"
    )


def describe_front(results: Results, statistic: str) -> str:
    """Return what a list of cells by value for money is, as a caption."""
    return (
        f"{statistic} [95 % interval over items] and {COSTS[results.cost]}; cells on the Pareto front (no other "
        "is at least as good for less) first, by cost; "
        f"reference: {results.reference}"
    )


def caption_of(results: Results, statistic: str, table: CellTable) -> str:
    """Return what the numbers of a table are, with their n."""
    cells = results.cells[statistic]
    repeats = {cell.repeats for cell in cells}
    is_of_verdicts = statistic not in (*COSTS, DISPUTED)
    parts = [
        f"{COSTS.get(statistic, statistic)}, mean"
        + (" ± standard deviation between repeats" if max(repeats) > 1 else ""),
        "[95 % interval over items]" if any(cell.low is not None for cell in cells) else "",
        f"{_items_of(cells, 'item' if is_of_verdicts else 'trace')}, {_span(repeats, 'repeat')}",
        f"columns: {', '.join(table.column_axes)}" if table.column_axes else "",
        _averages(table),
        replaced_models(results.experiment.definition),
        "right before and after: experiments table realcritic" * (results.experiment.definition.protocol == CORRECTION),
        results.missing.removesuffix("."),
        _undefined(cells),
        *(_notes(results.reference, cells) if is_of_verdicts else ()),
    ]
    return "; ".join(filter(None, parts))


def replaced_models(definition: Definition) -> str:
    """Return which models stand for those of the file that the experiment extends; empty if none does."""
    named = [f"{new} in place of {old}" for old, new in definition.replaced.items()]
    return f"models: {', '.join(named)}" if named else ""


def _undefined(cells: Sequence[CellResult]) -> str:
    """Return why cells have no value; empty if all have one."""
    reasons = [cell.reason or "no reason is known" for cell in cells if cell.value is None]
    count = format_count(len(cells), "cell")
    return f"no value in {len(reasons):,} of {count}: {'; '.join(dict.fromkeys(reasons))}" if reasons else ""


def _notes(reference: str, cells: Sequence[CellResult]) -> Iterator[str]:
    """Yield what is missing or left out, each caveat of values with the number of its cells, and the reference."""
    if any(cell.no_verdict for cell in cells):
        yield "missing: targets without a verdict"
    if failed := sum(cell.failed for cell in cells):
        yield f"targets of failed traces, which count as no verdict: {failed:,}"
    if left_out := sum(cell.left_out for cell in cells):
        yield f"on the items with a verdict in every cell; left out: {left_out:,}"
    valued = [cell for cell in cells if cell.value is not None]
    for caveat, concerned in group_by_note(valued, lambda cell: cell.reason.split("; ")).items():
        yield caveat + _share_of(concerned, cells)
    mixes = {cell.reference for cell in valued}
    disputed = [cell for cell in valued if cell.reference.endswith(ALL_DISPUTED)]
    if len(mixes) == 1 and (mix := mixes.pop()):
        yield f"reference: {reference}, {mix}{_share_of(valued, cells)}"
    else:
        yield f"reference: {reference}" + (f"{ALL_DISPUTED}{_share_of(disputed, cells)}" if disputed else "")


def _share_of(some: Sequence[CellResult], cells: Sequence[CellResult]) -> str:
    """Return the number of some of the cells in brackets; empty for all of them."""
    return "" if len(some) == len(cells) else f" (in {len(some):,} of {format_count(len(cells), 'cell')})"


def _averages(table: CellTable) -> str:
    """Return what the entries are means of; empty if each is one cell."""
    if not table.averaged:
        return ""
    fewest, most = table.cells_per_entry
    unequal = f" (not comparable everywhere: an entry has {fewest:,} to {most:,} of them)" if fewest < most else ""
    return f"mean over the levels of {', '.join(table.averaged)}{unequal}"


def _items_of(cells: Sequence[CellResult], noun: str) -> str:
    """Return the number of items of a cell, and that of a single repeat if it is another one."""
    items = _span({cell.items for cell in cells}, noun)
    single = {count for cell in cells for count in cell.items_of_repeats}
    is_same = all(count == cell.items for cell in cells for count in cell.items_of_repeats)
    return items if is_same else f"{items} over all repeats ({_span(single, noun)} in a repeat)"


def _span(numbers: set[int], noun: str) -> str:
    largest = format_count(max(numbers), noun)
    return largest if len(numbers) == 1 else f"{min(numbers):,} to {largest}"
