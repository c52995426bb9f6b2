"""Passwords and the limits of sign-ins."""

from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import update

from core.errors import TiebreakError
from storage.accounts import logins, registry, sign_in, tokens
from storage.accounts.registry import Actor, Identity
from storage.db.connections import clock, reading, write, writing
from storage.db.tables import ApiTokenRow, InvitationRow, LoginRow, SignInAttemptRow
from storage.studies import annotators
from tests.accounts import FAST, PASSWORD, add_account, enter, fast_hashes, stored_text
from tests.sessions import read
from tests.waiting import at_once

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)


@pytest.fixture
def ann(engine):
    """The account of ann."""
    return add_account(engine, "ann")


def test_hashes_are_argon2id_of_the_recommended_work(monkeypatch):
    monkeypatch.undo()
    stored = registry.hash_password(PASSWORD)
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert registry.verify_password(stored, PASSWORD)
    assert not registry.verify_password(stored, PASSWORD + "x")


FREQUENT = """
1234567890 password12 Password2024! P@ssw0rd123 qwertyuiop12 abcabcabcabc 1q2w3e4r5t6y letmein12345
iloveyou2024 9876543210 Qwerty123! 1qaz2wsx3edc 12345678910 basketball1 administrator adminadmin Welcome@123
Aa@12345678 1122334455 michaeljordan
"""
"""Passwords of published lists of the most frequent ones, with at least ten characters."""


@pytest.mark.parametrize("password", ["", "short", "aaaaaaaaaaaa", "hunter2hunter2", "x" * 1001, *FREQUENT.split()])
def test_weak_passwords_are_refused(password):
    with pytest.raises(TiebreakError):
        registry.hash_password(password)


@pytest.mark.parametrize(
    "password", [PASSWORD, "kitchen table", "xK9#mLp2qRtz", "blue-river-77", "a new sentence", "\u6c34" + "abdgkpwzt"]
)
def test_passwords_of_unusual_words_or_random_characters_are_accepted(password):
    registry.check(password)


def test_an_account_is_an_annotator_and_the_first_one_is_an_administrator(engine):
    with writing(engine) as session:
        annotators.get_or_create_id(session, "Jose\u0301")
        assert not registry.exist(session)
    assert add_account(engine, "Jos\u00e9").administrator
    assert not add_account(engine, "bob").administrator
    assert read(engine, annotators.names) == ["Jos\u00e9", "bob"]
    with pytest.raises(TiebreakError, match="already"):
        add_account(engine, "Jose\u0301")


def test_a_sign_in_gives_a_session_and_no_token_and_no_password_is_stored(engine, ann):
    cookie = enter(engine, " ann ")
    with reading(engine) as session:
        identity = logins.identify(session, cookie)
        assert identity.accounts and identity.actor == Actor("ann", ann.id, administrator=True)
        ((login, name),) = logins.active(session)
    assert (name, login.address, login.browser) == ("ann", "192.0.2.7", "a browser")
    invitation = write(engine, lambda session: tokens.invite(session, ann))
    stored = stored_text(engine)
    assert ann.name in stored
    for secret in (cookie, cookie.partition(".")[0], invitation, PASSWORD):
        assert secret not in stored


def test_an_unknown_name_and_a_disabled_account_are_refused_after_the_same_work(engine, ann, monkeypatch):
    disabled = add_account(engine, "disabled")
    with writing(engine) as session:
        registry.add(session, "without a password")
        registry.set_disabled(session, disabled.id, True)
    hashes = []

    class Counting:
        def verify(self, *words):
            hashes.append(words)
            return FAST.verify(*words)

    monkeypatch.setattr(registry, "_hasher", Counting)
    sentences = set()
    for name in ("ann", "nobody", "", "x" * 500, "without a password", "disabled"):
        with pytest.raises(sign_in.WrongPassword) as error:
            enter(engine, name, PASSWORD if name == "disabled" else "a wrong password")
        sentences.add(str(error.value))
    assert len(hashes) == 6
    assert sentences == {sign_in.WRONG}


def fail(engine, number, name="ann", **place):
    """Fail until the limit, which is reached after this number of attempts."""
    for _ in range(number):
        with pytest.raises(sign_in.WrongPassword):
            enter(engine, name, "wrong password", **place)


