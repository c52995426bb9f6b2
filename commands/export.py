"""Export of gold labels, studies, replies and instruction-tuning data."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import DatabaseUrl, Json, StudyName, open_study, record_export
from commands.output import print_result, progress_bar, with_progress
from core.errors import TiebreakError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from core.formats.gold import GoldRow
    from core.formats.records import Record
    from storage.studies import Study


def export(
    study: StudyName,
    gold: Annotated[Path | None, typer.Option(help="Write the gold labels to this CSV file: see docs/gold.md.")] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(help="A run whose agreed verdicts are gold for unlabelled targets; repeat it for several runs."),
    ] = None,
    judge_columns: Annotated[
        bool, typer.Option("--judge-columns", help="Add columns with the judges' verdicts and opinions to the gold.")
    ] = False,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Write pseudonyms instead of annotators' names; not with --everything.")
    ] = False,
    everything: Annotated[Path | None, typer.Option(help="Write the whole study to this JSON lines file.")] = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Write the area chairs' analyses as instruction-tuning JSON lines.")
    ] = None,
    turns: Annotated[
        Path | None, typer.Option(help="Write every reply with its reading to this CSV file, or .jsonl file.")
    ] = None,
    label_studio: Annotated[
        Path | None,
        typer.Option(help="Write tasks of Label Studio, with a labeling configuration in .xml."),
    ] = None,
    argilla: Annotated[Path | None, typer.Option(help="Write the study as records of Argilla.")] = None,
    inspect: Annotated[Path | None, typer.Option(help="Write the study as a log of Inspect AI.")] = None,
    every_sample: Annotated[
        bool, typer.Option("--every-sample", help="Write all of a chair's samples, not only the representative one.")
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Export gold labels, a whole study, or its judges' replies. Area chairs' analyses are for instruction tuning."""
    others = {"label-studio": label_studio, "argilla": argilla, "inspect": inspect}
    paths = (gold, everything, instructions, turns, *others.values())
    written = [str(path) for path in paths if path is not None]
    check_outputs(written, has_pseudonyms=pseudonyms, is_everything=everything is not None)
    engine, source = open_study(database, study)
    if instructions is not None:  # first, because it raises for a study without area chairs
        write_instructions(engine, source, instructions, every_sample=every_sample)
    if gold is not None:
        write_gold(engine, source, gold, judges=judges or [], judge_columns=judge_columns, pseudonyms=pseudonyms)
    if everything is not None:
        write_study(engine, source, everything, quiet=as_json)
    if turns is not None:
        write_turns(engine, source, turns, pseudonyms=pseudonyms)
    for format, path in others.items():
        if path is not None:
            write_other_format(engine, source, path, format, pseudonyms=pseudonyms)
    record_export(engine, source.id, written)
    print_result({"study": study, "written": written}, "Wrote " + " and ".join(written), as_json)


def check_outputs(written: Sequence[str], *, has_pseudonyms: bool, is_everything: bool) -> None:
    """Raise TiebreakError without an output file, and for an output that cannot have pseudonyms."""
    if not written:
        raise TiebreakError(
            "Name an output file: --gold, --turns FILE.csv, --everything, --instructions FILE.jsonl, "
            "--label-studio, --argilla or --inspect FILE.json."
        )
    if has_pseudonyms and is_everything:
        raise TiebreakError("--everything writes annotators' names, which restore a study: omit --pseudonyms.")


def write_gold(
    engine: "Engine", study: "Study", path: Path, *, judges: Sequence[str], judge_columns: bool, pseudonyms: bool
) -> None:
    """Write the gold labels as CSV."""
    from core.formats import gold
    from core.formats.output import open_output
    from storage.database import reading
    from storage.transfer import GoldOptions, gold_rows, verdict_runs

    options, sources = GoldOptions(tuple(judges), judge_columns, pseudonyms), Counter[str]()
    with reading(engine) as session, open_output(path) as stream:
        columns = verdict_runs(session, study) if judge_columns else None
        gold.write_csv(count_sources(gold_rows(session, study, options), sources), stream, columns)
    if sources["judges"]:
        names = ", ".join(repr(name) for name in judges)
        typer.echo(
            f"{sources['judges']:,} of {sources.total():,} values are verdicts of {names}: do not evaluate these runs, "
            "or other runs of their judges, with this file.",
            err=True,
        )


