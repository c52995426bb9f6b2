"""The files of a study for a paper: the bundle of its data."""

from pathlib import Path
from typing import Annotated

import typer

from commands.options import DatabaseUrl, Json, StudyName, find_study, open_database
from commands.output import print_result


def bundle(
    path: Annotated[Path, typer.Argument(help="A new folder, or a file whose name ends in .zip.")],
    study: StudyName,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write the tables as Parquet files too.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Write the data and figures of a study for publication. docs/publication.md describes the files."""
    from storage.transfer import write_bundle

    engine = open_database(database)
    manifest = write_bundle(engine, find_study(engine, study), path, parquet=parquet)
    names = ", ".join(manifest["files"])
    print_result(manifest, f"Wrote {path}: {names}, manifest.json", as_json)