def test_a_name_is_refused_after_ten_failures_at_an_address_and_another_name_or_address_is_not(engine, ann):
    add_account(engine, "bob")
    fail(engine, sign_in.MOST_OF_NAME)
    with pytest.raises(sign_in.TooManyAttempts, match="15 minutes"):
        enter(engine, "ann")
    enter(engine, "bob")
    enter(engine, "ann", address="198.51.100.1")  # the person, and not the stranger who failed
    shift(engine, SignInAttemptRow, "at", -sign_in.WINDOW - timedelta(seconds=1))
    enter(engine, "ann")


def test_a_device_that_has_signed_in_is_not_refused_for_failures_at_its_address(engine, ann):
    add_account(engine, "bob")
    device = logins.device_of(enter(engine, "ann"))
    fail(engine, sign_in.MOST_OF_NAME)
    for number in range(sign_in.MOST_OF_ADDRESS - sign_in.MOST_OF_NAME):
        fail(engine, 1, f"name {number}")
    for refused in ({}, {"device": "0" * 64}, {"device": logins.device_of(enter(engine, "bob", address="192.0.2.8"))}):
        with pytest.raises(sign_in.TooManyAttempts):
            enter(engine, "ann", **refused)
    enter(engine, "ann", device=device)
    enter(engine, "ann", device=device, address="203.0.113.5")


def test_guesses_from_a_device_that_has_signed_in_are_limited(engine, ann):
    device = logins.device_of(enter(engine, "ann"))
    for number in range(sign_in.MOST_OF_NAME):
        fail(engine, 1, device=device, address=f"203.0.113.{number}")
    with pytest.raises(sign_in.TooManyAttempts):
        enter(engine, "ann", device=device, address="203.0.113.99")
    enter(engine, "ann")


def test_guesses_of_a_password_from_many_addresses_are_limited_except_where_the_person_was_before(engine, ann):
    enter(engine, "ann", address="2001:db8:1:1::1")
    for number in range(sign_in.MOST_OF_NAME_ELSEWHERE):
        fail(engine, 1, address=f"203.0.113.{number}")
    with pytest.raises(sign_in.TooManyAttempts):
        enter(engine, "ann", address="198.51.100.1")
    enter(engine, "ann", address="2001:db8:1:1::2")  # of the same network


def test_a_success_does_not_clear_the_failures_of_its_name_elsewhere(engine, ann):
    fail(engine, sign_in.MOST_OF_NAME - 1, address="198.51.100.1")
    enter(engine, "ann")
    fail(engine, 1, address="198.51.100.1")
    with pytest.raises(sign_in.TooManyAttempts):
        enter(engine, "ann", address="198.51.100.1")


NAME = "Zo\u00e9 Vie"
SAME = (
    *(NAME, "Zoe\u0301 Vie", "  Zo\u00e9   Vie ", "ZO\u00c9 VIE"),
    *("Zo\u00e9\u00a0Vie", "Zoe\u0301\u3000Vie", "Zo\u00e9\tVie\n"),
)
"""Forms of one name."""


def test_forms_of_a_name_that_find_one_account_are_counted_together(engine):
    add_account(engine, NAME)
    for number in range(sign_in.MOST_OF_NAME):
        fail(engine, 1, SAME[number % len(SAME)])
    for name in SAME:
        with pytest.raises(sign_in.TooManyAttempts):
            enter(engine, name)


def test_a_stolen_session_cannot_be_used_to_guess_the_password(engine, ann):
    for _ in range(sign_in.MOST_OF_NAME):
        with pytest.raises(sign_in.WrongPassword):
            sign_in.change_password(engine, "ann", "a wrong password", "another password")
    with pytest.raises(sign_in.TooManyAttempts):
        sign_in.change_password(engine, "ann", PASSWORD, "another password")
    enter(engine, "ann")


def test_failed_sign_ins_do_not_refuse_a_change_of_the_password(engine, monkeypatch):
    monkeypatch.setattr(sign_in, "MOST_OF_ADDRESS", 5)
    add_account(engine, "ann")
    fail(engine, 5)
    for name in "bcdefg":
        add_account(engine, name)
        with pytest.raises(sign_in.WrongPassword):
            sign_in.change_password(engine, name, "a wrong password", "another password")
    sign_in.change_password(engine, "ann", PASSWORD, "another password")


