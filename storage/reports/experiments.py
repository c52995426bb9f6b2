"""The results of an experiment: statistics of its cells, costs, and differences along its axes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
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
    with_bounds,
)
from core.statistics.reports.experiments import CellResult, Levels, RunOfCell, cell_statistics
from core.wording import MAX_NAMES, format_count, group_by_note
from storage.db.connections import reading
from storage.db.tables import EventRow, ItemRow, TraceRow
from storage.reports.alignment import AlignmentData, comparable_scales, load_data
from storage.reports.judge_costs import cost_by_run
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
    cells: Collection[Levels] | None = None,
) -> tuple[AxisDifference, ...]:
    """Compute the paired differences along the axes in a statistic by its full name, with corrected p.

    With `effects` each is the mean over the combinations of the other levels; `cells` are those to compare, by default
    all. Raises TiebreakError for a statistic that has no paired difference.
    """
    axes = tuple(axis.name for axis in experiment.definition.axes)
    with reading(engine) as session:
        every = _runs_of(session, experiment)
        runs = every if cells is None else {run: one for run, one in every.items() if one.levels in cells}
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


def bounded_differences(
    engine: Engine, study: Study, results: Results, statistic: str, *, effects: bool = False
) -> list[AxisDifference]:
    """Compute `differences` with their bounds for any verdicts in place of the missing ones."""
    found = differences(engine, study, results.experiment, statistic, results.reference, effects=effects)
    return [with_bounds(row, results.cells[statistic], results.axes) for row in found]


def effects(engine: Engine, study: Study, results: Results, statistic: str) -> tuple[AxisDifference, ...]:
    """Compute the effects of the levels of each axis on a statistic and on the cost, with Holm's correction of p."""
    found = bounded_differences(engine, study, results, statistic, effects=True)
    costs = {}
    if results.cost:
        valued = {cell.levels for cell in results.cells[statistic] if cell.value is not None}
        of_cost = differences(engine, study, results.experiment, results.cost, effects=True, cells=valued)
        costs = {(row.axis, row.level, row.other_level): (row.difference, row.low, row.high) for row in of_cost}
    rows = []
    for row in found:
        cost = costs.get((row.axis, row.level, row.other_level), (None, None, None))
        rows.append(replace(row, cost=cost))
    return tuple(rows)


@dataclass(frozen=True)
class Value:
    """A cell with its cost: whether another cell is at least as good for less."""

    cell: str
    criterion: str
    value: float
    low: float | None
    high: float | None
    items: int
    cost: float
    on_front: bool
    per_point: float | None
    """On the front: the cost of one more hundredth, compared with the next cheaper cell on it."""
    dominated_by: str
    """The cheapest cell on the front that is at least as good; empty for a cell on it."""


def values_for_money(results: Results, statistic: str) -> list[Value]:
    """Return the cells by criterion: those of the Pareto front by cost, then the others by value.

    Raises TiebreakError without costs, or for a statistic that is a cost.
    """
    if not results.cost or statistic == results.cost:
        raise TiebreakError("The front of value and cost needs the cost of the calls, and a statistic that is no cost.")
    costs = {cell.levels: cell.value for cell in results.cells[results.cost]}
    sign = -1 if statistic in LESS_IS_BETTER else 1
    rows: list[Value] = []
    for criterion in dict.fromkeys(cell.criterion for cell in results.cells[statistic]):
        cells = [
            (cost, sign * cell.value, cell)
            for cell in results.cells[statistic]
            if cell.criterion == criterion and cell.value is not None and (cost := costs.get(cell.levels)) is not None
        ]
        front: list[tuple[float, float, CellResult]] = []
        others = []
        for cost, value, cell in sorted(cells, key=lambda one: (one[0], -one[1])):
            if front and value <= front[-1][1]:
                others.append((cost, value, cell))
                continue
            gain = value - front[-1][1] if front else 0.0
            rows.append(_value(cell, cost, "", (cost - front[-1][0]) / (100 * gain) if front else None))
            front.append((cost, value, cell))
        for cost, value, cell in sorted(others, key=lambda one: -one[1]):
            better = next(name for _, of_front, name in front if of_front >= value)
            rows.append(_value(cell, cost, " · ".join(better.levels), None))
    return rows


