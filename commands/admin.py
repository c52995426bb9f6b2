"""Accounts: `cli.py accounts add|invite|password|disable|enable|change|list|tokens|sessions`."""

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from commands import lazy_imports, output
from core.errors import TiebreakError

with lazy_imports():
    from core.formats import tables as data_tables
    from core.formats import text as text_files
    from storage.accounts import access, logins, registry
    from storage.accounts import tokens as account_tokens
    from storage.db import audit as log
    from storage.db import connections
    from storage.studies import annotators


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
    database: output.DatabaseUrl = None,
) -> output.Result:
    """Create an account, and print a link with which the person chooses a password."""
    engine = output.open_database(database, creates=True)  # a server beyond this machine needs an account to start
    if not another_person:
        _check_similar(engine, name)
    with connections.writing(engine) as session:
        account = registry.add(session, name, administrator=bool(administrator), email=email)
        link = account_tokens.link(address, account_tokens.invite(session, account))
    return _link_result(account.name, link, account_tokens.LIFETIME)


def _check_similar(engine: output.Database, name: str) -> None:
    """Ask on a terminal, and raise TiebreakError elsewhere, if a new name looks like another annotator's."""
    name = annotators.normalize_name(name)
    with connections.reading(engine) as session:
        similar = ", ".join(repr(other) for other in annotators.similar_names(session, name))
    if not similar:
        return
    sentence = f"{name!r} is new, and looks like {similar}"
    if not sys.stdin.isatty():
        raise TiebreakError(f"{sentence}: use that name, or add --another-person.")
    typer.confirm(f"{sentence}. Is this another person?", abort=True)


def invite(session: output.Writing, name: Name, days: Days = None, address: Address = DEFAULT_ADDRESS) -> output.Result:
    """Print a new link with which the person chooses a password; earlier links become invalid."""
    lifetime = timedelta(days=days) if days else account_tokens.LIFETIME
    account = registry.get(session, name)
    link = account_tokens.link(address, account_tokens.invite(session, account, lifetime))
    return _link_result(account.name, link, lifetime)


def password(name: Name, engine: output.Database) -> str:
    """Set a password, read from the terminal or from standard input, and end the account's sessions and tokens."""
    terminal = sys.stdin.isatty()
    text = typer.prompt("Password", hide_input=True, confirmation_prompt=True) if terminal else sys.stdin.readline()
    hashed = registry.hash_password(text.rstrip("\n"))
    with connections.writing(engine) as session:
        registry.set_password(session, registry.get(session, name).id, hashed)
    return f"The password of {name} is set; all sessions and API tokens of the account have ended."


def disable(name: Name, session: output.Writing) -> str:
    """Disable an account, and end its sessions, tokens and invitations. Its labels stay."""
    registry.set_disabled(session, registry.get(session, name).id, True)
    return f"The account of {name} is disabled."


def enable(name: Name, session: output.Writing) -> str:
    """Allow a disabled account to sign in again; its tokens stay revoked."""
    registry.set_disabled(session, registry.get(session, name).id, False)
    return f"The account of {name} is enabled."


def change(name: Name, session: output.Writing, administrator: Administrator = None, email: Email = None) -> str:
    """Change the address for OIDC ("" for none), or who is an administrator."""
    account = registry.get(session, name)
    if email is not None:
        registry.set_email(session, account.id, email)
    if administrator is not None:
        registry.set_administrator(session, account.id, administrator)
    return f"The account of {name} is changed."


def list_accounts(session: output.Reading) -> output.Result:
    """Print all accounts."""
    rows = [
        {
            "name": account.name,
            "administrator": account.administrator,
            "email": account.email or "",
            "password": "set" if account.has_password else "not set",
            "state": "disabled" if account.disabled_at else "active",
            "created": _time(account.created_at),
        }
        for account in registry.everybody(session)
    ]
    return output.as_table(rows, "No accounts: people sign in by name, on this machine only.")