def test_a_success_clears_the_failures_of_its_name(engine, ann):
    for _ in range(3):
        fail(engine, sign_in.MOST_OF_NAME - 1)
        enter(engine, "ann")


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8:1:2::{}"])
def test_an_address_that_tries_many_names_is_refused(engine, monkeypatch, address):
    monkeypatch.setattr(sign_in, "MOST_OF_ADDRESS", 3)
    add_account(engine, "ann")
    for number in range(3):
        fail(engine, 1, f"name {number}", address=address.format(number))
    with pytest.raises(sign_in.TooManyAttempts):
        enter(engine, "ann", address=address.format(9))
    enter(engine, "ann", address="2001:db8:1:3::1")


def test_attempts_at_the_same_time_do_not_exceed_the_limit(engine, monkeypatch):
    """The limit is in the database, so it also holds over processes."""
    add_account(engine, "ann")
    compared = []
    monkeypatch.setattr(registry, "verify_password", lambda *_: compared.append(1))

    def is_refused(_):
        with pytest.raises((sign_in.TooManyAttempts, sign_in.WrongPassword)) as raised:
            enter(engine, "ann", "wrong password")
        return raised.type is sign_in.TooManyAttempts

    refused = at_once(is_refused, range(16))
    assert (len(compared), sum(refused)) == (10, 6)


@pytest.mark.parametrize("password", [PASSWORD, "1234567890"])  # the second one is refused today
def test_a_hash_of_less_work_is_replaced_at_the_sign_in(engine, ann, monkeypatch, password):
    write(engine, lambda session: registry.change(session, ann.id, password=FAST.hash(password)))
    stronger = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
    monkeypatch.setattr(registry, "_hasher", lambda: stronger)
    enter(engine, "ann", password)
    assert "m=16,t=2" in read(engine, registry.password_hash, ann.id)


@pytest.mark.parametrize("change", ["password", "disabled"])
def test_a_sign_in_during_a_change_of_the_password_fails(engine, ann, monkeypatch, change):
    verify = registry.verify_password

    def change_meanwhile(stored, password):
        matches = verify(stored, password)
        with writing(engine) as session:
            if change == "password":
                registry.set_password(session, ann.id, registry.hash_password("another long password"))
            else:
                registry.set_disabled(session, ann.id, True)
        return matches

    monkeypatch.setattr(registry, "verify_password", change_meanwhile)
    with pytest.raises(sign_in.WrongPassword):
        enter(engine, "ann")
    assert read(engine, logins.active) == []


CLAIMS = {"iss": "https://id.example", "sub": "7", "email": "Ann@Lab.example", "email_verified": True}


def by_claims(engine, **claims):
    cookie = sign_in.sign_in_by_claims(engine, CLAIMS | claims, address="192.0.2.7")
    return read(engine, logins.identify, cookie).actor.name


def test_claims_of_a_provider_find_an_enabled_account_by_its_address_once_and_later_by_subject(engine):
    account = add_account(engine, "ann", email="ann@lab.example")
    for refused in ({"email": None}, {"email": "bob@lab.example"}, {"sub": ""}, {"iss": None}):
        with pytest.raises(TiebreakError):
            by_claims(engine, **refused)
    assert by_claims(engine) == "ann"
    assert by_claims(engine, email="ann.married@lab.example") == "ann"
    with pytest.raises(TiebreakError, match="No account"):  # the address was given to another person
        by_claims(engine, sub="8")
    write(engine, lambda session: registry.set_disabled(session, account.id, True))
    with pytest.raises(TiebreakError):
        by_claims(engine)


def test_an_address_that_is_not_verified_is_not_called_an_address_without_an_account(engine):
    add_account(engine, "ann", email="ann@lab.example")
    for address in ("ann@lab.example", "nobody@lab.example"):  # it tells nobody which addresses have an account
        with pytest.raises(TiebreakError, match=f"not state that it has verified the address '{address}'"):
            by_claims(engine, email=address, email_verified=False)


# Sessions, invitations and API tokens: what is accepted, and what ends them


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


def test_an_invented_cookie_is_nobody(engine, ann):
    enter(engine, "ann")
    for cookie in ("", ".", "x", "x.y", "x" * 5000, "\u00fc.\u00fc"):
        assert identify(engine, cookie) == SIGNED_OUT, cookie


