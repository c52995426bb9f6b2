"""Options and output of commands: a table or one JSON value, and progress on standard error."""

import atexit
import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Protocol, TypeVar
from weakref import WeakSet

import typer
from typer.core import TyperGroup

from commands import lazy_imports
from core.errors import TiebreakError
from core.wording import NO_CRITERION, NO_SCENARIO, RESERVED, format_p, is_p_value, scenario_of_name

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

with lazy_imports():
    from core.statistics.reports import judges as judge_rules
    from storage.db import audit, connections, errors
    from storage.reports import references
    from storage.studies import studies


Record = TypeVar("Record")


class ShowProgress(Protocol):
    """Called with the number of records that are done, and of all records; `note` is shown after the rate."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


LINE_SECONDS = 5.0  # interval between two lines of progress if there is no terminal


@contextmanager
def progress_bar(label: str, unit: str, *, quiet: bool) -> Iterator[ShowProgress]:
    """Yield a function that shows progress on standard error: a bar on a terminal, otherwise periodic lines."""
    if quiet:
        yield lambda done, total, note="": None
    elif not sys.stderr.isatty():
        yield line_printer(label, unit)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        whole = Column(no_wrap=True)  # in a narrow terminal only the bar becomes shorter
        counts = (MofNCompleteColumn(table_column=whole), TextColumn("{task.fields[rate]}"))
        columns = (TextColumn(label), BarColumn(), *counts, TimeRemainingColumn(table_column=whole))
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(label, total=None, rate="")

            def show(done: int, total: int, note: str = "") -> None:
                speed = bar.tasks[0].speed
                rate = " · ".join(filter(None, (f"{speed:,.1f} {unit}/s" if speed else "", note)))
                bar.update(task, completed=done, total=total, rate=rate)

            yield show


def line_printer(label: str, unit: str) -> ShowProgress:
    """Return a function that prints progress as a line, at most one every LINE_SECONDS and one at the end."""
    next_line = time.monotonic() + LINE_SECONDS

    def show(done: int, total: int, note: str = "") -> None:
        nonlocal next_line
        if time.monotonic() >= next_line or done >= total:
            typer.echo(f"{label}: {done:,} of {total:,} {unit}{f', {note}' if note else ''}", err=True)
            next_line = time.monotonic() + LINE_SECONDS

    return show


def with_reading_lines(records: Iterable[Record], path: Path, *, quiet: bool) -> Iterator[Record]:
    """Yield the records of a file, and print its name at once on a terminal, and their number every LINE_SECONDS."""
    if not quiet and sys.stderr.isatty():
        typer.echo(f"Reading {path}", err=True)
    next_line = time.monotonic() + LINE_SECONDS
    for count, record in enumerate(records, 1):
        yield record
        if not quiet and count % 100 == 0 and time.monotonic() >= next_line:
            typer.echo(f"Reading {path}: {count:,} records", err=True)
            next_line = time.monotonic() + LINE_SECONDS


def format_table(rows: Sequence[Mapping[str, Any]], empty: str) -> str:
    """Return rows as a text table: floats with three decimals, p-values under 0.001 as `< 0.001`, None as a dash.

    `empty` is the text without rows. A row can lack columns of the first one. Without a design of labels there is no
    column of the effective n.
    """
    from tabulate import tabulate

    if not rows:
        return empty
    columns = [name for name in rows[0] if name != "effective" or any(row[name] is not None for row in rows)]
    # tabulate would turn names such as "007" and "1e3" into numbers.
    names = [index for index, column in enumerate(columns) if any(isinstance(row.get(column), str) for row in rows)]
    cells = [[_cell(name, row.get(name)) for name in columns] for row in rows]
    alignment = ["right" if is_p_value(name) else "global" for name in columns]
    return tabulate(cells, columns, floatfmt=".3f", missingval="–", disable_numparse=names, colalign=alignment)


def with_population(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows for a text table: with the column `population` only if some are not of all targets."""
    if any(row["population"] != "all targets" for row in rows):
        return [dict(row) for row in rows]
    return [{name: cell for name, cell in row.items() if name != "population"} for row in rows]


def _cell(column: str, value: Any) -> Any:
    return format_p(value) if is_p_value(column) and isinstance(value, float) else value


def print_result(value: Any, sentence: str, as_json: bool) -> None:
    """Print one JSON value, or the sentence or table."""
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False) if as_json else sentence)


