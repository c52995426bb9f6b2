"""Options that several commands share, and the study that they name."""

import atexit
import os
import signal
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from weakref import WeakSet

import typer

from core.errors import TiebreakError
from core.wording import NO_CRITERION, NO_SCENARIO, RESERVED, scenario_of_name

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from storage.studies import Study

_engines: "WeakSet[Engine]" = WeakSet()
_changed: "WeakSet[Engine]" = WeakSet()
"""Databases in which the command has stored something."""

DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database", help="Database URL. Default: TIEBREAK_DATABASE_URL, or sqlite:///tiebreak.db."),
]
Json = Annotated[bool, typer.Option("--json", help="Print only one JSON value.")]
StudyName = Annotated[str, typer.Option("--study", help="The study's name.")]


def check_reference(text: str | None) -> str | None:
    """Return the text of `--reference`; raises TiebreakError if it has not the form of one."""
    if text is not None:
        from storage.reports.references import parse

        parse(text)
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


class AbstentionPolicy(StrEnum):
    """How a target without a verdict counts."""

    error = "error"
    excluded = "excluded"
    tie = "tie"


Abstentions = Annotated[AbstentionPolicy, typer.Option(help="How a target without a verdict counts.")]


def check_rule(option: typer.CallbackParam, value: float) -> float:
    """Return a parameter of the decision rule; raises BadParameter if the rule does not allow the value."""
    from core.statistics.reports.decision_rule import Rule

    try:
        Rule(**{str(option.name): value})
    except TiebreakError as error:
        raise typer.BadParameter(str(error)) from error
    return value


def record_export(engine: "Engine", study_id: int | None, files: Sequence[str]) -> None:
    """Add an export of a study, or of the server, to the audit log."""
    from storage import audit
    from storage.database import writing

    with writing(engine) as session:
        audit.record(session, audit.Action.export, study_id=study_id, files=list(files))


def connect(url: str | None, *, creates: bool = False) -> "Engine":
    """Connect to the database; its connections are closed when the command ends.

    Raises TiebreakError if its file does not exist, unless the command `creates` it: the name may be mistyped.
    """
    from storage import database, database_urls

    full_url = database.database_url(url)
    missing = None if creates else database_urls.missing_file(full_url)
    if missing is not None:
        raise TiebreakError(
            f"There is no database file {missing!r}: check --database and TIEBREAK_DATABASE_URL. "
            "The server and `cli.py import` create a new one."
        )
    engine = database.connect(full_url)
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
    from storage import audit, database

    engine = connect(url, creates=creates)
    if migrated := database.upgrade(engine):
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


def describe_changes() -> str:
    """Return a sentence about what a command that was interrupted has stored in the database."""
    if _changed:
        return "The database has changes that it had stored before; the audit log lists them."
    return "The database was not changed."


def _user_name() -> str:
    """Return the name of the operating system's user; in a container there may be none."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def find_study(engine: "Engine", name: str) -> "Study":
    """Return the study called `name`."""
    from storage import studies
    from storage.database import reading

    with reading(engine) as session:
        return studies.get(session, name)


def debate_note(engine: "Engine", study: "Study", reference: str | None) -> list[str]:
    """Return the sentence that the reference is a debate, not labels of people, in a list; empty for any other one."""
    from storage.database import reading
    from storage.reports import references

    with reading(engine) as session:
        return [note] if (note := references.debate_note(session, study.id, reference)) else []


def open_study(url: str | None, name: str) -> "tuple[Engine, Study]":
    """Return the database and the study called `name` in it."""
    engine = open_database(url)
    return engine, find_study(engine, name)
