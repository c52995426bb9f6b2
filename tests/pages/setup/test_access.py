"""The pages of members and of one's own account."""

import pytest

from core.formats.records import ItemRecord
from pages.parts import account_guard, resources
from storage.accounts import access, logins, registry, tokens
from storage.accounts.access import Role
from storage.accounts.registry import Actor, Identity
from storage.db.connections import reading, write, writing
from storage.studies import studies
from tests.accounts import PASSWORD, add_account, enter, fast_hashes
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_study, study_session, visit

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)


@pytest.fixture
def become(monkeypatch):
    """A function that makes an account the visitor; "ann" is an administrator, "bob" owns the study "s"."""
    prepare_study([ItemRecord(item=make_item("item 0"))])
    engine = resources.engine()
    add_account(engine, "ann")
    add_account(engine, "bob")
    with writing(engine) as session:
        access.set_role(session, studies.get(session, "s").id, "bob", Role.owner)

    def sign_in(name):
        with reading(engine) as session:
            account = registry.get(session, name)
            identity = logins.identify(session, "")
            assert identity.accounts
        cookie = enter(engine, name)
        with reading(engine) as session:
            login_id = logins.identify(session, cookie).login_id
        actor = Actor(name, account.id, account.administrator)
        monkeypatch.setattr(account_guard, "current_identity", lambda: Identity(True, actor, login_id))

    return sign_in


def members():
    with study_session() as (session, study):
        return access.members(session, study.id)


def submit(app, label):
    """Press the button of a form."""
    return next(button for button in app.button if button.label == label).click().run()


def test_an_owner_invites_a_person_with_a_role_and_changes_it(become):
    become("bob")
    app = visit("setup/access", study="s")
    app.text_input(key="invited").set_value("cem")
    app.selectbox(key="invited_role").set_value(Role.viewer)
    app = submit(app, "Create a link")
    (link,) = [code.value for code in app.code]
    token = link.partition("#")[2]
    assert "/account/invitation#" in link and members() == {"bob": Role.owner, "cem": Role.viewer}
    hashed = registry.hash_password("a new sentence")
    assert write(resources.engine(), lambda session: tokens.accept(session, token, hashed)).name == "cem"
    app.selectbox(key="member").set_value("cem")
    app.selectbox(key="role").set_value(Role.researcher)
    app = submit(app, "Save")
    assert not app.error
    assert members()["cem"] is Role.researcher


def test_an_owner_cannot_replace_the_password_of_an_account_and_an_administrator_can(become):
    for name in ("bob", "ann"):
        become(name)
        app = visit("setup/access", study="s")
        app.text_input(key="invited").set_value("ann")
        app = submit(app, "Create a link")
        assert ("has an account" in page_text(app)) == (name == "bob")
        assert len(app.code) == (name == "ann")


def test_a_person_changes_the_password_ends_sessions_and_makes_tokens(become):
    become("bob")
    other = enter(resources.engine(), "bob")
    app = visit("setup/account")
    app.text_input(key="token_name").set_value("script")
    app = submit(app, "Create a token")
    (code,) = app.code
    with reading(resources.engine()) as session:
        assert tokens.identify(session, code.value).actor.name == "bob"
        login_id = logins.identify(session, other).login_id
    app = app.button(key=f"end_{login_id}").click().run()
    app = submit(app, "Revoke")
    with reading(resources.engine()) as session:
        assert logins.identify(session, other).actor is None
        assert tokens.identify(session, code.value).actor is None
    for field, text in (("current", PASSWORD), ("new", "another password"), ("again", "another password")):
        app.text_input(key=field).set_value(text)
    app = submit(app, "Change password")
    assert not app.error
    enter(resources.engine(), "bob", "another password")


def test_without_accounts_the_pages_say_so():
    prepare_study([ItemRecord(item=make_item("item 0"))])
    assert "has no accounts" in page_text(visit("setup/access"))
    assert "has no accounts" in page_text(visit("setup/account"))


def test_only_an_administrator_imports_from_a_path_on_the_server(become):
    for name in ("bob", "ann"):
        become(name)
        app = visit("setup/inputs", study="s")
        offered = [option for group in app.segmented_control for option in group.options]
        assert ("Path on this machine" in offered) == (name == "ann")


def test_a_name_that_looks_like_another_one_is_asked_about_before_an_account_is_created(become):
    become("bob")
    app = visit("setup/access", study="s")
    app.text_input(key="invited").set_value("B\u043eb")  # the Cyrillic letter
    app = submit(app, "Create a link")
    assert "looks like “bob”" in page_text(app) and not app.code and list(members()) == ["bob"]
    app.text_input(key="invited").set_value("cem")
    app = submit(app, "Create a link")
    assert not app.warning and len(app.code) == 1
    app.text_input(key="invited").set_value("B\u043eb")
    app = submit(app, "Create a link").button(key="another_person").click().run()
    assert not app.warning and len(app.code) == 1 and "B\u043eb" in members()
