"""The workbench's routes on the real application: who may ask, what is answered, what is refused."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import delete
from starlette.testclient import TestClient

import app
from core import own_addresses
from core.formats.records import ItemRecord, StudyRecord
from core.items import Response
from pages.parts import resources
from pages.parts.account_guard import COOKIE
from pages.results.parts import agreement_rows
from storage.db import connections
from storage.db.tables import OpinionRow
from storage.labelling import training
from storage.labelling.context import find_task, open_context
from storage.reports.agreement import TagRow
from storage.transfer import imports
from tests.conftest import make_item
from tests.pages.visits import prepare_copy
from tests.storage.shared import RUN, a_trace

HOST = "http://127.0.0.1:8501"
QUEUE = {"study": "s", "kind": "disagreements"}


@pytest.fixture
def client():
    """A signed-in browser, on a study with 30 disputed debates; the server's worker is not started."""
    prepare_copy(disputed_debates, "gpt_vs_claude/", 30)
    return Browser("annotator 1")


def disputed_debates(prefix, count):
    names = [f"{prefix}{number}" for number in range(count)]
    items = [ItemRecord(item=make_item(name)) for name in names]
    return [StudyRecord(guidelines="Be *fair*."), *items, RUN, *(a_trace(name) for name in names)]


class Browser:
    """Requests as the element sends them."""

    def __init__(self, name):
        self.http = TestClient(app.app, base_url=HOST, client=("127.0.0.1", 1))
        if name is not None:
            self.http.cookies.set(COOKIE, name.replace(" ", "%20"))
        self.session = self.get("session").json() if name else {}
        self.headers = {"origin": HOST, "x-csrf-token": self.session.get("csrf", "")}

    def get(self, path, headers=None, **query):
        return self.http.get(f"/api/label/{path}", params=QUEUE | query, headers=headers)

    def post(self, path, body, headers=None, **query):
        body = {"annotator": self.session.get("annotator", {}).get("key")} | body
        given = {"content-type": "application/json"} | self.headers | (headers or {})
        sent = {name: value for name, value in given.items() if value is not None}
        return self.http.post(f"/api/label/{path}", params=QUEUE | query, content=json.dumps(body), headers=sent)

    def tasks(self, **body):
        return self.post("tasks", {"have": [], "count": 30} | body).json()["tasks"]

    def act(self, *actions, after=0, **more):
        return self.post("actions", {"client": "c-1", "after": after, "actions": list(actions)} | more)


def label(seq, task, value=1, **fields):
    target = task["targets"][0]["id"]
    return {"seq": seq, "type": "label", "task": task["id"], "target": target, "base": "0", "value": value} | fields


def nested(levels):
    return [] if levels == 1 else [nested(levels - 1)]


def test_the_session_has_what_the_element_starts_with_and_tasks_come_in_parts(client):
    session = client.session
    assert session["annotator"]["name"] == "annotator 1" and session["annotator"]["key"].startswith("a-")
    assert (session["study"]["name"], session["kind"], session["title"]) == ("s", "disagreements", "Preferences")
    assert session["guidelines"] == {"version": 1, "read": 0, "format": "markdown", "text": "Be *fair*."}
    assert session["progress"]["total"] == 30
    assert session["history"] == {"undo": [], "redo": [], "tasks": [], "more": False}
    assert session["rules"] == {"reveal": True, "evidence": True, "reason": "optional", "quick": False}
    first = client.post("tasks", {"have": [], "count": 20}).json()
    assert (len(first["tasks"]), first["complete"]) == (20, False)
    rest = client.post("tasks", {"have": [task["id"] for task in first["tasks"]], "count": 20}).json()
    assert (len(rest["tasks"]), rest["complete"]) == (10, True)


def test_links_begin_with_the_path_of_the_server(client, monkeypatch):
    monkeypatch.setattr(own_addresses, "_base", "/tiebreak")
    session = client.get("session").json()
    assert session["study"]["home"] == "/tiebreak/home?study=s"
    [result] = client.act(label(1, client.tasks()[0], guidelines=1)).json()["results"]
    [stance] = result["reveal"]["stances"]
    assert stance["href"].startswith("/tiebreak/traces?study=s&trace=")
    row = TagRow("short", 1, 1, 1, None, None, None, 0, "")
    line = agreement_rows.tag_line(SimpleNamespace(name="s"), row)
    assert line["Reasons"].startswith("/tiebreak/search?study=s&")


def test_nothing_is_revealed_in_a_study_without_opinions(client):
    with connections.writing(resources.engine()) as session:
        session.execute(delete(OpinionRow))
    assert client.get("session").json()["rules"]["reveal"] is False


def test_a_label_is_answered_with_the_reveal_and_the_progress(client):
    task = client.tasks()[0]
    reply = client.act(label(1, task, guidelines=1)).json()
    [result] = reply["results"]
    assert result["status"] == "accepted" and result["reveal"]["stances"][0]["judges"]
    assert reply["progress"]["labelled"] == 1 and reply["stack"] == {"undo": 1, "redo": 0}
    assert "guidelines" not in reply
    assert client.get("session").json()["history"]["undo"][0]["after"]["value"] == 1


