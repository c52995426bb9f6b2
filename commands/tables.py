"""Tables: those of the papers, and those of a study's experiments."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from commands.output import (
    DatabaseUrl,
    Reference,
    Result,
    as_table,
    format_table,
    open_study,
    record_export,
    with_population,
)
from core.errors import TiebreakError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from core.statistics.reports.experiment_differences import AxisDifference
    from storage.reports.experiments import Results
    from storage.runs.experiments import Experiment
    from storage.studies.studies import Study

AXES_HELP = "Axes of an experiment; scorer, group and statistic of a published table. Separated by commas."
TableFormat = Literal["text", "markdown", "latex", "csv"]


@dataclass(frozen=True)
class Layout:
    """The layout of a table."""

    rows: list[str] | None = None
    columns: list[str] | None = None
    statistic: str | None = None
    format: TableFormat = "text"
    output: Path | None = None


DEFAULT_LAYOUT = Layout()


def table(
    name: Annotated[
        str | None,
        typer.Argument(help="An experiment, or a table or figure of a paper, such as metacritique-5; else a list."),
    ] = None,
    study: Annotated[str | None, typer.Option("--study", help="The study's name.")] = None,
    rows: Annotated[str | None, typer.Option(help=f"Rows. {AXES_HELP} Default: all but the columns.")] = None,
    columns: Annotated[str | None, typer.Option(help=f"Columns. {AXES_HELP} Default: the last axis.")] = None,
    statistic: Annotated[str | None, typer.Option(help="The statistic: accuracy, kappa, dollars...")] = None,
    differences: Annotated[
        bool, typer.Option("--differences", help="Paired differences along the axes, with significance.")
    ] = False,
    format: Annotated[TableFormat, typer.Option(help="The format of the table.")] = "text",
    output: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
    reference: Reference = None,
    database: DatabaseUrl = None,
) -> Result:
    """Print a table of an experiment, or of one of the papers, for a study. docs/published.md has their caveats."""
    from storage.reports import experiments as report
    from storage.reports import published

    if study is None:
        if name is not None:
            published.find_table(name)
            raise TiebreakError("Name the study: --study NAME.")
        return as_table(_published_tables(), "")
    engine, found = open_study(database, study)
    if name is None:
        return _tables_of_study(engine, found)
    layout = Layout(_axes(rows), _axes(columns), statistic, format, output)
    experiment = _find_experiment(engine, found, name)
    if experiment is None:
        return _published(engine, found, name, reference, layout)
    results = report.results(engine, found, experiment, reference)
    if differences:
        of = results.of(statistic)[0] if results.cells else ""
        rows_found = report.differences(engine, found, experiment, of, reference) if of else ()
        value, text = _differences(results, rows_found, layout)
    else:
        value, text = report.render(results, statistic, layout.rows, layout.columns, format)
    return _written(engine, found, value, text, output)


def _differences(results: "Results", found: "Sequence[AxisDifference]", layout: Layout) -> Result:
    """Return the differences along the axes as rows and as a table; raises TiebreakError for other options."""
    from core.formats.cell_table import markdown_table
    from core.formats.tables import latex_table, rows_csv
    from core.statistics.reports.experiment_differences import describe_correction

    if layout.rows or layout.columns:
        raise TiebreakError("--differences has one row for each difference: leave out --rows and --columns.")
    value: list[dict[str, Any]] = [asdict(row) for row in found]
    lines = [row | {"fixed": ", ".join(f"{k} {v}" for k, v in row["fixed"].items())} for row in value]
    tests = describe_correction(found)
    caption = f"{results.experiment.name}: differences along the axes; {tests}; reference: {results.reference}"
    match layout.format:
        case "csv":
            return value, rows_csv(lines)
        case "latex":
            return value, latex_table(lines, caption, f"tab:{results.experiment.name}-differences")
        case "markdown":
            header = list(lines[0]) if lines else []
            texts = [[_cell_text(cell) for cell in line.values()] for line in lines]
            return value, f"{markdown_table(header, texts)}\n{caption}\n"
    return value, format_table(lines, "No two cells can be compared yet.")


def _cell_text(value: object) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def _axes(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _find_experiment(engine: "Engine", study: "Study", name: str) -> "Experiment | None":
    """Return the experiment of this name, None for a published table; raises TiebreakError if there is neither."""
    from storage.db.connections import reading
    from storage.reports import published
    from storage.runs import experiments

    with reading(engine) as session:
        found = experiments.find(session, study.id, name)
        if found is not None or name in {table.name for table in published.TABLES}:
            return found
        known = ", ".join(one.name for one in experiments.of_study(session, study.id)) or "none"
    raise TiebreakError(
        f"There is no experiment or published table {name!r}; the study's experiments: {known}. "
        "`cli.py experiments table` lists the published tables."
    )


def _tables_of_study(engine: "Engine", study: "Study") -> Result:
    """Return the experiments of a study and the published tables."""
    from storage.db.connections import reading
    from storage.runs import experiments

    with reading(engine) as session:
        rows = [
            {
                "experiment": one.name,
                "protocol": one.definition.protocol,
                "axes": ", ".join(axis.name for axis in one.definition.axes),
                "progress": experiments.progress(session, one.id).summary(),
            }
            for one in experiments.of_study(session, study.id)
        ]
    tables = _published_tables()
    return [*rows, *tables], f"{format_table(rows, 'The study has no experiments.')}\n\n{format_table(tables, '')}"


def _published_tables() -> list[dict[str, Any]]:
    from storage.reports import published

    return [
        {"name": table.name, "paper": table.paper, "title": table.title, "needs": table.needs}
        for table in published.TABLES
    ]


def _published(engine: "Engine", study: "Study", name: str, reference: str | None, chosen: Layout) -> Result:
    """Return the rows of a published table, in the chosen layout."""
    from storage.reports import published

    table = published.find_table(name)
    found = published.compute(engine, study, name, reference=reference)
    rows = [asdict(row) for row in found]
    heading = f"{table.paper}, {table.title}{published.compared_with(engine, study, table, reference)}"
    note = published.note_of(found)
    if found and chosen != DEFAULT_LAYOUT:
        cells = published.layout(found, chosen.rows, chosen.columns, chosen.statistic)
        caption = ". ".join(filter(None, (heading, note)))
        return _written(engine, study, rows, cells.render(caption, name, chosen.format), chosen.output)
    text = format_table(with_population(rows), f"No rows: this table needs {table.needs}.")
    return rows, "\n".join([heading, table.question, *filter(None, [note]), text])


def _written(engine: "Engine", study: "Study", value: Any, text: str, output: Path | None) -> Result:
    """Return a table, or write it to a file."""
    from core.formats.text import open_output

    if output is None:
        return value, text.rstrip("\n")
    with open_output(output) as stream:
        stream.write(text)
    record_export(engine, study.id, [str(output)])
    return value, f"Wrote {output}"