Result = tuple[Any, str]  # the JSON value of a command, and its text
Checked = tuple[Any, str, int]  # and the exit code, 0 if what was checked holds


def as_table(rows: Sequence[Mapping[str, Any]], empty: str) -> Result:
    """Return rows as the result of a command."""
    return rows, format_table(rows, empty)


# Options that several commands share, and the study that they name.

_engines: "WeakSet[Engine]" = WeakSet()
_changed: "WeakSet[Engine]" = WeakSet()  # databases in which the command has stored something

DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database", help="Database URL. Default: TIEBREAK_DATABASE_URL, or sqlite:///tiebreak.db."),
]
Json = Annotated[bool, typer.Option("--json", help="Print only one JSON value.")]
StudyName = Annotated[str, typer.Option("--study", help="The study's name.")]


def check_reference(text: str | None) -> str | None:
    """Return the text of `--reference`; raises TiebreakError if it has not the form of one."""
    if text is not None:
        references.parse(text)
    return text


Reference = Annotated[
    str | None,
    typer.Option(
        callback=check_reference,
        help="Reference of the judges: gold, majority, mean, annotator:NAME, or debate:RUN with people's "
        "decisions on its disputes. Default: gold, or the newest debate if there are no decisions of people.",
    ),
]
Kind = Annotated[
    str | None, typer.Option(help="A kind of judgement, such as preference. Default: the kind with most targets.")
]


def parse_criterion(name: str | None) -> str | None:
    """Return the criterion of `--criterion`, "" for targets without one."""
    return "" if name == NO_CRITERION else name


CriterionName = Annotated[
    str | None,
    typer.Option(
        "--criterion",
        callback=parse_criterion,
        help="Default: the one with most targets, or all. 'all' is all of them, '\"all\"' one that has this name, "
        f"{NO_CRITERION!r} targets without one.",
    ),
]


def parse_scenario(name: str | None) -> str | None:
    """Return the scenario of `--scenario`, "" for the items without one; raises BadParameter for all scenarios."""
    if name in RESERVED and name != NO_SCENARIO:
        raise typer.BadParameter(
            f"Without this option all scenarios are chosen; one that is called {name!r} is written in quotes: "
            f"'\"{name}\"'."
        )
    return None if name is None else scenario_of_name(name)


ScenarioName = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        callback=parse_scenario,
        help=f"Only this scenario, or {NO_SCENARIO!r}: items without one. '\"all\"' is one that is called all.",
    ),
]

ItemNames = Annotated[
    list[str] | None, typer.Option("--item", help="Only the item with this name; the option can be repeated.")
]
Sample = Annotated[int | None, typer.Option(min=1, help="Only this many items, drawn at random with the seed.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Make every call anew, also if its reply is stored from an earlier run.")
]


Abstentions = Annotated[
    Literal["error", "excluded", "tie"], typer.Option(help="How a target without a verdict counts.")
]


def check_rule(option: typer.CallbackParam, value: float) -> float:
    """Return a parameter of the decision rule; raises BadParameter if the rule does not allow the value."""
    try:
        judge_rules.Rule(**{str(option.name): value})
    except TiebreakError as error:
        raise typer.BadParameter(str(error)) from error
    return value


def record_export(engine: "Engine", study_id: int | None, files: Sequence[str]) -> None:
    """Add an export of a study, or of the server, to the audit log."""
    with connections.writing(engine) as session:
        audit.record(session, audit.Action.export, study_id=study_id, files=list(files))


def connect(url: str | None, *, creates: bool = False) -> "Engine":
    """Connect to the database; its connections are closed when the command ends.

    Raises TiebreakError if its file does not exist, unless the command `creates` it: the name may be mistyped.
    """
    full_url = connections.database_url(url)
    missing = None if creates else connections.missing_file(full_url)
    if missing is not None:
        raise TiebreakError(
            f"There is no database file {missing!r}: check --database and TIEBREAK_DATABASE_URL. "
            "The server and `cli.py data import` create a new one."
        )
    engine = connections.connect(full_url)
    _engines.add(engine)
    return engine


