"""A study is renamed, archived or deleted while a window labels in it: nothing that was entered is lost."""

import json
import re

import pytest

from pages.parts import resources, shell
from pages.parts.account_guard import SESSION_COOKIE
from storage.accounts import access, registry
from storage.accounts.registry import Actor
from storage.db import connections
from storage.studies import studies
from storage.transfer import deletions
from tests.accounts import add_account, enter, fast_hashes
from tests.pages.label.test_api import Browser, disputed_debates, label
from tests.pages.visits import prepare_copy, visit
from tests.sessions import write

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)


@pytest.fixture
def client():
    """A signed-in browser, on a study with three disputed debates."""
    prepare_copy(disputed_debates, "item ", 3)
    return Browser("annotator 1")


STUDY = 1
"""The id of the only study that the fixture creates."""


def change(operation, *arguments):
    return write(resources.engine(), operation, STUDY, *arguments)


def test_the_element_sends_the_study_by_its_id():
    script = (shell.PAGES / "label/workbench/workbench.js").read_text()
    (sent,) = re.findall(r"^const QUEUE = (.*);$", script, re.M)
    assert {"study", "study_id", "kind"} <= set(json.loads(sent)), "other names of its query are not sent"


def test_a_window_continues_after_its_study_was_renamed_also_if_another_study_has_the_name(client):
    first, second = client.tasks()[:2]
    change(studies.rename, "renamed")
    assert client.act(label(1, first)).json()["results"][0]["status"] == "accepted", "the name leads to the study"
    write(resources.engine(), studies.get_or_create, "s")
    own = {"study_id": str(STUDY)}
    assert client.get("session", **own).json()["study"]["name"] == "renamed"
    body = {"client": "c-1", "after": 1, "actions": [label(2, second)]}
    assert client.post("actions", body, **own).json()["results"][0]["status"] == "accepted"
    assert client.get("session").json()["study"]["id"] != STUDY, "without the id the name counts"


def test_labels_of_an_archived_study_are_stored_and_its_other_items_are_not_offered(client):
    task = client.tasks()[0]
    change(studies.archive)
    sentence = "The study 's' was archived: its items are not offered now."
    stored = client.act(label(1, task)).json()
    assert (stored["results"][0]["status"], stored["archived"]) == ("accepted", sentence), "the window stops after it"
    reply = client.post("tasks", {"have": [], "count": 30})
    assert (reply.status_code, reply.json()["error"], reply.json()["message"]) == (410, "archived", sentence)
    change(studies.archive, False)
    assert "archived" not in client.act(label(2, client.tasks()[0]), after=1).json()


def test_labels_of_a_deleted_study_are_stored_after_it_was_restored(client):
    task, own = client.tasks()[0], {"study_id": str(STUDY)}
    change(deletions.delete_study)
    body = {"client": "c-1", "after": 0, "actions": [label(1, task)]}
    for query in ({}, own):
        reply = client.post("actions", body, **query)
        assert (reply.status_code, reply.json()["error"]) == (410, "deleted")
        assert "The study 's' was deleted. An owner can restore it until 2" in reply.json()["message"]
    change(deletions.restore_study)
    assert client.post("actions", body, **own).json()["results"][0]["status"] == "accepted"


def test_nobody_learns_of_a_study_without_a_role_in_it(client):
    change(studies.rename, "renamed")
    with connections.writing(resources.engine()) as session:
        registry.add(session, "owner")
        registry.add(session, "annotator 1")
        actor = Actor("annotator 1", registry.get(session, "annotator 1").id)
        assert deletions.find_former(session, actor, "s") is None
        assert deletions.find_former(session, actor, "", STUDY) is None


@pytest.mark.parametrize("page", ["results/overview", "label/disagreements"])
def test_an_open_page_follows_a_renamed_study_and_states_that_a_study_was_deleted(client, page):
    write(resources.engine(), studies.get_or_create, "another, newer study")
    opened = visit(page, "annotator 1", study="s")
    change(studies.rename, "renamed")
    opened.run()
    assert opened.session_state["study"] == "renamed"
    assert "“s” is now named “renamed”" in opened.toast[0].value
    change(deletions.delete_study)
    opened.run()
    assert "The study 'renamed' was deleted." in opened.error[0].value
    followed = visit(page, "annotator 1", study="s")
    assert "was deleted" in followed.error[0].value, "a former link"


def test_a_removed_member_learns_it_only_in_a_window_that_was_opened_with_a_role(client):
    """Without the token of such a window, the study does not exist for somebody without a role."""
    task, own = client.tasks()[0], {"study_id": str(STUDY)}
    body = {"client": "c-1", "after": 0, "actions": [label(1, task)]}
    engine = resources.engine()
    add_account(engine, "administrator")
    add_account(engine, "annotator 1")
    client.http.cookies.set(SESSION_COOKIE, enter(engine, "annotator 1"))

    def answers(**headers):
        return [client.post("actions", body, headers=headers, **own), client.get("history", headers=headers, **own)]

    for reply in answers(**{"x-csrf-token": client.session["csrf"]}):
        assert (reply.status_code, reply.json()["error"]) == (403, "removed")
        assert reply.json()["message"] == "You are no longer a member of this study."
    for reply in answers(**{"x-csrf-token": "0" * 32}):
        assert (reply.status_code, reply.json()["error"]) == (404, "unknown")
    assert client.get("history", study_id="99").json()["error"] == "unknown"
    change(access.set_role, "annotator 1", access.Role.annotator)
    assert client.post("actions", body, **own).json()["results"][0]["status"] == "accepted", "sent again"