def test_nothing_hidden_is_sent_before_the_label(client):
    other = Browser("annotator 2")
    other.act(label(1, other.tasks()[0], 2, reason="a secret of annotator 2"))
    sent = client.get("session").text + client.post("tasks", {"have": [], "count": 30}).text
    task = client.tasks()[0]
    sent += client.get(f"tasks/{task['id']}").text
    words = sent.replace("Which is better for gpt_vs_claude/", "")
    for hidden in ("gpt_vs_claude", "j0", "secret", "annotator 2", "disputed", "stances"):
        assert hidden not in words, hidden


def test_guidelines_that_changed_come_with_the_next_answer(client):
    reply = client.act(label(1, client.tasks()[0], guidelines=0)).json()
    assert reply["guidelines"] == {"version": 1, "format": "markdown", "text": "Be *fair*."}


def test_nobody_and_a_broken_cookie_are_asked_to_sign_in_as_json(client):
    for name in (None, "%00", "x" * 200, "%20"):
        visitor = Browser(None)
        if name is not None:
            visitor.http.cookies.set(COOKIE, name)
        reply = visitor.get("session")
        assert (reply.status_code, reply.json()["error"]) == (401, "signed_out"), name


FROM_ELSEWHERE = [
    ({"x-csrf-token": "wrong"}, 403, "csrf"),
    ({"x-csrf-token": None}, 403, "csrf"),
    ({"x-csrf-token": "\xe4".encode("latin-1")}, 403, "csrf"),
    ({"origin": "http://evil.example"}, 403, "forbidden"),
    ({"origin": "null"}, 403, "forbidden"),
    ({"origin": None}, 403, "forbidden"),
    ({"origin": "http://127.0.0.1:9999"}, 403, "forbidden"),
    ({"host": "evil.example", "origin": "http://evil.example"}, 403, "forbidden"),
    ({"host": "192.0.2.1", "origin": "http://192.0.2.1"}, 403, "forbidden"),
    ({"content-type": "text/plain"}, 400, "invalid"),
]


def test_a_request_from_elsewhere_is_refused_and_stores_nothing(client):
    body = {"client": "c-1", "after": 0, "actions": [label(1, client.tasks()[0])]}
    for headers, status, error in FROM_ELSEWHERE:
        reply = client.post("actions", body, headers=headers)
        assert (reply.status_code, reply.json()["error"]) == (status, error), headers
        assert client.get("session").json()["progress"]["labelled"] == 0
    for header in ({"origin": "http://evil.example"}, {"host": "evil.example"}):
        assert client.get("session", headers=header).status_code == 403, "a read"


def test_actions_of_one_annotator_are_never_filed_under_another(client):
    task, key = client.tasks()[0], client.session["annotator"]["key"]
    other = Browser("annotator 2")
    reply = other.act(label(1, task), annotator=key)
    assert (reply.status_code, reply.json()["error"]) == (409, "other_annotator")
    assert other.session["csrf"] != client.session["csrf"]


def test_missing_actions_are_a_conflict(client):
    reply = client.act(label(9, client.tasks()[0]), after=8)
    assert (reply.status_code, reply.json()["error"]) == (409, "sequence")
    assert client.act(label(9, client.tasks()[0]), after=8, first=True).status_code == 200


NO_ACTIONS = [
    {"actions": []},
    {"actions": "all"},
    {"actions": [1]},
    {"actions": [{}]},
    {"actions": [{"seq": True}]},
    {"actions": [{"seq": 2**40}]},
    {"actions": [{"seq": 1}] * 51},
    {"actions": [{"seq": 1}], "client": ""},
    {"actions": [{"seq": 1}], "after": -1},
    {"actions": [{"seq": 1}], "after": "x"},
    {"actions": [{"seq": 1}], "client": "c\x00"},
    {"actions": [{"seq": 1}], "client": "\ud800"},
    {"actions": [{"seq": 1, "type": "label", "value": nested(900)}]},
    {"actions": [{"seq": 1, "type": "label", "evidence": nested(500)}]},
]
NO_OBJECTS = [b"", b"{", b"[1]", b"\xff", b"[" * 100_000, b'{"a": NaN}', b'{"a": [-Infinity]}', b'{"a": 1e999}']


def test_a_request_that_is_no_list_of_actions_is_one_sentence(client):
    for body in NO_ACTIONS:
        reply = client.post("actions", {"client": "c-1", "after": 0} | body)
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid"), str(body)[:80]
    headers = client.headers | {"content-type": "application/json"}
    for content in NO_OBJECTS:
        reply = client.http.post("/api/label/actions", params=QUEUE, content=content, headers=headers)
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid"), content[:20]