@atexit.register
def _close_connections() -> None:
    """Close all connections: the last one of a SQLite database moves its log into the file.

    The command has printed its result, so a further Ctrl+C is ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for engine in list(_engines):
        engine.dispose()


def open_database(url: str | None, *, creates: bool = False) -> "Engine":
    """Connect to the database as `connect` does, migrate it to this version, and print if it was migrated."""
    engine = connect(url, creates=creates)
    if migrated := connections.upgrade(engine):
        typer.echo(migrated, err=True)
    _watch_changes(engine)
    audit.set_process_actor(f"command line ({_user_name()})")
    return engine


def _watch_changes(engine: "Engine") -> None:
    """Note in `_changed` when a transaction that writes is committed."""
    from sqlalchemy import Connection, event

    @event.listens_for(engine, "commit")
    def _note(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            _changed.add(engine)


def _user_name() -> str:
    """Return the name of the operating system's user; in a container there may be none."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def find_study(engine: "Engine", name: str) -> "studies.Study":
    """Return the study called `name`."""
    with connections.reading(engine) as session:
        return studies.get(session, name)


def open_study(url: str | None, name: str) -> "tuple[Engine, studies.Study]":
    """Return the database and the study called `name` in it."""
    engine = open_database(url)
    return engine, find_study(engine, name)


# Parameters that a command gets in place of the options which open them. `to_command` makes these options.

Database = Annotated["Engine", "the database of --database"]
Source = Annotated["studies.Study", "the study of --study"]
Reading = Annotated["Session", "reads the database of --database"]
Writing = Annotated["Session", "changes the database of --database"]
OPENED = (Database, Source, Reading, Writing)


def to_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command for Typer: `function` with options in place of what they open.

    A result is printed as a text, or with --json as JSON; a text is printed; a function without either prints itself.
    """
    own = inspect.signature(function)
    # All options are keyword-only: an option without a default may follow one with a default.
    opened = {name: one.annotation for name, one in own.parameters.items() if one.annotation in OPENED}
    has_result = own.return_annotation in (Result, Checked)
    shared: dict[str, tuple[Any, Any]] = {"database": (DatabaseUrl, None)} if opened else {}
    shared |= {"as_json": (Json, False)} if has_result else {}
    options = [
        inspect.Parameter("study", one.KEYWORD_ONLY, annotation=StudyName)
        if opened.get(name) == Source
        else one.replace(kind=one.KEYWORD_ONLY)
        for name, one in own.parameters.items()
        if opened.get(name, Source) == Source
    ]
    options += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in shared.items()
        if name not in own.parameters
    ]

    def command(**given: Any) -> None:
        arguments = {name: value for name, value in given.items() if name in own.parameters}
        with ExitStack() as sessions:
            if opened:
                arguments |= _open(opened, given, sessions)
            result = function(**arguments)
        if has_result:
            value, text, *code = result
            print_result(value, text, given["as_json"])
            if any(code):
                raise typer.Exit(code[0])
        elif result is not None:
            typer.echo(result)

    command.__doc__ = function.__doc__
    command.__annotations__ = {option.name: option.annotation for option in options}
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return command


def _open(wanted: Mapping[str, Any], given: Mapping[str, Any], sessions: ExitStack) -> dict[str, Any]:
    """Return the parameters of a command that its options open."""
    engine = open_database(given["database"])
    opened: dict[str, Any] = {name: engine for name, kind in wanted.items() if kind == Database}
    opened |= {name: find_study(engine, given["study"]) for name, kind in wanted.items() if kind == Source}
    for kind, session in ((Reading, connections.reading), (Writing, connections.writing)):
        opened |= {name: sessions.enter_context(session(engine)) for name, own in wanted.items() if own == kind}
    return opened


# Errors of a command: one sentence on standard error, and the exit code 2.

INTERRUPTED = 130  # the exit code for Ctrl+C in Typer


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
        except (TiebreakError, typer.TyperException) as error:
            exit_with_error(error.format_message() if isinstance(error, typer.TyperException) else str(error))
        except Exception as error:
            if not isinstance(error, errors.DBAPIError):
                raise
            exit_with_error(errors.describe(error))
        if code == INTERRUPTED:
            ending = "has changes that it had stored before: see the audit log" if _changed else "was not changed"
            exit_with_error(f"Interrupted: the command had not ended. The database {ending}.")
        sys.exit(code)


def exit_with_error(message: str) -> NoReturn:
    """Print a message as one sentence, and exit with 2."""
    sentence = " ".join(message.replace("Value error, ", "").split())  # pydantic's wording
    typer.echo(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}.", err=True)
    sys.exit(2)
