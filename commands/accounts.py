"""Accounts: `cli.py accounts add|invite|password|disable|enable|change|list|tokens|sessions`."""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import DatabaseUrl, Json, open_database
from commands.output import format_table, print_result

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
    from storage.database import writing

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
    from storage import annotator_merges, annotators
    from storage.database import reading

    name = annotators.normalize_name(name)
    with reading(engine) as session:
        similar = ", ".join(repr(other) for other in annotator_merges.similar_names(session, name))
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
    from storage.database import writing

    lifetime = timedelta(days=days) if days else invitations.LIFETIME
    with writing(open_database(database)) as session:
        account = registry.get(session, name)
        link = invitations.link(address, invitations.create(session, account, lifetime))
    _print_link(account.name, link, lifetime, as_json)


def password(name: Name, database: DatabaseUrl = None) -> None:
    """Set a password, read from the terminal or from standard input, and end the account's sessions and tokens."""
    from storage.accounts import passwords, registry
    from storage.database import writing

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
    from storage.database import writing

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
    from storage.database import reading

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
    from storage.database import writing

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
    from storage.database import writing

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


COMMANDS: dict[str, Callable[..., None]] = {
    "add": add,
    "invite": invite,
    "password": password,
    "disable": disable,
    "enable": enable,
    "change": change,
    "list": list_accounts,
    "tokens": tokens,
    "sessions": sessions,
}


def _set_disabled(name: str, url: str | None, disabled: bool) -> None:
    from storage.accounts import registry
    from storage.database import writing

    with writing(open_database(url)) as session:
        registry.set_disabled(session, registry.get(session, name).id, disabled)


def _print_link(name: str, link: str, lifetime: timedelta, as_json: bool) -> None:
    sentence = f"{name} can choose a password within {lifetime.days} days, once, under this link:\n{link}"
    print_result({"name": name, "link": link}, sentence, as_json)


def _time(at: datetime | None) -> str:
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M")