def tokens(
    name: Name,
    session: output.Writing,
    create: Annotated[str | None, typer.Option(help="Create a token with this name, and print it once.")] = None,
    revoke: Annotated[str | None, typer.Option(help="Revoke the token with this name.")] = None,
    days: Days = None,
) -> output.Result:
    """Print the API tokens of an account, or create or revoke one. A token is shown once, when it is created."""
    account = registry.get(session, name)
    if revoke is not None:
        account_tokens.revoke(session, account, revoke)
    if create is not None:
        token = account_tokens.create_token(session, account, create, timedelta(days=days) if days else None)
        return {"token": token}, token
    session.flush()
    rows = [
        {
            "name": one.name,
            "created": _time(one.created_at),
            "expires": _time(one.expires_at),
            "last_used": _time(one.used_at),
        }
        for one in account_tokens.active(session, account)
    ]
    return output.as_table(rows, "No tokens.")


def sessions(
    session: output.Writing,
    name: Annotated[str | None, typer.Argument(help="The name of the annotator. Default: all accounts.")] = None,
    revoke: Annotated[int | None, typer.Option(help="End the session with this number.")] = None,
    revoke_all: Annotated[bool, typer.Option("--revoke-all", help="End all sessions of the account.")] = False,
) -> output.Result:
    """Print the sessions that have not ended, or end some."""
    account = registry.get(session, name) if name is not None else None
    if revoke is not None:
        logins.revoke(session, revoke, account.id if account else None)
    if revoke_all:
        if account is None:
            raise TiebreakError("Name the account whose sessions end.")
        logins.revoke_all(session, account.id)
    rows = [
        {
            "number": one.id,
            "account": owner,
            "signed_in": _time(one.created_at),
            "last_used": _time(one.used_at),
            "address": one.address,
            "browser": one.browser,
        }
        for one, owner in logins.active(session, account)
    ]
    return output.as_table(rows, "No sessions.")


def _link_result(name: str, link: str, lifetime: timedelta) -> output.Result:
    sentence = f"{name} can choose a password within {lifetime.days} days, once, under this link:\n{link}"
    return {"name": name, "link": link}, sentence


def _time(at: datetime | None) -> str:
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M")


# The members of a study and their roles.


def members(
    source: output.Source,
    session: output.Writing,
    name: Annotated[str | None, typer.Argument(help="The name of an account whose role is changed.")] = None,
    role: Annotated[
        str | None, typer.Argument(help="owner, researcher, adjudicator, annotator, viewer, or none to remove it.")
    ] = None,
) -> output.Result:
    """Print the members of a study, or give an account a role."""
    if name is not None:
        if role is None or role not in (*access.Role, "none"):
            raise TiebreakError(f"A role is one of {', '.join(access.Role)}, or none.")
        access.set_role(session, source.id, name, None if role == "none" else access.Role(role))
    rows = [{"name": member, "role": own.value} for member, own in access.members(session, source.id).items()]
    return output.as_table(rows, "No members: only administrators may open this study.")


# The audit log.


def audit(
    engine: output.Database,
    study: Annotated[str | None, typer.Option("--study", help="Only this study.")] = None,
    action: Annotated[list[str] | None, typer.Option(help="Only this action; repeat it for several.")] = None,
    actor: Annotated[str, typer.Option(help="Only actors whose name contains this.")] = "",
    until: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only until the end of this day (UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest entries, at most this many.")] = 100,
    csv: Annotated[Path | None, typer.Option(help="Write all matching entries to this CSV file.")] = None,
) -> output.Result:
    """Print the audit log, newest first: who signed in, saw, exported, decided and changed what."""
    if unknown := sorted({*(action or ())} - {*log.Action}):
        raise TiebreakError(f"There is no action {unknown[0]!r}; actions: {', '.join(log.Action)}.")
    study_id = output.find_study(engine, study).id if study is not None else None
    wanted = log.Filter(study_id, tuple(action or ()), actor, until.date() if until else None)
    with connections.reading(engine) as session:
        rows = [log.cells(entry) for entry in log.entries(session, wanted, limit=None if csv else limit)]
    if csv is None:
        return output.as_table(rows, "No entries.")
    with text_files.open_output(csv) as stream:
        stream.write(data_tables.csv_text(log.COLUMNS, [list(row.values()) for row in rows]))
    output.record_export(engine, study_id, [str(csv)])
    return {"written": str(csv), "entries": len(rows)}, f"Wrote {len(rows):,} entries to {csv}"
