"""New pages are refused with a sentence while few file descriptors are free; labels and open pages go on."""

import errno
import logging
import resource

import pytest
from starlette.testclient import TestClient
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import app
from core import logs
from pages.parts import sockets
from tests.bench.annotators import Annotator
from tests.bench.bench_sessions import open_socket, run_page
from tests.bench.bench_workbench import plant
from tests.browser.conftest import serve, stop_server
from tests.databases import create_database
from tests.pages.visits import prepare_study

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


@pytest.mark.slow
def test_more_sessions_than_descriptors_refuse_no_label_and_write_no_log(tmp_path):
    from storage.db import connections

    url, log = create_database(tmp_path / "tiebreak.db"), tmp_path / "server.log"
    plant(engine := connections.connect(url), 30)
    engine.dispose()
    served = serve(url, log)
    sockets, refused = [], 0
    try:
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (160, 160))
        before = len(log.read_text().splitlines())
        for number in range(45):
            sockets.append(open_socket(served.address, f"annotator {number}"))
            try:
                run_page(sockets[-1])
            except Exception:
                refused += 1
        Annotator(served.address, "annotator x").label_next()
        assert refused > 5
        written = log.read_text()
        assert len(written.splitlines()) - before < 5
        assert "WebSocket" not in written, "it names the address of a browser"
    finally:
        for socket in sockets:
            socket.close()
        stop_server(served)
