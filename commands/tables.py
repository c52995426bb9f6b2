"""Tables: those of the papers, and those of a study's experiments."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.output import (
    DatabaseUrl,
    Json,
    Reference,
    format_table,
    open_study,
    print_result,
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


class TableFormat(StrEnum):
    """The format of a table."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


@dataclass(frozen=True)
class Layout:
    """The layout of a table; None and `text` are the defaults."""

    rows: list[str] | None
    columns: list[str] | None
    statistic: str | None
    format: TableFormat
    output: Path | None

    @property
    def is_default(self) -> bool:
        """Whether no option of the layout is given."""
        return self == Layout(None, None, None, TableFormat.text, None)


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
    format: Annotated[TableFormat, typer.Option(help="The format of the table.")] = TableFormat.text,
    output: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print a table of an experiment, or of one of the papers, for a study. docs/published.md has their caveats."""
    from storage.reports import published

    if study is None:
        if name is not None:
            published.find_table(name)
            raise TiebreakError("Name the study: --study NAME.")
        return print_result(*_published_tables(), as_json)
    engine, found = open_study(database, study)
    if name is None:
        return print_result(*_tables_of_study(engine, found), as_json)
    experiment = _find_experiment(engine, found, name)
    layout = Layout(_axes(rows), _axes(columns), statistic, format, output)
    if experiment is None:
        _check_name(engine, found, name)
        return _print_published(engine, found, name, reference, layout, as_json)
    from storage.reports import experiments as report

    results = report.results(engine, found, experiment, reference)
    if differences:
        of = results.of(statistic)[0] if results.cells else ""
        rows_found = report.differences(engine, found, experiment, of, reference) if of else ()
        value, text = _differences(results, rows_found, layout)
    else:
        value, text = report.render(results, statistic, layout.rows, layout.columns, format.value)
    _print_or_write(value, text, output, as_json)
    if output is not None:
        record_export(engine, found.id, [str(output)])


def _differences(
    results: "Results", found: "Sequence[AxisDifference]", layout: Layout
) -> tuple[list[dict[str, Any]], str]:
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
        case TableFormat.csv:
            return value, rows_csv(lines)
        case TableFormat.latex:
            return value, latex_table(lines, caption, f"tab:{results.experiment.name}-differences")
        case TableFormat.markdown:
            header = list(lines[0]) if lines else []
            texts = [[_cell_text(cell) for cell in line.values()] for line in lines]
            return value, f"{markdown_table(header, texts)}\n{caption}\n"
    return value, format_table(lines, "No two cells can be compared yet.")


def _cell_text(value: object) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def _axes(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _find_experiment(engine: "Engine", study: "Study", name: str) -> "Experiment | None":
    from storage.db.connections import reading
    from storage.runs import experiments

    with reading(engine) as session:
        return experiments.find(session, study.id, name)


def _check_name(engine: "Engine", study: "Study", name: str) -> None:
    """Raise TiebreakError, with the experiments of the study, if no published table has the name."""
    from storage.db.connections import reading
    from storage.reports import published
    from storage.runs import experiments

    if name in {table.name for table in published.TABLES}:
        return
    with reading(engine) as session:
        known = ", ".join(one.name for one in experiments.of_study(session, study.id)) or "none"
    raise TiebreakError(
        f"There is no experiment or published table {name!r}; the study's experiments: {known}. "
        "`cli.py experiments table` lists the published tables."
    )


def _tables_of_study(engine: "Engine", study: "Study") -> tuple[Any, str]:
    """Return the experiments of a study and the published tables, as rows and as text."""
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
    tables, text = _published_tables()
    return [*rows, *tables], f"{format_table(rows, 'The study has no experiments.')}\n\n{text}"


def _published_tables() -> tuple[Any, str]:
    from storage.reports import published

    tables = [
        {"name": table.name, "paper": table.paper, "title": table.title, "needs": table.needs}
        for table in published.TABLES
    ]
    return tables, format_table(tables, "")


def _print_published(
    engine: "Engine", study: "Study", name: str, reference: str | None, chosen: Layout, as_json: bool
) -> None:
    from storage.reports import published

    table = published.find_table(name)
    found = published.compute(engine, study, name, reference=reference)
    rows = [asdict(row) for row in found]
    heading = f"{table.paper}, {table.title}{published.compared_with(engine, study, table, reference)}"
    if chosen.is_default or not found:
        text = format_table(with_population(rows), f"No rows: this table needs {table.needs}.")
        lines = [heading, table.question, *filter(None, [published.note_of(found)]), text]
        return print_result(rows, "\n".join(lines), as_json)
    cells = published.layout(found, chosen.rows, chosen.columns, chosen.statistic)
    caption = ". ".join(filter(None, (heading, published.note_of(found))))
    _print_or_write(rows, cells.render(caption, name, chosen.format.value), chosen.output, as_json)
    if chosen.output is not None:
        record_export(engine, study.id, [str(chosen.output)])


def _print_or_write(value: Any, text: str, output: Path | None, as_json: bool) -> None:
    """Print a table, or write it to a file."""
    if output is None:
        return print_result(value, text.rstrip("\n"), as_json)
    from core.formats.text import open_output

    with open_output(output) as stream:
        stream.write(text)
    print_result(value, f"Wrote {output}", as_json)
