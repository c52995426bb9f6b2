"""Tiebreak on the command line: import, run, statistics, export and backup.

A command exits with 0, or with 2 and one sentence on standard error. With --json it prints one JSON value on standard
output, and nothing else there. Modules are imported by the commands that need them, so that `--help` is fast.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperGroup

from core.formats.registry import FORMAT_NAMES
from core.problems import Problem

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from storage.runs import Progress, Run
    from storage.studies import Study

Record = TypeVar("Record")
ShowProgress = Callable[[int, int], None]
"""Called with the number of records that are done, and of all records."""
LINE_SECONDS = 5.0
"""Interval between two lines of progress where there is no terminal."""
INTERRUPTED = 130
"""The exit code by which Typer reports Ctrl+C."""


class ErrorFormattingGroup(TyperGroup):
    """Reports every expected error as one sentence with exit code 2, instead of a usage text in a box."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, or print the help without one, and exit."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        try:
            code = super().main(words, prog_name, complete_var, False, windows_expand_args, **extra)
        except (Problem, typer.TyperException) as error:
            exit_with_error(error.format_message() if isinstance(error, typer.TyperException) else str(error))
        except Exception as error:
            exit_with_error(database_sentence(error))
        if code == INTERRUPTED:
            exit_with_error("Interrupted. Everything that was stored is still there.")
        sys.exit(code)


def database_sentence(error: Exception) -> str:
    """Return an error of the database as a sentence; raises any other error."""
    from storage import database_errors

    if not isinstance(error, database_errors.DBAPIError):
        raise error
    return database_errors.describe(error)


def exit_with_error(message: str) -> NoReturn:
    """Print a message as one sentence, and exit with 2."""
    sentence = " ".join(message.replace("Value error, ", "").split())  # a phrase of pydantic's
    typer.echo(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}.", err=True)
    sys.exit(2)


