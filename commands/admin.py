"""Accounts: `cli.py accounts add|invite|password|disable|enable|change|list|tokens|sessions`."""

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.output import (
    DatabaseUrl,
    Json,
    StudyName,
    find_study,
    format_table,
    open_database,
    print_result,
    record_export,
)

if TYPE_CHECKING:
    from sqlalchemy import Engine


Name = Annotated[str, typer.Argument(help="The name of the annotator.")]
Address = Annotated[str, typer.Option("--address", help="Where people open the server, for the link.")]
Days = Annotated[int | None, typer.Option(min=1, max=3650, help="Days until it expires.")]
Email = Annotated[str | None, typer.Option(help="The address with which an OIDC provider names the person.")]
Administrator = Annotated[
    bool | None,
    typer.Option(
        "--administrator/--ordinary",
        help="Administrators manage accounts and own every study. The first account is one.",
    ),
]
DEFAULT_ADDRESS = "http://127.0.0.1:8501"


def add(
    name: Name,
    administrator: Administrator = None,
    email: Email = None,
    address: Address = DEFAULT_ADDRESS,
    another_person: Annotated[
        bool, typer.Option("--another-person", help="Create it although the name looks like another annotator's.")
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Create an account, and print a link with which the person chooses a password."""
    from storage.accounts import invitations, registry
    from storage.db.connections import writing

    engine = open_database(database, creates=True)  # a server beyond this machine needs an account to start
    if not another_person:
        _check_similar(engine, name)
    with writing(engine) as session:
        account = registry.add(session, name, administrator=bool(administrator), email=email)
        link = invitations.link(address, invitations.create(session, account))
    _print_link(account.name, link, invitations.LIFETIME, as_json)


def _check_similar(engine: "Engine", name: str) -> None:
    """Ask on a terminal, and raise TiebreakError elsewhere, if a new name looks like another annotator's."""
    from core.errors import TiebreakError
    from storage.db.connections import reading
    from storage.labels import merges
    from storage.studies import annotators

    name = annotators.normalize_name(name)
    with reading(engine) as session:
        similar = ", ".join(repr(other) for other in merges.similar_names(session, name))
    if not similar:
        return
    sentence = f"{name!r} is new, and looks like {similar}"
    if not sys.stdin.isatty():
        raise TiebreakError(f"{sentence}: use that name, or add --another-person.")
    typer.confirm(f"{sentence}. Is this another person?", abort=True)


def invite(
    name: Name,
    days: Days = None,
    address: Address = DEFAULT_ADDRESS,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print a new link with which the person chooses a password; earlier links become invalid."""
    from storage.accounts import invitations, registry
    from storage.db.connections import writing

    lifetime = timedelta(days=days) if days else invitations.LIFETIME
    with writing(open_database(database)) as session:
        account = registry.get(session, name)
        link = invitations.link(address, invitations.create(session, account, lifetime))
    _print_link(account.name, link, lifetime, as_json)


def password(name: Name, database: DatabaseUrl = None) -> None:
    """Set a password, read from the terminal or from standard input, and end the account's sessions and tokens."""
    from storage.accounts import registry
    from storage.accounts import registry as passwords
    from storage.db.connections import writing

    terminal = sys.stdin.isatty()
    text = typer.prompt("Password", hide_input=True, confirmation_prompt=True) if terminal else sys.stdin.readline()
    hashed = passwords.hash_password(text.rstrip("\n"))
    with writing(open_database(database)) as session:
        registry.set_password(session, registry.get(session, name).id, hashed)
    typer.echo(f"The password of {name} is set; all sessions and API tokens of the account have ended.")


def disable(name: Name, database: DatabaseUrl = None) -> None:
    """Disable an account, and end its sessions, tokens and invitations. Its labels stay."""
    _set_disabled(name, database, True)
    typer.echo(f"The account of {name} is disabled.")


def enable(name: Name, database: DatabaseUrl = None) -> None:
    """Allow a disabled account to sign in again; its tokens stay revoked."""
    _set_disabled(name, database, False)
    typer.echo(f"The account of {name} is enabled.")


def change(name: Name, administrator: Administrator = None, email: Email = None, database: DatabaseUrl = None) -> None:
    """Change the address for OIDC ("" for none), or who is an administrator."""
    from storage.accounts import registry
    from storage.db.connections import writing

    with writing(open_database(database)) as session:
        account = registry.get(session, name)
        if email is not None:
            registry.set_email(session, account.id, email)
        if administrator is not None:
            registry.set_administrator(session, account.id, administrator)
    typer.echo(f"The account of {name} is changed.")


def list_accounts(database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print all accounts."""
    from storage.accounts import registry
    from storage.db.connections import reading

    with reading(open_database(database)) as session:
        accounts = registry.everybody(session)
    rows = [
        {
            "name": account.name,
            "administrator": account.administrator,
            "email": account.email or "",
            "password": "set" if account.has_password else "not set",
            "state": "disabled" if account.disabled_at else "active",
            "created": _time(account.created_at),
        }
        for account in accounts
    ]
    print_result(rows, format_table(rows, "No accounts: people sign in by name, on this machine only."), as_json)


def tokens(
    name: Name,
    create: Annotated[str | None, typer.Option(help="Create a token with this name, and print it once.")] = None,
    revoke: Annotated[str | None, typer.Option(help="Revoke the token with this name.")] = None,
    days: Days = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the API tokens of an account, or create or revoke one. A token is shown once, when it is created."""
    from storage.accounts import api_tokens, registry
    from storage.db.connections import writing

    with writing(open_database(database)) as session:
        account = registry.get(session, name)
        if revoke is not None:
            api_tokens.revoke(session, account, revoke)
        lifetime = timedelta(days=days) if days else None
        token = None if create is None else api_tokens.create(session, account, create, lifetime)
        session.flush()
        listed = api_tokens.active(session, account)
    if token is not None:
        return print_result({"token": token}, token, as_json)
    rows = [
        {
            "name": one.name,
            "created": _time(one.created_at),
            "expires": _time(one.expires_at),
            "last_used": _time(one.used_at),
        }
        for one in listed
    ]
    print_result(rows, format_table(rows, "No tokens."), as_json)


def sessions(
    name: Annotated[str | None, typer.Argument(help="The name of the annotator. Default: all accounts.")] = None,
    revoke: Annotated[int | None, typer.Option(help="End the session with this number.")] = None,
    revoke_all: Annotated[bool, typer.Option("--revoke-all", help="End all sessions of the account.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the sessions that have not ended, or end some."""
    from core.errors import TiebreakError
    from storage.accounts import logins, registry
    from storage.db.connections import writing

    if revoke_all and name is None:
        raise TiebreakError("Name the account whose sessions end.")
    with writing(open_database(database)) as session:
        account = registry.get(session, name) if name is not None else None
        if revoke is not None:
            logins.revoke(session, revoke, account.id if account else None)
        if revoke_all and account is not None:
            logins.revoke_all(session, account.id)
        listed = logins.active(session, account)
    rows = [
        {
            "number": one.id,
            "account": one.account,
            "signed_in": _time(one.created_at),
            "last_used": _time(one.used_at),
            "address": one.address,
            "browser": one.browser,
        }
        for one in listed
    ]
    print_result(rows, format_table(rows, "No sessions."), as_json)


def _set_disabled(name: str, url: str | None, disabled: bool) -> None:
    from storage.accounts import registry
    from storage.db.connections import writing

    with writing(open_database(url)) as session:
        registry.set_disabled(session, registry.get(session, name).id, disabled)


def _print_link(name: str, link: str, lifetime: timedelta, as_json: bool) -> None:
    sentence = f"{name} can choose a password within {lifetime.days} days, once, under this link:\n{link}"
    print_result({"name": name, "link": link}, sentence, as_json)


def _time(at: datetime | None) -> str:
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M")


# The members of a study and their roles.


def members(
    study: StudyName,
    name: Annotated[str | None, typer.Argument(help="The name of an account whose role is changed.")] = None,
    role: Annotated[
        str | None, typer.Argument(help="owner, researcher, adjudicator, annotator, viewer, or none to remove it.")
    ] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the members of a study, or give an account a role."""
    from core.errors import TiebreakError
    from storage.accounts import access
    from storage.db.connections import writing

    engine = open_database(database)
    stored_study = find_study(engine, study)
    with writing(engine) as session:
        if name is not None:
            if role is None or role not in (*access.Role, "none"):
                raise TiebreakError(f"A role is one of {', '.join(access.Role)}, or none.")
            access.set_role(session, stored_study.id, name, None if role == "none" else access.Role(role))
        rows = [{"name": name, "role": role.value} for name, role in access.members(session, stored_study.id).items()]
    print_result(rows, format_table(rows, "No members: only administrators may open this study."), as_json)


# The audit log.


def audit(
    study: Annotated[str | None, typer.Option("--study", help="Only this study.")] = None,
    action: Annotated[list[str] | None, typer.Option(help="Only this action; repeat it for several.")] = None,
    actor: Annotated[str, typer.Option(help="Only actors whose name contains this.")] = "",
    until: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only until the end of this day (UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest entries, at most this many.")] = 100,
    csv: Annotated[Path | None, typer.Option(help="Write all matching entries to this CSV file.")] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the audit log, newest first: who signed in, saw, exported, decided and changed what."""
    from core.errors import TiebreakError
    from core.formats.tables import csv_text
    from core.formats.text import open_output
    from storage.db import audit as log
    from storage.db.connections import reading

    if unknown := sorted({*(action or ())} - {*log.Action}):
        raise TiebreakError(f"There is no action {unknown[0]!r}; actions: {', '.join(log.Action)}.")
    engine = open_database(database)
    study_id = find_study(engine, study).id if study is not None else None
    wanted = log.Filter(study_id, tuple(action or ()), actor, until.date() if until else None)
    with reading(engine) as session:
        rows = [log.cells(entry) for entry in log.entries(session, wanted, limit=None if csv else limit)]
    if csv is not None:
        with open_output(csv) as stream:
            stream.write(csv_text(log.COLUMNS, [list(row.values()) for row in rows]))
        record_export(engine, study_id, [str(csv)])
        return print_result(
            {"written": str(csv), "entries": len(rows)}, f"Wrote {len(rows):,} entries to {csv}", as_json
        )
    print_result(rows, format_table(rows, "No entries."), as_json)
