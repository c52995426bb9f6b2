"""Who watches a trace sees what its judges are writing, and nothing is left of it afterwards."""

import asyncio
import time
from datetime import timedelta

from sqlalchemy import select
from sqlmodel import col

from core.llm import progress
from core.llm.client import ScriptedModel
from storage.db.connections import reading, writing
from storage.db.tables import LiveTraceRow
from storage.runs import live_traces, traces
from storage.worker import _launch, _transactions
from tests.sessions import read, write
from tests.storage.shared import find_traces
from tests.storage.worker.test_worker import execute, make_request


def test_an_open_call_is_stated_while_its_trace_is_watched(engine, a_study, monkeypatch):
    monkeypatch.setattr(_transactions, "LOOK", 0.05)
    monkeypatch.setattr(_transactions, "STATE", 0.05)
    run_id = _launch.create_run(engine, make_request(a_study, parallel=1))
    first, other, *_ = read(engine, find_traces, traces.Filter(a_study.id, run_id))
    write(engine, live_traces.watch, first.id)
    seen: dict[str, set[str]] = {first.item: set(), other.item: set()}

    async def reply(ask):
        """Write as a client does, until a page can read it."""
        end = time.monotonic() + 2.0
        while time.monotonic() < end and not seen[first.item]:
            call = progress.streamed_call(ask)
            if call is not None:
                call.text = f"{ask.speaker} writes \x00"
            await asyncio.sleep(0.05)
            with reading(engine) as session:
                for trace in (first, other):
                    seen[trace.item] |= {one.text for one in live_traces.open_calls(session, trace.id) if one.text}
        return "1"

    run, _ = execute(engine, run_id, ScriptedModel(reply))
    assert run.state == "finished"
    assert seen[first.item] <= {"a writes \ufffd", "b writes \ufffd"} and seen[first.item]
    assert not seen[other.item]  # nobody watches it: its replies are requested as a whole


def test_what_a_killed_worker_stated_is_not_shown_as_open(engine, a_study, monkeypatch):
    run_id = _launch.create_run(engine, make_request(a_study))
    first, second, *_ = read(engine, find_traces, traces.Filter(a_study.id, run_id))
    with writing(engine) as session:
        live_traces.watch(session, first.id)
        live_traces.state(session, {first.id: [progress.OpenCall("a", 0, time.time(), "half")]})
    with reading(engine) as session:
        assert [call.text for call in live_traces.open_calls(session, first.id)] == ["half"]
        monkeypatch.setattr(live_traces, "STATED", timedelta(0))
        assert not live_traces.open_calls(session, first.id)
    monkeypatch.setattr(live_traces, "WATCHED", timedelta(seconds=-1))
    write(engine, live_traces.watch, first.id)
    write(engine, live_traces.watch, second.id)
    with reading(engine) as session:
        assert list(session.scalars(select(col(LiveTraceRow.trace_id)))) == [second.id]
