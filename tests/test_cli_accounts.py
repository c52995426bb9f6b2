"""`cli.py accounts` and `cli.py studies members`."""

import json

import pytest

from storage.accounts import logins, tokens
from storage.db.connections import connect, reading, writing
from storage.studies.studies import get_or_create
from tests.accounts import enter, fast_hashes
from tests.commands import run_command
from tests.databases import create_database

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures(fast_hashes.__name__)]


@pytest.fixture
def url(tmp_path):
    return create_database(tmp_path / "cli.db")


def run(url, *words, input=None):
    return run_command([*words, "--database", url], input=input)


def test_accounts_are_added_listed_changed_and_disabled(url):
    link = json.loads(run(url, "accounts", "add", "ann", "--address", "https://lab.example", "--json").stdout)["link"]
    assert link.startswith("https://lab.example/account/invitation#")
    assert "already" in run(url, "accounts", "add", "ann").stderr
    assert "password" in run(url, "accounts", "password", "ann", input="correct horse battery\n").stdout
    assert run(url, "accounts", "add", "bob", "--email", "bob@lab.example").exit_code == 0
    assert run(url, "accounts", "disable", "bob").exit_code == 0
    listed = json.loads(run(url, "accounts", "list", "--json").stdout)
    rows = [(one["name"], one["administrator"], one["password"], one["state"]) for one in listed]
    assert rows == [("ann", True, "set", "active"), ("bob", False, "not set", "disabled")]
    assert "disabled" in run(url, "accounts", "invite", "bob").stderr
    assert run(url, "accounts", "enable", "bob").exit_code == 0
    assert run(url, "accounts", "invite", "bob", "--days", "2").exit_code == 0
    assert run(url, "accounts", "change", "bob", "--administrator", "--email", "b@lab.example").exit_code == 0
    bob = json.loads(run(url, "accounts", "list", "--json").stdout)[1]
    assert (bob["administrator"], bob["email"]) == (True, "b@lab.example")


def test_sessions_and_tokens_are_listed_and_revoked(url):
    run(url, "accounts", "add", "ann")
    run(url, "accounts", "password", "ann", input="correct horse battery\n")
    cookie = enter(connect(url), "ann", "correct horse battery")
    (listed,) = json.loads(run(url, "accounts", "sessions", "ann", "--json").stdout)
    assert run(url, "accounts", "sessions", "--revoke", str(listed["number"])).stdout.strip() == "No sessions."
    assert "Name the account" in run(url, "accounts", "sessions", "--revoke-all").stderr
    token = run(url, "accounts", "tokens", "ann", "--create", "script").stdout.strip()
    with reading(connect(url)) as session:
        assert logins.identify(session, cookie).actor is None
        assert tokens.identify(session, token).actor.name == "ann"
    assert token not in run(url, "accounts", "tokens", "ann").stdout
    assert run(url, "accounts", "tokens", "ann", "--revoke", "script").stdout.strip() == "No tokens."


def test_members_get_roles_and_lose_them(url):
    with writing(connect(url)) as session:
        get_or_create(session, "s")
    run(url, "accounts", "add", "ann")
    assert json.loads(run(url, "studies", "members", "--study", "s", "ann", "viewer", "--json").stdout) == [
        {"name": "ann", "role": "viewer"}
    ]
    assert "A role is one of owner" in run(url, "studies", "members", "--study", "s", "ann", "king").stderr
    assert "no account" in run(url, "studies", "members", "--study", "s", "bob", "viewer").stderr
    assert "No members" in run(url, "studies", "members", "--study", "s", "ann", "none").stdout


def test_the_audit_log_is_printed_and_written_as_csv(url, tmp_path):
    run(url, "accounts", "add", "ann")
    with writing(connect(url)) as session:
        get_or_create(session, "s")
    run(url, "studies", "members", "--study", "s", "ann", "viewer")
    (row,) = json.loads(run(url, "server", "audit", "--study", "s", "--json").stdout)
    assert (row["action"], row["details"]) == ("role", "account: ann; role: viewer")
    assert row["actor"].startswith("command line (")
    assert len(json.loads(run(url, "server", "audit", "--json").stdout)) == 3
    assert json.loads(run(url, "server", "audit", "--until", "2020-01-31", "--json").stdout) == []
    path = tmp_path / "audit.csv"
    assert "Wrote 1 entries" in run(url, "server", "audit", "--action", "role", "--csv", str(path)).stdout
    assert path.read_text().splitlines()[0] == "at,actor,action,study,address,details"
    assert "There is no action 'x'" in run(url, "server", "audit", "--action", "x").stderr


def test_a_name_that_looks_like_another_one_needs_a_confirmation(url):
    assert run(url, "accounts", "add", "Ren\u00e9").exit_code == 0
    for name in ("rene", "Ren\u0435"):  # without the accent, and with a Cyrillic letter
        refused = run(url, "accounts", "add", name)
        assert refused.exit_code == 2 and "looks like 'Ren\u00e9'" in refused.stderr
    assert "already" in run(url, "accounts", "add", "Rene\u0301").stderr, "the same name in another form"
    assert run(url, "accounts", "add", "rene", "--another-person").exit_code == 0
