"""Sessions, invitations and API tokens: what is accepted, and what ends them."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from core.errors import TiebreakError
from storage.accounts import logins, registry, sign_in, tokens
from storage.accounts.registry import Identity
from storage.db.connections import clock, reading, write, writing
from storage.db.tables import ApiTokenRow, InvitationRow, LoginRow
from tests.accounts import add_account, enter, fast_hashes, stored_text
from tests.sessions import read

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)
SIGNED_OUT = Identity(accounts=True)


def identify(engine, cookie):
    return read(engine, logins.identify, cookie)


def identify_token(engine, token):
    return read(engine, tokens.identify, token)


def shift(engine, table, column, delta):
    """Move a time of every row."""
    with writing(engine) as session:
        session.execute(update(table).values({column: clock(session) + delta}))


def test_without_accounts_nobody_is_signed_out(engine):
    assert identify(engine, "") == Identity(accounts=False)
    assert identify_token(engine, "x") == Identity(accounts=False)


def test_an_invented_cookie_is_nobody(engine):
    add_account(engine, "ann")
    enter(engine, "ann")
    for cookie in ("", ".", "x", "x.y", "x" * 5000, "\u00fc.\u00fc"):
        assert identify(engine, cookie) == SIGNED_OUT, cookie


def test_a_token_signed_with_another_secret_is_nobody(engine, monkeypatch):
    add_account(engine, "ann")
    cookie = enter(engine, "ann")
    token = cookie.partition(".")[0]
    assert identify(engine, logins.sign(token, "another secret" * 3)) == SIGNED_OUT
    monkeypatch.setenv("TIEBREAK_SECRET", "a secret of the environment, long enough")
    assert identify(engine, cookie) == SIGNED_OUT
    assert identify(engine, enter(engine, "ann")).actor.name == "ann"
    monkeypatch.setenv("TIEBREAK_SECRET", "short")
    with pytest.raises(TiebreakError, match="at least 32"):
        identify(engine, cookie)


def test_a_revoked_session_is_nobody_and_others_go_on(engine):
    account = add_account(engine, "ann")
    other = add_account(engine, "bob")
    first, second = enter(engine, "ann"), enter(engine, "ann")
    login_id = identify(engine, first).login_id
    with pytest.raises(TiebreakError), writing(engine) as session:
        logins.revoke(session, login_id, other.id)
    write(engine, lambda session: logins.revoke(session, login_id, account.id))
    assert identify(engine, first) == SIGNED_OUT
    assert identify(engine, second).actor.name == "ann"
    with pytest.raises(TiebreakError), writing(engine) as session:
        logins.revoke(session, login_id)
    write(engine, lambda session: logins.revoke_all(session, account.id))
    assert identify(engine, second) == SIGNED_OUT


@pytest.mark.parametrize(
    ("column", "delta"), [("expires_at", timedelta(0)), ("used_at", -logins.IDLE), ("revoked_at", timedelta(days=1))]
)
def test_an_expired_or_idle_session_is_nobody(engine, column, delta):
    add_account(engine, "ann")
    cookie = enter(engine, "ann")
    assert identify(engine, cookie).actor is not None
    shift(engine, LoginRow, column, delta)
    assert identify(engine, cookie) == SIGNED_OUT
    assert read(engine, logins.active) == []


def test_a_new_password_and_a_disabled_account_end_everything(engine):
    account = add_account(engine, "ann")
    token = write(engine, lambda session: tokens.create_token(session, account, "script"))
    cookie = enter(engine, "ann")
    with pytest.raises(TiebreakError, match="wrong"):
        sign_in.change_password(engine, "ann", "not the password", "another password")
    sign_in.change_password(engine, "ann", "correct horse battery", "another password")
    assert identify(engine, cookie) == identify_token(engine, token) == SIGNED_OUT
    token = write(engine, lambda session: tokens.create_token(session, account, "new script"))
    cookie = enter(engine, "ann", "another password")
    invitation = write(engine, lambda session: tokens.invite(session, account))
    write(engine, lambda session: registry.set_disabled(session, account.id, True))
    assert identify(engine, cookie) == identify_token(engine, token) == SIGNED_OUT
    write(engine, lambda session: registry.set_disabled(session, account.id, False))
    assert identify(engine, cookie) == identify_token(engine, token) == SIGNED_OUT
    with pytest.raises(TiebreakError, match="invitation"):
        accept(engine, invitation)


def accept(engine, token, password="a new sentence"):
    hashed = registry.hash_password(password)
    return write(engine, lambda session: tokens.accept(session, token, hashed))


def test_an_invitation_sets_the_password_once(engine):
    with writing(engine) as session:
        account = registry.add(session, "ann")
        earlier = tokens.invite(session, account)
        token = tokens.invite(session, account)
    assert tokens.link("https://lab.example/", token) == f"https://lab.example/account/invitation#{token}"
    with pytest.raises(TiebreakError, match="invitation"):
        accept(engine, earlier)
    with pytest.raises(TiebreakError, match="invitation"):
        accept(engine, "invented")
    assert accept(engine, token).name == "ann"
    assert identify(engine, enter(engine, "ann", "a new sentence")).actor.name == "ann"
    with pytest.raises(TiebreakError, match="invitation"):
        accept(engine, token)


def test_an_invitation_expires(engine):
    with writing(engine) as session:
        token = tokens.invite(session, registry.add(session, "ann"))
    shift(engine, InvitationRow, "expires_at", timedelta(0))
    with pytest.raises(TiebreakError, match="expired"):
        accept(engine, token)


def test_an_api_token_acts_as_its_account_until_it_is_revoked(engine):
    account = add_account(engine, "ann")
    token = write(engine, lambda session: tokens.create_token(session, account, "script"))
    assert token not in stored_text(engine)
    assert identify_token(engine, token).actor.name == "ann"
    assert identify_token(engine, token + "x") == SIGNED_OUT
    with reading(engine) as session:
        identity = tokens.identify(session, token)
        assert logins.is_use_due(session, identity)
    write(engine, lambda session: logins.record_use(session, identity))
    with reading(engine) as session:
        (listed,) = tokens.active(session, account)
        assert not logins.is_use_due(session, tokens.identify(session, token))
    assert listed.name == "script" and listed.used_at is not None
    with pytest.raises(TiebreakError, match="already"), writing(engine) as session:
        tokens.create_token(session, account, "script")
    write(engine, lambda session: tokens.revoke(session, account, "script"))
    assert identify_token(engine, token) == SIGNED_OUT
    with pytest.raises(TiebreakError), writing(engine) as session:
        tokens.revoke(session, account, "script")


def test_an_api_token_expires(engine):
    account = add_account(engine, "ann")
    token = write(engine, lambda session: tokens.create_token(session, account, "script", timedelta(days=1)))
    assert identify_token(engine, token).actor is not None
    shift(engine, ApiTokenRow, "expires_at", timedelta(0))
    assert identify_token(engine, token) == SIGNED_OUT
