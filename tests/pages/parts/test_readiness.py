"""The route /ready reports the database and the worker."""

import pytest
from starlette.testclient import TestClient

import app
from core.formats.records import ItemRecord
from pages.parts import resources
from storage.db import connections
from storage.runs import calls, runs
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item


@pytest.fixture
def client():
    """A browser on the real application, whose worker is running."""
    connections.upgrade(resources.engine())
    worker = resources.start_worker()
    yield TestClient(app.app, base_url="http://127.0.0.1:8501", client=("127.0.0.1", 1))
    worker.stop()


def test_a_server_is_ready_while_its_database_and_its_worker_are(client):
    reply = client.get("/ready")
    assert (reply.status_code, reply.json()) == (200, {"database": "ok", "worker": "ok"})


def test_a_server_without_its_worker_is_not_ready(client):
    resources._workers[0].stop()
    reply = client.get("/ready")
    assert (reply.status_code, reply.json()["database"]) == (503, "ok")
    assert reply.json()["worker"] == "The worker that executes runs is not running."


def test_a_server_whose_database_file_was_deleted_is_not_ready(client, tmp_path):
    (tmp_path / "home" / "tiebreak.db").unlink()
    reply = client.get("/ready")
    assert reply.status_code == 503
    assert "was deleted or replaced" in reply.json()["database"]


def test_a_server_without_its_own_worker_needs_one_that_is_connected(postgres_engine, monkeypatch):
    monkeypatch.setenv(resources.WORKER_VARIABLE, "off")
    monkeypatch.setattr(resources, "engine", lambda: postgres_engine)
    client = TestClient(app.app, base_url="http://127.0.0.1:8501", client=("127.0.0.1", 1))
    assert client.get("/ready").status_code == 200  # people can label, and no run waits
    imports.import_records(postgres_engine, "s", [ItemRecord(item=make_item())])
    with connections.writing(postgres_engine) as session:
        study = studies.get(session, "s")
        runs.create(session, study.id, "waiting", protocol="scaleeval", criterion="", settings={}, prompts={})
    reply = client.get("/ready")
    assert (reply.status_code, reply.json()) == (503, {"database": "ok", "worker": resources.NO_WORKER})
    with connections.writing(postgres_engine) as session:
        worker = calls.register_worker(session, "a worker")
    assert client.get("/ready").status_code == 200
    with connections.writing(postgres_engine) as session:
        calls.remove_worker(session, worker)