def count_sources(rows: "Iterable[GoldRow]", sources: Counter[str]) -> "Iterator[GoldRow]":
    """Yield the rows, and count their sources."""
    for row in rows:
        sources[row.gold.source] += 1
        yield row


def write_study(engine: "Engine", study: "Study", path: Path, *, quiet: bool) -> None:
    """Write the whole study as JSON lines, with a progress bar and a note on each protocol that is not installed."""
    from core.formats import tiebreak
    from core.formats.output import open_output
    from storage import runs
    from storage.database import reading
    from storage.transfer import count_records, export_records

    with reading(engine) as session:
        for note in runs.uninstalled_protocol_notes(session, study.id):
            typer.echo(f"{note} It is exported as it is stored.", err=True)
    with progress_bar("Exporting", "lines", quiet=quiet) as show, open_output(path) as stream:
        tiebreak.write(with_progress(export_records(engine, study), count_records(engine, study), show), stream)


def write_instructions(engine: "Engine", study: "Study", path: Path, *, every_sample: bool) -> None:
    """Write the area chairs' analyses as JSON lines."""
    from core.formats import instruction_tuning
    from core.formats.output import open_output
    from storage.transfer.instructions import instruction_examples

    examples = instruction_examples(engine, study, every=every_sample)
    first = next(examples, None)  # raises TiebreakError if there are none, before a file is created
    with open_output(path) as stream:
        instruction_tuning.write_jsonl([first, *examples] if first is not None else [], stream)


def write_turns(engine: "Engine", study: "Study", path: Path, *, pseudonyms: bool) -> None:
    """Write every turn of a study: JSON lines if the file name ends in .jsonl or .ndjson, otherwise CSV."""
    from core.formats import turns as turn_file
    from core.formats.output import open_output
    from storage.transfer import pseudonyms as names
    from storage.transfer import turn_rows

    rows = turn_rows(engine, study)
    if pseudonyms:
        rows = names.rename_readers(rows, study_pseudonyms(engine, study))
    write = turn_file.write_jsonl if path.suffix in (".jsonl", ".ndjson") else turn_file.write_csv
    with open_output(path) as stream:
        write(rows, stream)


def write_other_format(engine: "Engine", study: "Study", path: Path, format: str, *, pseudonyms: bool) -> None:
    """Write a study in the format of another tool, and for Label Studio a labeling configuration."""
    from core.formats.output import open_output
    from core.formats.registry import write_records
    from core.formats.tools.label_studio import labeling_config
    from storage.transfer import export_records
    from storage.transfer import pseudonyms as names

    def records() -> "Iterator[Record]":
        exported = export_records(engine, study)
        return names.rename_records(exported, study_pseudonyms(engine, study)) if pseudonyms else exported

    with open_output(path) as stream:
        left_out = write_records(records(), format, stream)
    if format == "label-studio":
        with open_output(path.with_suffix(".xml")) as stream:
            stream.write(labeling_config(records()))
    if left_out:
        typer.echo(
            f"{left_out:,} labels and verdicts of AIUs or weights have no form in this tool: left out.", err=True
        )


def study_pseudonyms(engine: "Engine", study: "Study") -> Callable[[str], str]:
    """Return the function from an annotator's name to the pseudonym in every export of the study."""
    from storage.database import reading
    from storage.transfer import pseudonyms

    with reading(engine) as session:
        return pseudonyms.of_study(session, study.id)
