"""The routes /metrics and /ready, and that of images of other hosts: only signed addresses are fetched."""

from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import app
from core import remote_images
from core.formats.records import ItemRecord, StudyRecord, StudyRules
from core.llm.images import Image
from core.remote_images import RemoteImageError
from core.transcripts import Part, Transcript
from pages.parts import account_guard, resources, routes
from storage.accounts import access, registry
from storage.accounts.access import Role
from storage.accounts.registry import Actor, Identity
from storage.db import connections
from storage.studies import studies, transcripts
from storage.studies.study_images import RemoteImages
from storage.transfer import imports
from tests.conftest import make_item
from tests.core.test_remote_images import picture
from tests.pages.visits import study_session
from tests.sessions import read, write

LOCAL = "http://127.0.0.1:8501"


@pytest.fixture
def client():
    """A browser on the real application."""
    connections.upgrade(resources.engine())
    return TestClient(app.app, base_url=LOCAL, client=("127.0.0.1", 1))


def test_metrics_have_counts_or_that_the_database_is_unavailable_for_this_machine_only(client, tmp_path):
    client.get("/api/label/session")
    text = client.get("/metrics").text
    assert 'tiebreak_request_seconds_count{path="/api/label/session"' in text
    assert "tiebreak_database_up 1.0" in text
    assert "tiebreak_labels_total 0.0" in text
    (tmp_path / "home" / "tiebreak.db").unlink()
    assert "tiebreak_database_up 0.0" in client.get("/metrics").text
    remote = TestClient(app.app, base_url=LOCAL, client=("192.0.2.1", 5000))
    assert remote.get("/metrics").status_code == 403


@pytest.fixture
def working_client():
    """A browser on the real application, whose worker is running."""
    connections.upgrade(resources.engine())
    worker = resources.start_worker()
    yield TestClient(app.app, base_url=LOCAL, client=("127.0.0.1", 1))
    worker.stop()


def test_a_server_is_ready_while_its_database_and_its_worker_are(working_client):
    reply = working_client.get("/ready")
    assert (reply.status_code, reply.json()) == (200, {"database": "ok", "worker": "ok"})
    resources._workers[0].stop()
    reply = working_client.get("/ready")
    assert (reply.status_code, reply.json()["database"]) == (503, "ok")
    assert reply.json()["worker"] == "The worker that executes runs is not running."


def test_a_server_whose_database_file_was_deleted_is_not_ready(working_client, tmp_path):
    (tmp_path / "home" / "tiebreak.db").unlink()
    reply = working_client.get("/ready")
    assert reply.status_code == 503
    assert "was deleted or replaced" in reply.json()["database"]


def test_a_server_without_its_own_worker_is_ready(working_client, monkeypatch):
    resources._workers[0].stop()
    monkeypatch.setenv(resources.WORKER_VARIABLE, "off")
    assert working_client.get("/ready").status_code == 200


HOST = "images.example.org"
ADDRESS = f"https://{HOST}/a.png"


@pytest.fixture
def image_client(tmp_path, monkeypatch):
    """A client of the route, on a host whose image b.png cannot be reached."""

    async def fetch(address):
        if address.endswith("b.png"):
            raise RemoteImageError("The image host cannot be reached.")
        return Image("image/png", picture())

    monkeypatch.setattr(routes, "_images", lambda: RemoteImages(tmp_path, fetch))
    connections.upgrade(resources.engine())
    rules = StudyRules(image_hosts=(HOST,))
    imports.import_records(resources.engine(), "s", [StudyRecord(rules=rules), ItemRecord(item=make_item())])
    monkeypatch.setattr(account_guard, "identity_of", lambda _: Identity(accounts=False))
    return TestClient(Starlette(routes=routes.routes()))


def route(address):
    study = read(resources.engine(), studies.get, "s")
    return resources.image_route(study)(address)


def test_a_signed_image_is_served_with_its_type_and_without_rights(image_client):
    response = image_client.get(route(ADDRESS))
    assert (response.status_code, response.content) == (200, picture())
    assert response.headers["content-type"] == "image/png"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    response = image_client.get(route(f"https://{HOST}/b.png"))
    assert (response.status_code, response.json()["message"]) == (404, "The image host cannot be reached.")


@pytest.fixture
def become_stranger(monkeypatch):
    """A function that makes an account without a role the visitor, and returns the id of the study "s"."""

    def sign_in():
        with study_session() as (session, study):
            actor = Actor("stranger", registry.add(session, "stranger").id)
            monkeypatch.setattr(account_guard, "identity_of", lambda _: Identity(accounts=True, actor=actor))
            return study.id

    return sign_in


def test_an_account_without_a_role_in_the_study_is_refused(image_client, become_stranger, monkeypatch):
    study_id = become_stranger()
    assert image_client.get(route(ADDRESS)).status_code == 404
    write(resources.engine(), access.set_role, study_id, "stranger", Role.viewer)
    assert image_client.get(route(ADDRESS)).status_code == 200
    monkeypatch.setattr(account_guard, "identity_of", lambda _: Identity(accounts=True))
    assert image_client.get(route(ADDRESS)).status_code == 404, "nobody is signed in"


def test_a_transcript_is_sent_to_those_who_may_open_its_study(image_client, become_stranger):
    transcript = Transcript(parts=(Part(number=1, kind="text", content="hello"),))
    with study_session() as (session, study):
        transcripts.add_encoded(session, study.id, [transcripts.encode(transcript)])
    address = transcripts.address(study.id, transcript.digest)
    assert image_client.get(address).json() == transcript.model_dump(mode="json")
    assert image_client.get(f"{address}0").status_code == 404
    become_stranger()
    assert image_client.get(address).status_code == 404


def test_other_addresses_and_marks_are_refused(image_client):
    signed = route(ADDRESS)
    for changed in (
        signed.replace("a.png", "c.png"),
        signed[:-1] + ("0" if signed[-1] != "0" else "1"),
        signed.replace("study=1", "study=2"),
        signed.replace("study=1", "study=%C2%B9"),
        f"/images/remote?url={quote(ADDRESS)}",
        "/images/remote",
    ):
        assert image_client.get(changed).status_code == 404, changed
    assert route("https://evil.example/a.png") is None


def test_a_stored_image_in_a_text_is_sent_and_no_other_file(image_client, monkeypatch, tmp_path):
    monkeypatch.setenv("TIEBREAK_MEDIA", str(tmp_path))
    (tmp_path / "s").mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    (tmp_path / "s" / "chart.png").write_bytes(picture())
    (shown,) = remote_images.markdown_images("See ![the chart](chart.png), ![x](javascript:a.png).", ())
    sent = image_client.get(route(shown))
    assert (sent.status_code, sent.content) == (200, picture())
    assert image_client.get(route("a/../../secret.png")).status_code == 404
    assert route("/etc/a.png") is None and route("../secret.png") is None