def test_a_token_signed_with_another_secret_is_nobody(engine, ann, monkeypatch):
    cookie = enter(engine, "ann")
    token = cookie.partition(".")[0]
    assert identify(engine, logins.sign(token, "another secret" * 3)) == SIGNED_OUT
    monkeypatch.setenv("TIEBREAK_SECRET", "a secret of the environment, long enough")
    assert identify(engine, cookie) == SIGNED_OUT
    assert identify(engine, enter(engine, "ann")).actor.name == "ann"
    monkeypatch.setenv("TIEBREAK_SECRET", "short")
    with pytest.raises(TiebreakError, match="at least 32"):
        identify(engine, cookie)


def test_a_revoked_session_is_nobody_and_others_go_on(engine, ann):
    other = add_account(engine, "bob")
    first, second = enter(engine, "ann"), enter(engine, "ann")
    login_id = identify(engine, first).login_id
    with pytest.raises(TiebreakError), writing(engine) as session:
        logins.revoke(session, login_id, other.id)
    write(engine, lambda session: logins.revoke(session, login_id, ann.id))
    assert identify(engine, first) == SIGNED_OUT
    assert identify(engine, second).actor.name == "ann"
    with pytest.raises(TiebreakError), writing(engine) as session:
        logins.revoke(session, login_id)
    write(engine, lambda session: logins.revoke_all(session, ann.id))
    assert identify(engine, second) == SIGNED_OUT


@pytest.mark.parametrize(
    ("column", "delta"), [("expires_at", timedelta(0)), ("used_at", -logins.IDLE), ("revoked_at", timedelta(days=1))]
)
def test_an_expired_or_idle_session_is_nobody(engine, ann, column, delta):
    cookie = enter(engine, "ann")
    assert identify(engine, cookie).actor is not None
    shift(engine, LoginRow, column, delta)
    assert identify(engine, cookie) == SIGNED_OUT
    assert read(engine, logins.active) == []


def test_a_new_password_and_a_disabled_account_end_everything(engine, ann):
    token = write(engine, lambda session: tokens.create_token(session, ann, "script"))
    cookie = enter(engine, "ann")
    sign_in.change_password(engine, "ann", PASSWORD, "another password")
    assert identify(engine, cookie) == identify_token(engine, token) == SIGNED_OUT
    token = write(engine, lambda session: tokens.create_token(session, ann, "new script"))
    cookie = enter(engine, "ann", "another password")
    invitation = write(engine, lambda session: tokens.invite(session, ann))
    write(engine, lambda session: registry.set_disabled(session, ann.id, True))
    assert identify(engine, cookie) == identify_token(engine, token) == SIGNED_OUT
    write(engine, lambda session: registry.set_disabled(session, ann.id, False))
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
    for refused in (earlier, "invented"):
        with pytest.raises(TiebreakError, match="invitation"):
            accept(engine, refused)
    assert accept(engine, token).name == "ann"
    assert identify(engine, enter(engine, "ann", "a new sentence")).actor.name == "ann"
    with pytest.raises(TiebreakError, match="invitation"):
        accept(engine, token)


def test_an_invitation_and_an_api_token_expire(engine, ann):
    invitation = write(engine, lambda session: tokens.invite(session, ann))
    token = write(engine, lambda session: tokens.create_token(session, ann, "script", timedelta(days=1)))
    assert identify_token(engine, token).actor is not None
    for table in (InvitationRow, ApiTokenRow):
        shift(engine, table, "expires_at", timedelta(0))
    with pytest.raises(TiebreakError, match="expired"):
        accept(engine, invitation)
    assert identify_token(engine, token) == SIGNED_OUT


def test_an_api_token_acts_as_its_account_until_it_is_revoked(engine, ann):
    token = write(engine, lambda session: tokens.create_token(session, ann, "script"))
    assert token not in stored_text(engine)
    assert identify_token(engine, token).actor.name == "ann"
    assert identify_token(engine, token + "x") == SIGNED_OUT
    with reading(engine) as session:
        identity = tokens.identify(session, token)
        assert logins.is_use_due(session, identity)
    write(engine, lambda session: logins.record_use(session, identity))
    with reading(engine) as session:
        (listed,) = tokens.active(session, ann)
        assert not logins.is_use_due(session, tokens.identify(session, token))
    assert listed.name == "script" and listed.used_at is not None
    with pytest.raises(TiebreakError, match="already"), writing(engine) as session:
        tokens.create_token(session, ann, "script")
    write(engine, lambda session: tokens.revoke(session, ann, "script"))
    assert identify_token(engine, token) == SIGNED_OUT
    with pytest.raises(TiebreakError), writing(engine) as session:
        tokens.revoke(session, ann, "script")
