"""Every behaviour of a provider ends as data or as a sentence; in a worker on PostgreSQL each way of ending."""

import signal
from contextlib import contextmanager

import pytest

from core.formats.records import ItemRecord
from core.items import Criterion
from core.llm.limits import Limits
from core.llm.router import Router
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec
from storage.db.connections import reading
from storage.runs import runs, traces
from storage.studies import studies
from storage.worker import RunWorker, _launch
from tests import openai_server
from tests.conftest import make_item
from tests.storage.shared import find_traces, import_study
from tests.storage.worker import worker_process
from tests.waiting import wait_for

DATA, SENTENCE = "data", "a sentence"
BACKOFF = 0.02
"""Seconds; with five attempts of each call."""
SHORT, LONG = 0.4, 30.0
"""Time-outs of calls: of those that never end, and of the others, which a busy machine must not end."""
TIMEOUT = 60.0
"""For all runs together: they run at the same time."""


def raw(body, status=200, **headers):
    return {"fault": "raw", "body": body, "status": status, "headers": headers}


BEHAVIOURS = {
    "answers": ({}, DATA),
    "never answers": ({"fault": "timeout"}, SENTENCE),
    "sends one byte at a time": ({"fault": "drip"}, SENTENCE),
    "sends without an end": ({"fault": "endless"}, SENTENCE),
    "drops the connection": ({"fault": "drop"}, SENTENCE),
    "ends in the middle of the body": ({"fault": "cut"}, SENTENCE),
    "sends half of a JSON value": ({"fault": "malformed"}, SENTENCE),
    "closes the connection after the answer": ({"fault": "last answer"}, DATA),
    "limits the rate": ({"fault": "429", "after": 0.01}, SENTENCE),
    "asks for a wait of a day": ({"fault": "429", "after": 86400}, SENTENCE),
    "has used up its quota": ({"fault": "quota"}, SENTENCE),
    "fails with 500": ({"fault": "500"}, SENTENCE),
    "fails with 503": ({"fault": "503"}, SENTENCE),
    "refuses with 400": ({"fault": "400"}, SENTENCE),
    "refuses the key": ({"fault": "401"}, SENTENCE),
    "does not know the model": ({"fault": "404"}, SENTENCE),
    "flags the content": ({"fault": "policy"}, DATA),
    "redirects": (raw("", 302, Location="http://127.0.0.1:1/"), SENTENCE),
    "sends a page to sign in": (raw("<!doctype html><title>Sign in</title>"), SENTENCE),
    "sends an error with status 200": (raw({"error": {"message": "Overloaded", "code": 502}}), SENTENCE),
    "sends an empty body": (raw(""), SENTENCE),
    "sends a list": (raw([]), SENTENCE),
    "sends choices that are a text": (raw({"choices": "1"}), SENTENCE),
    "nests deeply": (raw("[" * 100_000), SENTENCE),
    "sends no choice": ({"fault": "empty"}, SENTENCE),
    "sends seven megabytes": ({"fault": "large", "size": 7 * 2**20}, DATA),
    "sends a compressed bomb": ({"fault": "compressed", "size": 30 * 2**20}, SENTENCE),
    "stops at its length": ({"fault": "length"}, DATA),
    "refuses to judge": ({"fault": "refusal"}, DATA),
    "filters the reply": ({"fault": "filter"}, DATA),
    "does not answer the question": ({"fault": "unreadable"}, DATA),
    "calls a tool": ({"fault": "message", "message": {"content": None, "tool_calls": [{}]}}, DATA),
    "counts no tokens": ({"fault": "usage", "usage": None}, DATA),
    "counts absurdly": ({"fault": "usage", "usage": {"prompt_tokens": 10**30, "completion_tokens": -5}}, DATA),
    "refuses a parameter": ({"fault": "no parameter", "parameter": "max_tokens"}, DATA),
    "refuses JSON": ({"fault": "no parameter", "parameter": "response_format"}, DATA),
}
"""Name -> the fault of every request, and how a trace ends."""
IN_WORKER = (
    *("answers", "flags the content", "counts no tokens"),
    *("never answers", "drops the connection", "fails with 500", "refuses the key", "has used up its quota"),
    *("limits the rate", "asks for a wait of a day"),
)
"""Those that differ where workers share a run: data, failures at once and after attempts, and waits for all calls."""
NEVER_END = ("never answers", "sends one byte at a time", "sends without an end")


def create_runs(engine, server, names) -> dict[str, int]:
    """Create a run of one item for each behaviour, and return its id."""
    study = import_study(engine, [ItemRecord(item=make_item())])
    created = {}
    for number, name in enumerate(names):
        model, (fault, _) = f"judge-{number}-1", BEHAVIOURS[name]
        if fault:
            server.behaviours[model] = fault
        spec = Spec(model=model, address=server.address, timeout=SHORT if name in NEVER_END else LONG)
        settings = PairSettings(judge=Judge(name="judge", spec=spec), criterion=Criterion(name="helpfulness"))
        request = _launch.RunRequest(study, PROTOCOLS["single-judge"], settings, name)
        created[name] = _launch.create_run(engine, request)
    return created


@contextmanager
def in_app(engine):
    worker = RunWorker(engine, Router)
    worker.start()
    try:
        yield
    finally:
        worker.stop()


@contextmanager
def in_worker(engine):
    url = engine.url.render_as_string(hide_password=False)
    process = worker_process.start(url, backoff=BACKOFF)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "execute", "names"),
    [("sqlite", in_app, tuple(BEHAVIOURS)), ("postgresql", in_worker, IN_WORKER)],
    indirect=["engine"],
)
def test_every_behaviour_of_a_provider_ends_as_data_or_as_a_sentence(engine, execute, names, monkeypatch):
    monkeypatch.setitem(Limits.__init__.__kwdefaults__, "backoff", BACKOFF)
    assert len(BEHAVIOURS) >= 30
    with openai_server.run_server() as server:
        created = create_runs(engine, server, names)
        with execute(engine):
            assert wait_for(lambda: not requested(engine), TIMEOUT, pause=0.25), requested(engine)
        ended = {name: end_of(engine, run_id) for name, run_id in created.items()}
    assert {name: end[0] for name, end in ended.items()} == {name: BEHAVIOURS[name][1] for name in names}, ended
    for name, (_, problem) in ended.items():
        assert not any(word in problem for word in ("Traceback", "/tmp/", "sk-abc", "object at 0x")), (name, problem)


def requested(engine) -> list[str]:
    """Return the names of the runs that have not ended."""
    with reading(engine) as session:
        study_id = studies.get(session, "s").id
        return [run.name for run in runs.of_study(session, study_id) if run.state == "requested"]


def end_of(engine, run_id) -> tuple[str, str]:
    """Return how the only trace of a run ended, and its problem."""
    with reading(engine) as session:
        run = runs.get(session, run_id)
        [trace] = find_traces(session, traces.Filter(run.study_id, run_id=run_id))
    assert (run.state, run.problem) == ("finished", "")
    if trace.status == "failed":
        assert 20 < len(trace.problem) < 1000, trace.problem
        return SENTENCE, trace.problem
    assert trace.status in ("agreed", "disputed", "no_verdict")
    return DATA, ""
