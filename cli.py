"""The same work without a browser: import, run, agreement, export.

With --json a command prints one JSON value on standard output and nothing else there. It exits 0, or 2 with one
sentence on standard error.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from core.formats.columns import columns
from core.problems import Problem

app = typer.Typer(
    help="Tiebreak on the command line.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
Database = Annotated[
    str | None, typer.Option("--database", help="Database URL; else TIEBREAK_DATABASE_URL, else sqlite:///tiebreak.db.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]
StudyName = Annotated[str, typer.Option("--study", help="The study's name.")]


class By(StrEnum):
    """What the rows of an agreement report are split by."""

    all = "all"
    scenario = "scenario"
    criterion = "criterion"
    raters = "raters"


class Compared(StrEnum):
    """What the rows of an alignment report are split by."""

    all = "all"
    scenario = "scenario"
    criterion = "criterion"


def one_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """Trouble is one sentence on standard error, and exit code 2."""

    @wraps(command)
    def guarded(*args: Any, **named: Any) -> None:
        try:
            command(*args, **named)
        except Problem as problem:
            typer.echo(str(problem), err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("Stopped; what was done is kept.", err=True)
            raise typer.Exit(2) from None

    return guarded


def opened(url: str | None) -> Engine:
    """The database, brought to this version."""
    from storage import database

    engine = database.connect(database.address(url))
    database.upgrade(engine)
    return engine


@app.command("import")
@one_sentence
def import_file(
    path: Annotated[Path, typer.Argument(help="A file, or the folder of released debates.")],
    study: StudyName,
    format: Annotated[str | None, typer.Option(help="tiebreak, scaleeval or table.")] = None,
    map: Annotated[Path | None, typer.Option(help="What a table's fields mean: see docs/mappings.")] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Take a file into a study. Taking it again adds nothing; a file that is wrong is refused whole."""
    from core import formats
    from core.formats.mapping import mapping
    from storage.transfer import imports

    records = formats.read(path, format, mapping.load(map) if map else None)
    shown = sys.stderr.isatty() and not as_json
    with typer.progressbar(length=1000, label="Importing", file=sys.stderr, hidden=not shown) as bar:
        added = imports.load(
            opened(database), study, records, lambda done, there: bar.update(1000 * done // max(there, 1) - bar.pos)
        )
    say(asdict(added) | {"study": study}, f"{study}: {added.sentence()}", as_json)


@app.command()
@one_sentence
def run(
    study: StudyName,
    protocol: Annotated[str, typer.Option(help="The method, such as scaleeval.")] = "scaleeval",
    settings: Annotated[Path | None, typer.Option(help="Its settings, as YAML or JSON.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many items.")] = None,
    resume: Annotated[str | None, typer.Option(help="Go on with the run of that name instead.")] = None,
    name: Annotated[str | None, typer.Option(help="The run's name; else the settings file's.")] = None,
    seed: Annotated[int, typer.Option(help="What is random follows from it.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, max=1000, help="Calls at once to one model.")] = 8,
    ceiling: Annotated[float | None, typer.Option(min=0, help="Dollars at which the run stops.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Run a protocol over a study's items, here and now; stop it with Ctrl+C and go on with --resume."""
    from storage.database import writing
    from storage.runs import resume as ask_for
    from storage.worker import launch

    engine = opened(database)
    if resume is not None:
        run_id = launch.named(engine, study_of(engine, study), resume).id
        with writing(engine) as session:
            ask_for(session, run_id)
    else:
        more = {"seed": seed, "parallel": parallel, "ceiling": ceiling, "limit": limit}
        order = launch.from_file(engine, study_of(engine, study), protocol, settings, name, **more)
        estimate = launch.estimate(engine, order)
        if dry_run:
            return say(asdict(estimate), estimate.sentence(), as_json)
        typer.echo("\n".join(filter(None, (estimate.sentence(), launch.not_held(order, estimate)))), err=True)
        run_id = launch.make(engine, order)
    ended, progress = asyncio.run(
        launch.carry_here(engine, run_id, told if not as_json else lambda run, progress: None)
    )
    say(
        {"run": ended.name, "state": ended.state, "problem": ended.problem} | asdict(progress),
        progress.sentence(),
        as_json,
    )
    if ended.state != "finished" or progress.failed:
        raise Problem(ended.problem or f"The run did not come to its end; go on with --resume {ended.name!r}.")


def study_of(engine: Engine, name: str) -> Any:
    """The study called `name`."""
    from storage import studies
    from storage.database import reading

    with reading(engine) as session:
        return studies.get(session, name)


def told(run: Any, progress: Any) -> None:
    """How far the run is, on one line that is written over."""
    line = progress.sentence()
    typer.echo(f"\r\033[K{line}" if sys.stderr.isatty() else line, err=True, nl=not sys.stderr.isatty())


@app.command()
@one_sentence
def agreement(
    study: StudyName,
    by: Annotated[By, typer.Option(help="What to split the rows by.")] = By.all,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Agreement between people, and between the judges' first and last opinions."""
    from storage.reports import agreement as report

    engine = opened(database)
    rows = report.rows(engine, study_of(engine, study), by.value)
    say([asdict(row) for row in rows], columns([asdict(row) for row in rows], "No labels yet."), as_json)


@app.command()
@one_sentence
def alignment(
    study: StudyName,
    by: Annotated[Compared, typer.Option(help="What to split the rows by.")] = Compared.all,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """How well each judge agrees with people, beside how well people agree with each other."""
    from storage.reports import alignment as report

    engine = opened(database)
    rows = [asdict(row) for row in report.rows(engine, study_of(engine, study), by.value)]
    say(rows, columns(rows, "No judge has given an opinion yet."), as_json)


@app.command()
@one_sentence
def weights(study: StudyName, database: Database = None, as_json: Json = False) -> None:
    """How far people's aspect weights are apart by rank, and each judge's from theirs (Kendall's distance)."""
    from storage.reports import weights as report

    engine = opened(database)
    rows = [
        {
            "rater_a": one.rater_a,
            "rater_b": one.rater_b,
            "distance": one.distance.value,
            "distance_undefined_as_zero": one.distance_undefined_as_zero,
            "items": one.items,
            "undefined": one.undefined,
        }
        for one in report.rows(engine, study_of(engine, study), resamples=0)
    ]
    say(rows, columns(rows, "No weights yet."), as_json)


@app.command()
@one_sentence
def critiques(
    study: StudyName,
    pairs: Annotated[bool, typer.Option("--pairs", help="Which of two critiques by models is better, by F1.")] = False,
    accuracy: Annotated[bool, typer.Option("--accuracy", help="How often each judge says what people say.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Precision, recall and F1 of each author's critiques, as people and judges see them (MetaCritique)."""
    from storage.reports import critiques as report

    engine = opened(database)
    board = report.board(engine, study_of(engine, study))
    rows = [asdict(row) for row in (board.pairs if pairs else board.accuracies if accuracy else board.rows)]
    shown = [{name: cell for name, cell in row.items() if not name.endswith(("interval", "reason"))} for row in rows]
    say(rows, columns(shown, "No critique has been judged yet."), as_json)


@app.command()
@one_sentence
def export(
    study: StudyName,
    gold: Annotated[Path | None, typer.Option(help="Write the gold labels to this CSV file.")] = None,
    everything: Annotated[Path | None, typer.Option(help="Write the whole study as JSON lines.")] = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Write the area chairs' analyses as instruction-tuning JSON lines.")
    ] = None,
    every_sample: Annotated[
        bool, typer.Option("--every-sample", help="All of a chair's samples, not only the one that stands for them.")
    ] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Take away the gold labels, everything a study holds, or what its area chairs can teach."""
    from core.formats import gold as gold_file
    from core.formats import instruction_tuning, tiebreak
    from storage import labels
    from storage.database import reading
    from storage.transfer import exports
    from storage.transfer import instructions as taught

    if gold is None and everything is None and instructions is None:
        raise Problem("Say what to write: --gold FILE.csv, --everything FILE.jsonl, --instructions FILE.jsonl.")
    engine = opened(database)
    found = study_of(engine, study)
    if gold is not None:
        with reading(engine) as session, writable(gold) as stream:
            gold_file.write(labels.golds(session, found.id), stream)
    if everything is not None:
        with writable(everything) as stream:
            tiebreak.write(exports.records(engine, found), stream)
    if instructions is not None:
        found_examples = taught.of_study(engine, found, every=every_sample)
        first = next(found_examples, None)  # what cannot be had is said before a file is made
        with writable(instructions) as stream:
            instruction_tuning.write([first, *found_examples] if first is not None else [], stream)
    written = [str(path) for path in (gold, everything, instructions) if path is not None]
    say({"study": study, "written": written}, "Wrote " + " and ".join(written), as_json)


def writable(path: Path) -> Any:
    """A text file to write, with the same bytes on every system."""
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}.") from None


def say(value: Any, sentence: str, as_json: bool) -> None:
    """One JSON value for programs, a sentence or a table for people."""
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False) if as_json else sentence)


if __name__ == "__main__":
    app()