def test_an_action_that_cannot_be_stored_as_it_is_does_not_block_the_others(client):
    one, two = client.tasks()[:2]
    results = client.act({"seq": 1, "type": "explode", "task": one["id"]}, label(2, two)).json()["results"]
    assert [result["status"] for result in results] == ["rejected", "accepted"]
    one, two = client.tasks()[:2]
    results = client.act(label(3, one, reason="a\x00\ud800"), label(4, two), after=2).json()["results"]
    assert [result["status"] for result in results] == ["accepted", "accepted"]


def test_a_large_body_is_refused(client):
    reply = client.act(label(1, client.tasks()[0], reason="x" * 1_100_000))
    assert (reply.status_code, reply.json()["error"]) == (413, "too_large")


def test_a_query_that_no_database_can_compare_is_refused_and_what_is_unknown_is_not_found(client):
    for query in ({"scenario": "a\x00"}, {"criterion": "\x00"}, {"item": "\x00"}, {"run": "2147483648"}, {"run": "-1"}):
        reply = client.post("tasks", {"have": [], "count": 2}, **query)
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid"), query
    for query in ({"study": "none"}, {"kind": "everything"}, {"kind": ""}):
        reply = client.get("session", **query)
        assert (reply.status_code, reply.json()["error"]) == (404, "unknown"), query
    for task in ("t-0000000000000000", "x", "t-..%2f", "1"):
        assert client.get(f"tasks/{task}").status_code == 404, task


def test_presence_renews_a_claim_and_leaving_ends_it(client):
    task = client.tasks()[0]
    assert client.post("presence", {"task": task["id"], "leaving": False}).json() == {"claim": "free"}
    assert client.get(f"tasks/{task['id']}").json()["claim"] == "free"
    client.act(label(1, task) | {"type": "draft"})
    assert client.post("presence", {"task": task["id"], "leaving": False}).json() == {"claim": "mine"}
    assert client.get(f"tasks/{task['id']}").json()["claim"] == "mine"
    client.post("presence", {"task": None, "leaving": True})
    assert client.get(f"tasks/{task['id']}").json()["claim"] == "free"


def test_an_item_after_the_training_is_not_read_or_claimed(client):
    other, known = client.tasks()[:2]
    with connections.writing(resources.engine()) as session:
        work = open_context(session, "disagreements", "s", "annotator 1")
        target = find_task(session, work, known["id"]).target
        training.add_item(session, work.study.id, target, 2)
    for reply in (client.get(f"tasks/{other['id']}"), client.post("presence", {"task": other["id"]})):
        assert (reply.status_code, reply.json()["message"]) == (403, "The training comes first.")
    assert client.get(f"tasks/{known['id']}").status_code == 200


def test_an_image_is_served_by_its_block(client, monkeypatch, tmp_path):
    from PIL import Image

    monkeypatch.setenv("TIEBREAK_MEDIA", str(tmp_path))
    (tmp_path / "s").mkdir()
    Image.new("RGB", (2, 2)).save(tmp_path / "s" / "gpt.png")
    responses = (Response(text="a", image="gpt.png"), Response(text="b", image="missing-gpt.png"))
    item = make_item("pictures", responses=responses)
    imports.import_records(resources.engine(), "s", [ItemRecord(item=item), a_trace("pictures")])
    [task] = [task for task in client.tasks(count=60) if "pictures" in json.dumps(task)]
    urls = [block["image"]["url"] for block in sorted(task["columns"], key=lambda block: block["id"])]
    assert "gpt" not in urls[0]
    assert client.http.get(urls[0]).headers["content-type"] == "image/png"
    missing = client.http.get(urls[1])
    assert missing.status_code == 404 and "gpt" not in missing.text


def test_the_element_s_scripts_are_served_with_their_types(client):
    for name, media_type in (
        ("workbench.js", "javascript"),
        ("panels/choice.js", "javascript"),
        ("workbench.css", "css"),
    ):
        reply = client.http.get(f"/assets/workbench/{name}")
        assert reply.status_code == 200 and media_type in reply.headers["content-type"]
        assert reply.headers["cache-control"] == "no-cache"
    for path in ("../api.py", "..%2fapi.py", "%2e%2e/api.py"):
        assert "def routes" not in client.http.get(f"/assets/workbench/{path}").text


def test_an_unexpected_error_is_one_sentence_without_details(client, monkeypatch, caplog):
    def fail(*_, **__):
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr("storage.labelling.queue_view.progress", fail)
    reply = client.get("session")
    assert (reply.status_code, "secret" in reply.text, "secret" in caplog.text) == (500, False, True)


def test_a_label_is_not_confirmed_when_the_database_file_was_deleted(client):
    task = client.tasks()[0]
    Path(resources.engine().url.database).unlink()
    reply = client.act(label(1, task))
    assert (reply.status_code, reply.json()["error"]) == (503, "unavailable"), "the browser keeps it and sends it again"
    assert "was deleted or replaced" in reply.json()["message"]
