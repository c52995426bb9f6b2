"""Files of a study for a publication: the bundle of its data, and a report."""

from pathlib import Path
from typing import Annotated

import typer

from commands.options import DatabaseUrl, Json, Reference, StudyName, open_study, record_export
from commands.output import print_result


def bundle(
    path: Annotated[Path, typer.Argument(help="A new folder, or a file whose name ends in .zip.")],
    study: StudyName,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the tables as Parquet files too.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Write the data and the results of a study as tables. docs/publication.md describes the files."""
    from storage.transfer.bundle import write_bundle

    engine, source = open_study(database, study)
    manifest = write_bundle(engine, source, path, parquet=parquet)
    record_export(engine, source.id, [str(path)])
    names = ", ".join(manifest["files"])
    print_result(manifest, f"Wrote {path}: {names}, manifest.json", as_json)


def report(
    path: Annotated[Path, typer.Argument(help="The HTML file.")],
    study: StudyName,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Write a report of a study as one HTML file. It has charts, tables and captions, and needs no network."""
    from core.formats.html_report import write_report
    from core.formats.output import open_output
    from storage.reports import study_report

    engine, source = open_study(database, study)
    sections = study_report.sections(engine, source, reference=reference)
    with open_output(path) as stream:
        write_report(source.name, sections, stream)
    record_export(engine, source.id, [str(path)])
    print_result({"written": str(path)}, f"Wrote {path}", as_json)