def _value(cell: CellResult, cost: float, dominated_by: str, per_point: float | None) -> Value:
    assert cell.value is not None
    return Value(
        " · ".join(cell.levels), cell.criterion, cell.value, cell.low, cell.high, cell.items, cost, not dominated_by,
        per_point, dominated_by,
    )  # fmt: skip


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
BOUNDS = Column("Bounds", lambda row: "" if row.lowest is None else f"{row.lowest:+.3f} to {row.highest:+.3f}")
DIFFERENCE_COLUMNS = (
    *LEVELS,
    Column("Difference", "difference low high", "estimate"),
    *TESTED,
    BOUNDS,
    Column("Others", lambda row: ", ".join(f"{name} {level}" for name, level in row.fixed.items())),
    *LAST,
)
EFFECT_COLUMNS = (
    *LEVELS,
    Column("Effect", "difference low high", "estimate"),
    *TESTED,
    BOUNDS,
    Column("Combinations", "combinations", "count"),
    Column("Cost", lambda row: row.cost, "estimate"),
    *LAST,
)
VALUE_COLUMNS = (
    Column("Cell", "cell"),
    Column("Criterion", "criterion"),
    Column("Value", "value low high", "estimate"),
    Column("n", "items", "count"),
    Column("Cost", lambda row: f"{row.cost:,.2f}"),
    Column("Cost of .01 more", lambda row: "" if row.per_point is None else f"{row.per_point:,.2f}"),
    Column("At least as good for less", "dominated_by"),
)


def describe_effects(results: Results, statistic: str) -> str:
    """Return what effects are, as a caption."""
    cost = f"; cost: {COSTS[results.cost]}" if results.cost else ""
    return (
        f"effects on {statistic}: one level less another, mean over the combinations of the other levels, paired over "
        "items, with 95 % intervals; p of the paired bootstrap, corrected by Holm's method for all effects; bounds: "
        f"for any verdicts in place of the missing ones; reference: {results.reference}{cost}"
    )


def describe_front(results: Results, statistic: str) -> str:
    """Return what a list of cells by value for money is, as a caption."""
    return (
        f"{statistic} [95 % interval over items] and {COSTS[results.cost]}; cells on the Pareto front first, by cost; "
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
        *(_incomplete(results, statistic) if is_of_verdicts else ()),
        *(_caveats(cells) if is_of_verdicts else ()),
        _reference_of(results.reference, cells) if is_of_verdicts else "",
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


def _incomplete(results: Results, statistic: str) -> Iterator[str]:
    """Yield the cells that failed in part, that have verdicts which are left out, and that lack the statistic."""
    cells = results.cells[statistic]
    shown = {(cell.levels, cell.criterion) for cell in cells}
    every = {(cell.levels, cell.criterion): cell for of in results.cells.values() for cell in of if cell.kind}
    if any(cell.no_verdict for cell in cells):
        yield "missing: targets without a verdict, and the values that any verdicts would give"
    for field, text in (
        ("failed", "targets of failed traces, which count as no verdict"),
        ("left_out", "on the items with a verdict in every cell; left out"),
    ):
        if some := [cell for cell in cells if getattr(cell, field)]:
            yield f"{text}: {sum(getattr(cell, field) for cell in some):,}{_named(some, [*every.values()])}"
    if absent := [cell for key, cell in every.items() if key not in shown]:
        yield f"no {statistic}{_named(absent, [*every.values()])}"


def _caveats(cells: Sequence[CellResult]) -> list[str]:
    """Return the caveats of values, each with the cells that it concerns."""
    valued = [cell for cell in cells if cell.value is not None]
    concerned = group_by_note(valued, lambda cell: cell.reason.split("; "))
    return [caveat + _named(of_caveat, cells) for caveat, of_caveat in concerned.items()]


def _reference_of(name: str, cells: Sequence[CellResult]) -> str:
    """Return the reference, with its sources if each cell has the same, and the cells of disputed items only."""
    defined = [cell for cell in cells if cell.value is not None]
    mixes = {cell.reference for cell in defined}
    if len(mixes) == 1 and (mix := mixes.pop()):
        return f"reference: {name}, {mix}{_named(defined, cells)}"
    disputed = [cell for cell in defined if cell.reference.endswith(ALL_DISPUTED)]
    return f"reference: {name}" + (f"{ALL_DISPUTED}{_named(disputed, cells)}" if disputed else "")


def _named(some: Sequence[CellResult], cells: Sequence[CellResult]) -> str:
    """Return the number and the names of some of the cells in brackets; empty for all of them."""
    if len(some) == len(cells):
        return ""
    several = len({cell.criterion for cell in cells}) > 1
    names = [" · ".join(filter(None, [*cell.levels, cell.criterion if several else ""])) for cell in some]
    shown = f": {', '.join(names)}" if len(names) <= MAX_NAMES else ""
    return f" (in {len(some):,} of {format_count(len(cells), 'cell')}{shown})"


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