app = typer.Typer(
    cls=ErrorFormattingGroup,
    help="Tiebreak on the command line.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
DatabaseUrl = Annotated[
    str | None, typer.Option("--database", help="Database URL; else TIEBREAK_DATABASE_URL, else sqlite:///tiebreak.db.")
]
Json = Annotated[bool, typer.Option("--json", help="Print only one JSON value.")]
StudyName = Annotated[str, typer.Option("--study", help="The study's name.")]
Reference = Annotated[
    str | None,
    typer.Option(
        help="What judges are compared with: gold, majority, mean, annotator:NAME, or debate:RUN with people's "
        "decisions on its disputes. Without it gold, or the newest debate where people decided nothing."
    ),
]
Kind = Annotated[
    str | None, typer.Option(help="A kind of judgement, such as preference; else the one with most targets.")
]
CriterionName = Annotated[str | None, typer.Option("--criterion", help="Else the one with most targets, or all.")]
ScenarioName = Annotated[str | None, typer.Option("--scenario", help="Only this scenario.")]


class AgreementSplit(StrEnum):
    """How the rows of the agreement are split."""

    all = "all"
    scenario = "scenario"
    criterion = "criterion"
    raters = "raters"


class AlignmentSplit(StrEnum):
    """How the rows of the alignment are split."""

    all = "all"
    scenario = "scenario"
    criterion = "criterion"


class AbstentionPolicy(StrEnum):
    """What a target without a verdict counts as."""

    error = "error"
    excluded = "excluded"
    tie = "tie"


Abstentions = Annotated[AbstentionPolicy, typer.Option(help="What a target without a verdict counts as.")]


@app.command("import")
def import_file(
    path: Annotated[Path, typer.Argument(help="A file, or the folder of a published data set.")],
    study: StudyName,
    format: Annotated[
        str | None, typer.Option(help=f"The format; else it is detected. One of {FORMAT_NAMES}: see docs/formats.md.")
    ] = None,
    map: Annotated[Path | None, typer.Option(help="The mapping of a table's fields: see docs/mappings.")] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Import a file into a study. A second import adds nothing; a file with an error is refused whole."""
    from core.formats.mapping import mapping
    from core.formats.registry import detect_format, read_records, report_files
    from core.formats.text import recording_reads
    from storage.transfer import import_records

    records = read_records(path, format, mapping.load_mapping(map) if map else None)
    with progress_bar("Importing", "records", quiet=as_json) as show, recording_reads() as opened:
        counts = import_records(open_database(database), study, records, show)
    files = report_files(path, opened, format or detect_format(path)) if path.is_dir() else []
    lines = [f"  {one.file}: {'read' if one.read else f'not read, {one.reason}'}" for one in files]
    result = asdict(counts) | {"study": study} | ({"files": [asdict(one) for one in files]} if files else {})
    print_result(result, "\n".join([f"{study}: {counts.summary()}", *lines]), as_json)


@app.command()
def run(
    study: StudyName,
    protocol: Annotated[str, typer.Option(help="The protocol, such as scaleeval.")] = "scaleeval",
    settings: Annotated[Path | None, typer.Option(help="Its settings, a YAML or JSON file.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Run over the first items only, this many.")] = None,
    resume: Annotated[str | None, typer.Option(help="Resume the run with this name instead.")] = None,
    name: Annotated[str | None, typer.Option(help="The run's name; else that of the settings file.")] = None,
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, max=1000, help="Concurrent calls to one model.")] = 8,
    ceiling: Annotated[float | None, typer.Option(min=0, help="Dollars at which the run stops.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the estimate.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Run a protocol over a study's items. Stop it with Ctrl+C, and continue with --resume."""
    from storage.worker import (
        ceiling_warning,
        create_run,
        estimate_run,
        receivers_sentence,
        request_from_file,
        resume_run,
    )

    engine = open_database(database)
    if resume is not None:
        run_id = resume_run(engine, find_study(engine, study), resume)
    else:
        options = {"seed": seed, "parallel": parallel, "ceiling": ceiling, "limit": limit}
        request = request_from_file(engine, find_study(engine, study), protocol, settings, name, **options)
        estimate = estimate_run(engine, request)
        if dry_run:
            return print_result(asdict(estimate), f"{estimate.summary()}\n{receivers_sentence(request)}", as_json)
        sentences = (estimate.summary(), receivers_sentence(request), ceiling_warning(request, estimate))
        typer.echo("\n".join(filter(None, sentences)), err=True)
        run_id = create_run(engine, request)
    ended, progress = execute(engine, run_id, quiet=as_json)
    state = {"run": ended.name, "state": ended.state, "problem": ended.problem}
    print_result(state | asdict(progress), progress.summary(), as_json)
    if ended.state != "finished" or progress.failed:
        raise Problem(ended.problem or f"The run is not complete; continue with --resume {ended.name!r}.")


def execute(engine: "Engine", run_id: int, *, quiet: bool) -> "tuple[Run, Progress]":
    """Execute a run until it ends, with a progress bar on a terminal, else with a line for each change."""
    import asyncio

    from storage.worker import execute_here

    with progress_bar("Running", "traces", quiet=quiet or not sys.stderr.isatty()) as show:

        def report(_: "Run", progress: "Progress") -> None:
            if not quiet and not sys.stderr.isatty():
                typer.echo(progress.summary(), err=True)
            show(progress.done + progress.failed, progress.traces)

        return asyncio.run(execute_here(engine, run_id, report))


@app.command()
def agreement(
    study: StudyName,
    by: Annotated[AgreementSplit, typer.Option(help="Split the rows.")] = AgreementSplit.all,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the agreement between annotators. Rows of the judges' first and last opinions follow."""
    from storage.reports import agreement as report

    engine = open_database(database)
    rows = [asdict(row) for row in report.rows(engine, find_study(engine, study), by.value)]
    print_result(rows, format_table(rows, "No labels yet."), as_json)


@app.command()
def alignment(
    study: StudyName,
    by: Annotated[AlignmentSplit, typer.Option(help="Split the rows.")] = AlignmentSplit.all,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print each judge's alignment with a reference. The column `reference` has the sources of its values."""
    from storage.reports import alignment as report

    engine = open_database(database)
    rows = [asdict(row) for row in report.rows(engine, find_study(engine, study), by.value, reference=reference)]
    print_result(rows, format_table(rows, "No judge has given an opinion yet."), as_json)


@app.command()
def judges(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    abstentions: Abstentions = AbstentionPolicy.error,
    margin: Annotated[float, typer.Option(help="How far below the human ceiling a judge may be.")] = 0.05,
    epsilon: Annotated[float, typer.Option(help="What the alternative-annotator test concedes to a judge.")] = 0.15,
    min_coverage: Annotated[float, typer.Option(help="The share of targets that need a verdict.")] = 0.95,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print which judges can replace annotators. Every judge is compared on the same targets."""
    from core.statistics.reports.recommendations import Rule, summarize
    from storage.reports import judge_ranking

    rule = Rule(min_coverage=min_coverage, margin=margin, epsilon=epsilon)
    engine = open_database(database)
    query = judge_ranking.Selection(kind, criterion, scenario, abstentions.value, rule)
    report = judge_ranking.of_study(engine, find_study(engine, study), query, reference=reference)
    rows = judge_ranking.table(report)
    text = f"{summarize(report.ranking)}\n{format_table(rows, 'No judge.')}"
    print_result(rows, text, as_json)


@app.command()
def compare(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    abstentions: Abstentions = AbstentionPolicy.error,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the difference in accuracy of every two judges. P-values are corrected by Holm's method."""
    from storage.reports import judge_ranking

    engine = open_database(database)
    query = judge_ranking.Selection(kind, criterion, scenario, abstentions.value)
    report = judge_ranking.of_study(engine, find_study(engine, study), query, reference=reference)
    rows = [asdict(comparison) for comparison in report.comparisons]
    print_result(rows, format_table(rows, "There is only one judge."), as_json)


@app.command()
def systems(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    judge: Annotated[str | None, typer.Option(help="Whose verdicts to use; '' for people alone.")] = None,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print each system's win rate or mean score. People's labels correct a judge's verdicts."""
    from storage.reports import systems as report

    engine = open_database(database)
    result = report.report(
        engine, find_study(engine, study), kind=kind, criterion=criterion, judge=judge, reference=reference
    )
    rows = [asdict(row) for row in result.rows]
    heading = f"{result.kind}, {result.criterion}: {result.reference}; judge: {result.judge or 'none'}"
    print_result(rows, f"{heading}\n{format_table(rows, 'No two systems were compared.')}", as_json)


@app.command()
def weights(
    study: StudyName,
    top: Annotated[
        int | None, typer.Option(min=1, help="Compare only this many heaviest aspects, by Fagin's K^(1/2).")
    ] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the distances between aspect weights. They are Kendall's, by pair of raters (DnA-Eval)."""
    from core.statistics.reports.weight_distances import rank_distance, top_k_distance
    from storage.reports import weights as report

    engine = open_database(database)
    measure = rank_distance if top is None else top_k_distance(top)
    rows = [
        {
            "rater_a": row.rater_a,
            "rater_b": row.rater_b,
            "distance": row.distance.value,
            "low": row.distance.low,
            "high": row.distance.high,
            "distance_undefined_as_zero": row.distance_undefined_as_zero,
            "items": row.units,
            "undefined": row.undefined,
        }
        for row in report.rows(engine, find_study(engine, study), measure)
    ]
    print_result(rows, format_table(rows, "No weights yet."), as_json)


@app.command()
def critiques(
    study: StudyName,
    pairs: Annotated[bool, typer.Option("--pairs", help="Compare two critiques by models, by F1.")] = False,
    accuracy: Annotated[bool, typer.Option("--accuracy", help="Compare each judge with the gold labels.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print precision, recall and F1 of critiques. They are by author, from annotators and judges (MetaCritique)."""
    from storage.reports import critiques as report

    engine = open_database(database)
    board = report.leaderboard(engine, find_study(engine, study))
    rows = [asdict(row) for row in (board.pairs if pairs else board.accuracies if accuracy else board.rows)]
    columns = [
        {name: format_cell(name, cell) for name, cell in row.items() if not name.endswith(("interval", "reason"))}
        for row in rows
    ]
    print_result(rows, format_table(columns, "No critique has been judged yet."), as_json)


def format_cell(name: str, cell: Any) -> Any:
    """Return the cell of a table; a range, such as what unreadable replies can change, as text."""
    return f"{cell[0]:.3f} to {cell[1]:.3f}" if name.endswith("range") and cell is not None else cell


@app.command()
def unread(
    study: StudyName,
    run: Annotated[str | None, typer.Option(help="Only the replies in this run.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only the replies of this judge.")] = None,
    step: Annotated[str | None, typer.Option(help="Only the replies in this step, such as opinion.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Print the text of at most this many replies.")] = 20,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the replies that could not be read. Counts by judge, step and reason come first, then the texts."""
    from storage import unread as replies
    from storage.database import reading
    from storage.worker import find_run

    engine = open_database(database)
    source = find_study(engine, study)
    run_id = None if run is None else find_run(engine, source, run).id
    conditions = replies.UnreadFilter(source.id, run_id, judge, step)
    with reading(engine) as session:
        counts = [asdict(count) for count in replies.counts(session, conditions)]
        found = [reply.summary() for reply in replies.find(session, conditions, limit=limit)]
    lines = [format_table(counts, "Every reply could be read."), *(f"\n{format_reply(reply)}" for reply in found)]
    print_result({"counts": counts, "replies": found}, "\n".join(lines), as_json)


def format_reply(reply: Mapping[str, Any]) -> str:
    """Return an unreadable reply with its place; control characters of its text are not sent to the terminal."""
    text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in reply["reply"])
    place = f"{reply['run']} · {reply['item']} · {reply['judge']} · {reply['step']}, round {reply['round']}"
    return f"{place} (trace {reply['trace']}): {reply['problem']}\n    " + text.strip().replace("\n", "\n    ")


@app.command()
def reread(
    study: StudyName,
    run: Annotated[str | None, typer.Option(help="Only the replies in this run.")] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Store the new readings, and the verdicts they lead to.")
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Apply the parsers of this version to stored replies. No model is called; without --apply nothing is stored.

    A trace whose verdict would need new calls is listed, and left alone. Earlier readings stay stored.
    """
    from storage import readings

    engine = open_database(database)
    rereads = list(readings.reread_study(engine, find_study(engine, study), run=run, apply=apply))
    changes = [
        {**asdict(change), "outcome": trace.outcome, "needs_calls": trace.needs_calls}
        for trace in rereads
        for change in trace.changes
    ]
    skipped = [
        {"trace_id": t.trace_id, "run": t.run, "item": t.item, "why": t.needs_calls} for t in rereads if t.needs_calls
    ]
    columns = ("run", "item", "judge", "step", "round", "old", "new", "rule", "problem", "outcome")
    applicable = [{name: row[name] for name in columns} for row in changes if not row["needs_calls"]]
    verb = "Stored" if apply else "Would change; add --apply to store"
    parts = [format_table(applicable, "Every reply is read as before.")]
    parts += [f"{verb}: {len(applicable)} readings."] if applicable else []
    parts += ["Left alone, since the verdict would need new calls:", format_table(skipped, "")] if skipped else []
    print_result({"applied": apply, "changes": changes, "left_alone": skipped}, "\n\n".join(parts), as_json)


@app.command()
def export(
    study: StudyName,
    gold: Annotated[Path | None, typer.Option(help="Write the gold labels to this CSV file: see docs/gold.md.")] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(help="A run whose agreed verdicts are gold where nobody labelled; repeat it for several runs."),
    ] = None,
    judge_columns: Annotated[
        bool, typer.Option("--judge-columns", help="Add columns with the judges' verdicts and opinions to the gold.")
    ] = False,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Write pseudonyms instead of annotators' names in the gold.")
    ] = False,
    everything: Annotated[Path | None, typer.Option(help="Write the whole study to this JSON lines file.")] = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Write the area chairs' analyses as instruction-tuning JSON lines.")
    ] = None,
    turns: Annotated[
        Path | None, typer.Option(help="Write every reply with its reading to this CSV file, or .jsonl file.")
    ] = None,
    every_sample: Annotated[
        bool, typer.Option("--every-sample", help="Write all of a chair's samples, not only the representative one.")
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Export gold labels, a whole study, or its judges' replies. Area chairs' analyses are for instruction tuning."""
    from core.formats import gold as gold_file
    from core.formats import instruction_tuning, tiebreak
    from core.formats.output import open_output
    from storage import runs
    from storage.database import reading
    from storage.transfer import (
        GoldOptions,
        count_records,
        export_records,
        gold_rows,
        instruction_examples,
        verdict_runs,
    )

    written = [str(path) for path in (gold, everything, instructions, turns) if path is not None]
    if not written:
        raise Problem("Name a file to write: --gold, --turns FILE.csv, --everything or --instructions FILE.jsonl.")
    engine = open_database(database)
    source = find_study(engine, study)
    if gold is not None:
        options = GoldOptions(tuple(judges or ()), judge_columns, pseudonyms)
        with reading(engine) as session, open_output(gold) as stream:
            columns = verdict_runs(session, source) if judge_columns else None
            gold_file.write_csv(gold_rows(session, source, options), stream, columns)
    if everything is not None:
        with reading(engine) as session:
            for note in runs.uninstalled_protocol_notes(session, source.id):
                typer.echo(f"{note} It is exported as it is stored.", err=True)
        with progress_bar("Exporting", "records", quiet=as_json) as show, open_output(everything) as stream:
            tiebreak.write(with_progress(export_records(engine, source), count_records(engine, source), show), stream)
    if instructions is not None:
        examples = instruction_examples(engine, source, every=every_sample)
        first = next(examples, None)  # raises Problem, where there are none, before a file is created
        with open_output(instructions) as stream:
            instruction_tuning.write_jsonl([first, *examples] if first is not None else [], stream)
    if turns is not None:
        export_turns(engine, source, turns)
    print_result({"study": study, "written": written}, "Wrote " + " and ".join(written), as_json)


def export_turns(engine: "Engine", study: "Study", path: Path) -> None:
    """Write every turn of a study, as JSON lines where the file's name ends so, else as CSV."""
    from core.formats import turns as turn_file
    from core.formats.output import open_output
    from storage.transfer import turn_rows

    write = turn_file.write_jsonl if path.suffix in (".jsonl", ".ndjson") else turn_file.write_csv
    with open_output(path) as stream:
        write(turn_rows(engine, study), stream)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The new file: a SQLite database, or an archive for pg_restore.")],
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Copy the database to a new file. The database can be in use during the copy."""
    from storage import database as databases
    from storage.backup import back_up

    engine = databases.connect(databases.database_url(database))
    if databases.is_empty(engine):
        raise Problem("There is nothing to back up: the database has no tables.")
    back_up(engine, file)
    print_result({"written": [str(file)]}, f"Wrote {file}", as_json)


def open_database(url: str | None) -> "Engine":
    """Connect to the database, and migrate it to this version."""
    from storage import database

    engine = database.connect(database.database_url(url))
    database.upgrade(engine)
    return engine


def find_study(engine: "Engine", name: str) -> "Study":
    """Return the study called `name`."""
    from storage import studies
    from storage.database import reading

    with reading(engine) as session:
        return studies.get(session, name)


@contextmanager
def progress_bar(label: str, unit: str, *, quiet: bool) -> Iterator[ShowProgress]:
    """Yield a function that shows progress on standard error: a bar on a terminal, else periodic lines."""
    if quiet:
        yield lambda done, total: None
    elif not sys.stderr.isatty():
        yield line_printer(label, unit)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
            task = bar.add_task(label, total=None, rate="")

            def show(done: int, total: int) -> None:
                speed = bar.tasks[0].speed
                bar.update(task, completed=done, total=total, rate=f"{speed:,.1f} {unit}/s" if speed else "")

            yield show


def line_printer(label: str, unit: str) -> ShowProgress:
    """Return a function that prints progress as a line, at most one every LINE_SECONDS and one at the end."""
    next_line = time.monotonic() + LINE_SECONDS

    def show(done: int, total: int) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line or done >= total:
            typer.echo(f"{label}: {done:,} of {total:,} {unit}", err=True)
            next_line = time.monotonic() + LINE_SECONDS

    return show


def with_progress(records: Iterable[Record], total: int, show: ShowProgress) -> Iterator[Record]:
    """Yield the records, and show how many are done after every hundred."""
    done = 0
    for done, record in enumerate(records, 1):
        yield record
        if done % 100 == 0:
            show(done, max(total, done))
    show(done, done)


def format_table(rows: Sequence[Mapping[str, Any]], empty: str) -> str:
    """Return rows as a text table: floats with three decimals, None as a dash; `empty` where there are no rows."""
    from tabulate import tabulate

    if not rows:
        return empty
    # tabulate would turn names such as "007" and "1e3" into numbers.
    names = [index for index, column in enumerate(rows[0]) if any(isinstance(row[column], str) for row in rows)]
    cells = [list(row.values()) for row in rows]
    return tabulate(cells, list(rows[0]), floatfmt=".3f", missingval="–", disable_numparse=names)


def print_result(value: Any, sentence: str, as_json: bool) -> None:
    """Print one JSON value, or the sentence or table."""
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False) if as_json else sentence)


if __name__ == "__main__":
    app()
