"""New pages are refused with a sentence while few file descriptors are free; labels and open pages go on."""

import errno
import logging
import resource
from contextlib import ExitStack

import httpx
import pytest
from starlette.testclient import TestClient
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

import app
from core import logs
from pages.parts import sockets
from storage.db import connections
from tests.browser.conftest import serve, stop_server
from tests.databases import create_database
from tests.pages.visits import prepare_study
from tests.storage.shared import debates

HOST = "http://127.0.0.1:8501"


def free(monkeypatch, number, limit=1024):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    monkeypatch.setattr(sockets, "count_open", lambda: limit - number)


def test_a_page_is_refused_with_a_sentence_while_requests_and_open_pages_are_answered(monkeypatch):
    prepare_study([])
    client = TestClient(app.app, base_url=HOST, client=("127.0.0.1", 1), headers={"origin": HOST})
    page = {"accept": "text/html"}
    free(monkeypatch, 255)
    assert client.get("/runs", headers=page).text == sockets.FULL
    assert client.get("/account/sign-in", headers=page, follow_redirects=False).status_code == 303
    assert not sockets.is_full(0.5), "an open page may connect again"
    free(monkeypatch, 256)
    assert client.get("/runs", headers=page).status_code == 200
    free(monkeypatch, 127)
    with client.websocket_connect("/_stcore/stream", headers={"host": "127.0.0.1:8501"}) as socket:
        assert ForwardMsg.FromString(socket.receive_bytes()).WhichOneof("type") == "auth_redirect"


def test_the_limit_is_raised_as_far_as_the_system_allows_it(monkeypatch):
    for before, expected in (((1024, 524_288), 65_536), ((1024, 4096), 4096), ((100_000, 100_000), None)):
        found = []
        monkeypatch.setattr(resource, "getrlimit", lambda _, before=before: before)
        monkeypatch.setattr(resource, "setrlimit", lambda _, limits, found=found: found.append(limits[0]))
        sockets.raise_limit()
        assert found == ([] if expected is None else [expected])


def test_errors_without_a_free_descriptor_are_one_line_a_minute(monkeypatch):
    passed = logs._RareDescriptorErrors()
    full, other = OSError(errno.EMFILE, "Too many open files"), OSError(errno.EPIPE, "Broken pipe")

    def lines(error, number):
        records = [
            logging.LogRecord("asyncio", logging.ERROR, "", 0, "accept", None, (OSError, error, None))
            for _ in range(number)
        ]
        return sum(map(passed.filter, records))

    monkeypatch.setattr(logs.time, "monotonic", lambda: 100.0)
    assert (lines(full, 1000), lines(other, 3)) == (1, 3)
    monkeypatch.setattr(logs.time, "monotonic", lambda: 161.0)
    assert lines(full, 1000) == 1


def open_socket(address, annotator):
    """Return a connection on which the server runs pages as for the browser of an annotator."""
    return connect(
        address.replace("http", "ws") + "/_stcore/stream",
        origin=address,
        additional_headers={"Cookie": f"tiebreak_annotator={annotator}"},
        subprotocols=["streamlit"],
        max_size=None,
    )


def run_page(socket):
    """Let the server run the page of disagreements, and wait until it has sent everything."""
    message = BackMsg()
    message.rerun_script.query_string = "study=s"
    message.rerun_script.page_name = "disagreements"
    socket.send(message.SerializeToString())
    while ForwardMsg.FromString(socket.recv(60.0)).WhichOneof("type") != "script_finished":
        pass


def label(address, annotator):
    """Label a task through the routes of the page, and return the result."""
    with httpx.Client(base_url=address, cookies={"tiebreak_annotator": annotator}) as client:
        query = {"study": "s", "kind": "disagreements"}
        session = client.get("/api/label/session", params=query).json()
        client.headers.update({"Origin": address, "X-CSRF-Token": session["csrf"]})
        who = {"annotator": session["annotator"]["key"]}
        found = client.post("/api/label/tasks", params=query, json={"have": [], "count": 1, **who}).json()
        task = found["tasks"][0]
        about = {"task": task["id"], "target": task["targets"][0]["id"], "base": task["targets"][0]["version"]}
        action = {"seq": 1, "type": "label", **about, "value": 1, "reason": "", "evidence": [], "seconds": 1.0}
        sent = {"client": "c", "after": 0, "first": True, "actions": [action], **who}
        return client.post("/api/label/actions", params=query, json=sent).json()["results"][0]


@pytest.mark.slow
def test_more_sessions_than_descriptors_refuse_no_label_and_write_no_log(tmp_path):
    url, log = create_database(tmp_path / "tiebreak.db"), tmp_path / "server.log"
    engine = connections.connect(url)
    debates(engine, 3)
    engine.dispose()
    served = serve(url, log)
    refused = 0
    try:
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (160, 160))
        before = len(log.read_text().splitlines())
        with ExitStack() as opened:
            for number in range(45):
                try:
                    run_page(opened.enter_context(open_socket(served.address, f"annotator-{number}")))
                except WebSocketException:
                    refused += 1
            assert label(served.address, "annotator-x")["status"] == "accepted"
        assert refused > 5
        written = log.read_text()
        assert len(written.splitlines()) - before < 5
        assert "WebSocket" not in written, "it names the address of a browser"
    finally:
        stop_server(served)
