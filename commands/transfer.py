"""Import of files, and backup of the database."""

import re
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import DatabaseUrl, Json, StudyName, connect, open_database
from commands.output import format_table, print_result, progress_bar, with_reading_lines
from core.errors import FileFormatError, TiebreakError
from core.formats.registry import FORMAT_NAMES

if TYPE_CHECKING:
    from core.formats.mapping.confirmation import Question
    from core.formats.mapping.mapping import Mapping
    from core.formats.records import ImportedRecords

RATINGS = re.compile(r"annotations\..+\.Rating")
"""Fields of UltraFeedback."""
TO_FILL_IN = "No field has a usual name of a prompt or a response: fill in `prompt`, `responses` or both."
MAY_BE_LABELS = (
    "Values of unused columns may be labels of people; for verdicts of judges, write `judges`, and `columns` instead "
    "of `layout` and `annotators`. Labels on different scales need different criteria."
)


def import_file(
    path: Annotated[Path, typer.Argument(help="A file, or the folder of a published data set.")],
    study: StudyName,
    format: Annotated[
        str | None, typer.Option(help=f"One of {FORMAT_NAMES}; see docs/formats.md. Default: detected.")
    ] = None,
    map: Annotated[Path | None, typer.Option(help="The mapping of a table's fields: see docs/mappings.")] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Import a file into a study. A second import adds nothing; an invalid file is refused as a whole."""
    from core.formats.mapping import mapping
    from core.formats.mapping.omissions import recording_omissions
    from core.formats.mapping.roles import warn_of_models
    from core.formats.registry import detect_format, read_for_import, report_files
    from core.formats.text import recording_reads
    from storage.transfer import import_records

    own = mapping.load_mapping(map) if map else None
    refuse_open_questions(path, own)
    records = read_for_import(path, format, own)
    bar = progress_bar("Importing items, labels and traces", "records", quiet=as_json)
    with bar as show, recording_reads() as opened, recording_omissions() as omissions:
        annotators: set[str] = set()
        read = with_reading_lines(records, path, quiet=as_json)
        noted = with_annotators(read, annotators) if map else read
        counts = import_records(open_database(database, creates=True), study, noted, show)
    if warning := warn_of_models(annotators):
        typer.echo(f"Warning: {warning}", err=True)
    files = report_files(path, opened, format or detect_format(path)) if path.is_dir() else []
    lines = [f"  {file.file}: {'read' if file.read else f'not read, {file.reason}'}" for file in files]
    result = (
        asdict(counts)
        | {"study": study, "left_out": asdict(omissions)}
        | ({"files": [asdict(file) for file in files]} if files else {})
    )
    notes = [f"  {note}" for note in omissions.notes()]
    print_result(result, "\n".join([f"{study}: {counts.summary()}", *notes, *lines]), as_json)


def refuse_open_questions(path: Path, mapping: "Mapping | None") -> None:
    """Print what a person has to state before the import, with counts and examples; raises FileFormatError for it."""
    from core.formats.mapping.confirmation import refusal
    from core.formats.mapping.table import questions

    if mapping is None or not (found := questions(path, mapping)):
        return
    typer.echo("To confirm:", err=True)
    for question in found:
        typer.echo("\n".join([question.sentence(), *question.lines()]), err=True)
    raise refusal(found)


def print_open_questions(path: Path, mapping: "Mapping") -> None:
    """Print, as comments of a suggested mapping, what a person has to state before the import."""
    from core.formats.mapping.table import questions

    found: list[Question] = []
    with suppress(FileFormatError):  # an error of a row, which the import reports
        found = questions(path, mapping)
    for question in found:
        typer.echo("\n".join(f"# {line}" for line in [f"To confirm: {question.sentence()}", *question.lines()]))


def with_annotators(records: "ImportedRecords", annotators: set[str]) -> "ImportedRecords":
    """Yield the records, and add the annotators of their labels to `annotators`."""
    from core.formats.records import LabelRecord, PlainLabels

    for record in records:
        if isinstance(record, PlainLabels):
            annotators.update(annotator for annotator, _ in record.values)
        elif isinstance(record, LabelRecord):
            annotators.add(record.label.annotator)
        yield record


def suggest_mapping(
    path: Annotated[Path, typer.Argument(help="A table: CSV, TSV, JSON, JSON lines or Parquet.")],
    explode: Annotated[
        str | None, typer.Option(help="The list whose elements are the items. Default: guessed.")
    ] = None,
) -> None:
    """Print a mapping that is guessed from the names and values of a table's fields, for `import --map`.

    A mapping without a prompt and responses is printed as far as it is known, with what has to be filled in.
    """
    from core.formats.mapping.candidates import candidate_labels
    from core.formats.mapping.fields import spell_path
    from core.formats.mapping.mapping import draft_of
    from core.formats.mapping.preview import MANY_FIELDS, preview_table
    from core.formats.mapping.roles import warn_of_models
    from core.formats.mapping.suggest import ROWS, build_suggested, suggest_table, suggested_annotators, why_row_numbers
    from core.formats.mapping.unread_values import unread_values
    from core.formats.mapping.unused import unused_fields
    from core.formats.plain_yaml import dump_fields

    if preview_table(path, 1, explode).has_more:
        typer.echo(f"# {MANY_FIELDS}")
    draft = suggest_table(path, explode)
    mapping, is_complete = build_suggested(draft)
    unused = unused_fields(path, mapping)
    typer.echo("# Guessed: check every field (docs/mappings) before you import.")
    if unused:
        typer.echo("\n".join(["# Not used:", *(f"#   {spell_path(field)}" for field in unused)]))
    if candidates := candidate_labels(path, mapping, unused):
        block = dump_fields({"labels": candidates}).splitlines()
        typer.echo("\n".join([f"# {MAY_BE_LABELS}", *(f"# {line}" for line in block)]))
    row_numbers = why_row_numbers(preview_table(path, ROWS, explode), draft)
    for note in filter(None, (row_numbers, *unread_values(path, mapping))):
        typer.echo(f"# {note}")
    print_open_questions(path, mapping)
    if any(RATINGS.fullmatch(field) for field in unused):
        typer.echo("# docs/mappings/ultrafeedback.yaml has blocks of judges for these ratings.")
    if warning := warn_of_models(suggested_annotators(path, mapping)):
        typer.echo(f"# Warning: {warning} `where` and `where_not` select rows.")
    if is_complete:
        typer.echo(dump_fields(draft_of(mapping)), nl=False)
        return
    typer.echo(f"# {TO_FILL_IN}")
    typer.echo(dump_fields({name: value for name, value in draft_of(mapping).items() if name != "prompt"}), nl=False)
    typer.echo("# prompt: FIELD\n# responses:\n#   - text: FIELD")
    typer.echo(f"The mapping is incomplete. {TO_FILL_IN}", err=True)


def backup(
    file: Annotated[Path, typer.Argument(help="A new file, or a folder: then the name of the file contains the time.")],
    keep: Annotated[
        int | None, typer.Option(min=1, help="With a folder: only this many of its copies remain, the newest.")
    ] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Copy the database, which can be in use, to a SQLite file or an archive for pg_restore."""
    from storage import backup
    from storage import database as databases

    engine = connect(database)
    if databases.is_empty(engine):
        raise TiebreakError("There is nothing to back up: the database has no tables.")
    if file.is_dir():
        file = backup.back_up_to_folder(engine, file, keep)
    elif keep is not None:
        raise TiebreakError(f"--keep needs a folder, and {file} is none.")
    else:
        backup.back_up(engine, file)
    print_result({"written": [str(file)]}, f"Wrote {file}", as_json)


def restore(
    file: Annotated[Path, typer.Argument(help="A copy that the command backup has written.")],
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Replace the database by a copy. Stop the server first. What it contains is copied before."""
    from storage.restore import restore as restore_copy

    previous = restore_copy(connect(database, creates=True), file)
    text = f"Restored {file}." + (f" The former content is in {previous}." if previous else "")
    print_result({"restored": str(file), "previous": str(previous) if previous else None}, text, as_json)


def copy_database(
    file: Annotated[Path, typer.Argument(help="The file of a SQLite database, or a copy of one.")],
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Copy everything from a SQLite database into an empty PostgreSQL database. Stop the server first."""
    from storage.database_copies import copy_sqlite

    with progress_bar("Copying the database", "rows", quiet=as_json) as show:
        counts = copy_sqlite(file, connect(database, creates=True), show)
    rows = [asdict(count) for count in counts if count.source or count.target]
    total = sum(count.target for count in counts)
    text = f"{format_table(rows, '')}\nCopied {total:,} rows of {len(counts)} tables; all counts are equal."
    print_result(rows, text, as_json)
