"""What ends under an open page: the session, by time, and the connections to a database that is restarted."""

import pytest
from sqlalchemy import func, select, update

from storage.accounts import logins
from storage.db.connections import clock, connect, reading, upgrade, writing
from storage.db.tables import LabelRow, LoginRow
from storage.transfer import imports
from tests.accounts import add_account
from tests.browser.conftest import disputed, serve, start, stop_server
from tests.browser.test_proxy import sign_in

pytestmark = pytest.mark.browser
STUDY = "labelled"
READY = "label-workbench[data-phase=working]"


@pytest.fixture(scope="module")
def served(postgres, tmp_path_factory):
    """A server on PostgreSQL with a study and the account of ann, who has signed in."""
    url = postgres.url(postgres.create())
    engine = connect(url)
    upgrade(engine)
    imports.import_records(engine, STUDY, disputed(12))
    add_account(engine, "ann")
    server = serve(url, tmp_path_factory.mktemp("server") / "server.log")
    yield server, engine, postgres
    stop_server(server)
    engine.dispose()


def count(engine):
    with reading(engine) as session:
        return session.scalar(select(func.count(LabelRow.id)))


def wait_for_labels(page, engine, number):
    for _ in range(400):
        if count(engine) == number:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{count(engine)} labels, not {number}")


def label(page, first=True):
    if not first:
        page.keyboard.press("Enter")  # on from what the label before has revealed
        page.wait_for_timeout(500)
    start(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")


def test_a_session_that_expires_by_time_keeps_the_label_until_the_next_sign_in(served, visit):
    server, engine, _ = served
    before = count(engine)
    page = visit(f"{server.address}/disagreements?study={STUDY}")
    sign_in(page)
    label(page)
    wait_for_labels(page, engine, before + 1)
    with writing(engine) as session:
        session.execute(update(LoginRow).values(used_at=clock(session) - logins.IDLE))
    label(page, first=False)
    page.get_by_role("link", name="Sign in").or_(page.get_by_label("Password")).first.wait_for()
    assert count(engine) == before + 1
    page.goto(f"{server.address}/disagreements?study={STUDY}")
    sign_in(page)
    page.locator(READY).wait_for()
    wait_for_labels(page, engine, before + 2)


def test_labels_and_pages_go_on_after_postgresql_was_restarted_under_open_browsers(served, visit):
    server, engine, postgres = served
    before = count(engine)
    page = visit(f"{server.address}/disagreements?study={STUDY}")
    sign_in(page)
    label(page)
    other = page.context.new_page()
    other.goto(f"{server.address}/traces?study={STUDY}")
    other.get_by_role("heading").first.wait_for()
    wait_for_labels(page, engine, before + 1)
    engine.dispose()
    postgres.restart(0.0)
    label(page, first=False)
    wait_for_labels(page, engine, before + 2)
    other.get_by_role("link", name="People", exact=True).first.click()
    other.get_by_role("heading", name="Agreement").first.wait_for()
    assert other.get_by_text("details are in the server's log").count() == 0
    other.close()
