"""Tables: those of the papers, and those of a study's experiments."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from commands import lazy_imports
from commands.output import (
    Database,
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
from core.wording import significance_level

with lazy_imports():
    from core.formats import cell_table, latex_tables
    from core.formats import tables as data_tables
    from core.formats import text as text_files
    from core.statistics.reports import experiment_differences
    from storage.db import connections
    from storage.reports import experiments as experiment_report
    from storage.reports import published
    from storage.runs import experiments
    from storage.studies import studies


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
    effects: Annotated[
        bool, typer.Option("--effects", help="Effects of the levels of each axis, over the others, with their cost.")
    ] = False,
    front: Annotated[
        bool, typer.Option("--front", help="The cells by value for money: the Pareto front first.")
    ] = False,
    published_too: Annotated[
        bool, typer.Option("--published", help="The figures of the paper beside those here; without a name, of all.")
    ] = False,
    format: Annotated[TableFormat, typer.Option(help="The format of the table.")] = "text",
    output: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
    reference: Reference = None,
    database: DatabaseUrl = None,
) -> Result:
    """Print a table of an experiment, or of one of the papers, for a study. docs/published.md has their caveats."""
    if study is None:
        if name is not None:
            published.find_table(name)
            raise TiebreakError("Name the study: --study NAME.")
        return as_table(_published_tables(), "")
    engine, found = open_study(database, study)
    layout = Layout(_axes(rows), _axes(columns), statistic, format, output)
    if name is None:
        return (
            _differences_of_study(engine, found, reference, layout)
            if published_too
            else _tables_of_study(engine, found)
        )
    experiment = _find_experiment(engine, found, name)
    if experiment is None or published_too:
        return _published(engine, found, name, reference, layout, is_experiment=experiment is not None)
    lists = {"differences": differences, "effects": effects, "front": front}
    chosen = [kind for kind, is_chosen in lists.items() if is_chosen]
    results = experiment_report.results(engine, found, experiment, reference)
    if chosen:
        return _written(engine, found, *_list_of(engine, found, results, chosen, layout), output)
    value, text = experiment_report.render(results, statistic, layout.rows, layout.columns, format)
    return _written(engine, found, value, text, output)


def _list_of(
    engine: Database, study: "studies.Study", results: "experiment_report.Results", chosen: list[str], layout: Layout
) -> Result:
    """Return the differences, effects or cells by value for money; raises TiebreakError for other options."""
    if len(chosen) > 1 or layout.rows or layout.columns:
        raise TiebreakError(f"--{chosen[0]} is a list of its own: leave out --rows, --columns and other lists.")
    of = results.of(layout.statistic)[0] if results.cells else ""
    rows: list[dict[str, Any]]
    match chosen:
        case ["front"]:
            lines = rows = [asdict(row) for row in experiment_report.values_for_money(results, of)] if of else []
            caption = experiment_report.describe_front(results, of)
        case ["effects"]:
            lines = rows = [asdict(row) for row in experiment_report.effects(engine, study, results, of)] if of else []
            for row in rows:
                row.pop("fixed")
                row["cost"], row["cost_low"], row["cost_high"] = row["cost"]
            caption = experiment_report.describe_effects(results, of)
        case _:
            rows, lines, caption = _differences(results, engine, study, of)
    if results.cost and "differences" not in chosen:  # a file has no caption with the unit
        rows = [row | {"cost_unit": experiment_report.COSTS[results.cost]} for row in rows]
        lines = rows if layout.format == "csv" else lines
    name = results.experiment.name
    return rows, _rows_text(lines, f"{name}: {caption}", f"{name}-{chosen[0]}", layout)


def _differences(
    results: "experiment_report.Results", engine: Database, study: "studies.Study", statistic: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """Return the differences along the axes as rows, as the lines of a table, and its caption."""
    left_out = ("combinations", "cost")  # of effects
    found = experiment_report.bounded_differences(engine, study, results, statistic) if statistic else ()
    rows = [{name: cell for name, cell in asdict(row).items() if name not in left_out} for row in found]
    rows = [row | {"significance": significance_level(row["p"])} for row in rows]
    lines = [row | {"fixed": ", ".join(f"{k} {v}" for k, v in row["fixed"].items())} for row in rows]
    correction = experiment_differences.describe_correction(found)
    return rows, lines, f"differences along the axes; {correction}; reference: {results.reference}"


def _rows_text(lines: Sequence[Mapping[str, Any]], caption: str, label: str, layout: Layout) -> str:
    match layout.format:
        case "csv":
            return data_tables.rows_csv(lines)
        case "latex":
            return latex_tables.latex_table(lines, caption, f"tab:{label}")
        case "markdown":
            header = list(lines[0]) if lines else []
            texts = [[_cell_text(cell) for cell in line.values()] for line in lines]
            return f"{cell_table.markdown_table(header, texts)}\n{caption}\n"
    return "\n".join(filter(None, [format_table(lines, "No two cells can be compared yet."), caption]))


def _cell_text(value: object) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def _axes(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _find_experiment(engine: Database, study: "studies.Study", name: str) -> "experiments.Experiment | None":
    """Return the experiment of this name, None for a published table; raises TiebreakError if there is neither."""
    with connections.reading(engine) as session:
        found = experiments.find(session, study.id, name)
        if found is not None or name in {table.name for table in published.TABLES}:
            return found
        known = ", ".join(one.name for one in experiments.of_study(session, study.id)) or "none"
    raise TiebreakError(
        f"There is no experiment or published table {name!r}; the study's experiments: {known}. "
        "`cli.py experiments table` lists the published tables."
    )


def _tables_of_study(engine: Database, study: "studies.Study") -> Result:
    with connections.reading(engine) as session:
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
    return [
        {"name": table.name, "paper": table.paper, "title": table.title, "needs": table.needs}
        for table in published.TABLES
    ]


def _published(
    engine: Database, study: "studies.Study", name: str, reference: str | None, chosen: Layout, *, is_experiment: bool
) -> Result:
    """Return the rows of a published table, in the chosen layout."""
    of_experiment = published.find_experiment_table(engine, study.id, name)
    table = of_experiment or published.find_table(name, is_experiment=is_experiment)
    found = published.select(published.compute(engine, study, name, reference=reference), chosen.statistic)
    if not found:
        raise TiebreakError(f"The table {name!r} has no rows for this study: it needs {table.needs}.")
    rows = _with_differences(found)
    heading = f"{table.paper}, {table.title}{published.compared_with(engine, study, table, reference)}"
    note = published.note_of(found)
    if chosen.rows or chosen.columns or chosen.format in ("latex", "markdown"):
        cells = published.layout(found, chosen.rows, chosen.columns, chosen.statistic)
        caption = ". ".join(filter(None, (heading, note)))
        return _written(engine, study, rows, cells.render(caption, name, chosen.format), chosen.output)
    if chosen.format == "csv":
        return _written(engine, study, rows, _rows_text(rows, "", "", chosen), chosen.output)
    text = format_table(with_population(_shorter(rows)), "")
    text = "\n".join([heading, table.question, *filter(None, [note]), text, *published.reasons(found)])
    return _written(engine, study, rows, f"{text}\n", chosen.output)


def _differences_of_study(engine: Database, study: "studies.Study", reference: str | None, chosen: Layout) -> Result:
    """Return all rows of a study that a paper prints too: published, here, the difference, and why."""
    found = published.of_study(engine, study, reference)
    if not found:
        raise TiebreakError(
            "Nothing of this study is published: no figure of a paper is of its data and its runs (docs/published.md)."
        )
    statistics = {row.statistic for row in published.select([row for _, row in found], chosen.statistic)}
    found = [(name, row) for name, row in found if row.statistic in statistics]
    rows = _with_differences([row for _, row in found])
    rows = [{"table": name} | fields for (name, _), fields in zip(found, rows, strict=True)]
    lines = rows if chosen.format == "csv" else _shorter(rows)
    text = _rows_text(lines, "Published figures, and those of this study", f"{study.name}-published", chosen)
    reasons = published.reasons([row for _, row in found]) if chosen.format == "text" else []
    return _written(engine, study, rows, "\n".join([text.rstrip("\n"), *reasons, ""]), chosen.output)


def _with_differences(rows: "Sequence[published.PublishedRow]") -> list[dict[str, Any]]:
    """Return rows with their differences from the published figures, without these fields if no row has one."""
    names = ("published", "source", "why")
    is_published = any(row.published is not None for row in rows)
    found = []
    for row in rows:
        fields = {name: value for name, value in asdict(row).items() if name not in names}
        if is_published:
            ends = dict(zip(("difference", "difference_low", "difference_high"), row.difference, strict=True))
            fields |= {"published": row.published, **ends, "source": row.source, "why": row.why}
        found.append(fields)
    return found


def _shorter(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without what is printed once below their table."""
    figure_text = published.figure_text
    shown = [{name: cell for name, cell in row.items() if name not in ("source", "why")} for row in rows]
    return [row | {"published": figure_text(row["published"])} if "published" in row else row for row in shown]


def _written(engine: Database, study: "studies.Study", value: Any, text: str, output: Path | None) -> Result:
    """Return a table, or write it to a file."""
    if output is None:
        return value, text.rstrip("\n")
    with text_files.open_output(output) as stream:
        stream.write(text)
    record_export(engine, study.id, [str(output)])
    return value, f"Wrote {output}"
