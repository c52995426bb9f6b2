"""The route /metrics."""

import pytest
from starlette.testclient import TestClient

import app
from pages.parts import resources
from storage.db import connections

LOCAL = "http://127.0.0.1:8501"


@pytest.fixture
def client():
    """A browser on the real application."""
    connections.upgrade(resources.engine())
    return TestClient(app.app, base_url=LOCAL, client=("127.0.0.1", 1))


def test_metrics_have_requests_and_counts(client):
    client.get("/api/label/session")
    text = client.get("/metrics").text
    assert 'tiebreak_request_seconds_count{path="/api/label/session"' in text
    assert "tiebreak_database_up 1.0" in text
    assert "tiebreak_labels_total 0.0" in text


def test_metrics_report_an_unavailable_database(client, tmp_path):
    client.get("/metrics")
    (tmp_path / "home" / "tiebreak.db").unlink()
    assert "tiebreak_database_up 0.0" in client.get("/metrics").text


def test_metrics_are_for_this_machine_only(client):
    remote = TestClient(app.app, base_url=LOCAL, client=("192.0.2.1", 5000))
    assert remote.get("/metrics").status_code == 403
