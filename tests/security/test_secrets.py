"""Canary keys and passwords: they reach the provider, and no database, log, export, backup, page or metric."""

import asyncio
import io
import logging
import zipfile

import pytest
from prometheus_client import generate_latest

from core.formats import tiebreak
from core.formats.records import ItemRecord
from core.items import Criterion
from core.llm.limits import Limits
from core.logs import hide_secrets
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec
from pages.parts import resources, routes
from storage.db import audit, backup
from storage.db.connections import reading
from storage.runs import traces
from storage.studies import studies
from storage.transfer import exports
from storage.transfer.bundle import write_bundle
from storage.transfer.exports import export_records, turn_rows
from storage.worker import _launch
from tests import openai_server
from tests.accounts import stored_text
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_study, visit
from tests.provider_faults import chat
from tests.storage.shared import find_traces

CANARY = "canaryq7f3k9"
KEYS = {
    "LAB_API_KEY": f"{CANARY}-lab",
    "OPENAI_API_KEY": f"{CANARY}-provider",
    "HUB_TOKEN": f"{CANARY}-token",
    "TIEBREAK_SECRET": f"{CANARY}-secret-of-at-least-32-characters",
}
REPLIES = {
    "in a reply": chat(text=f"Your key is {KEYS['LAB_API_KEY']}.\n\n1"),
    "in reasoning": chat(message={"reasoning_content": KEYS["LAB_API_KEY"], "content": "1"}),
    "in an error": ({"error": {"message": f"Incorrect API key provided: {KEYS['LAB_API_KEY']}"}}, 401),
    "in another error": ({"error": {"message": f"Bearer {KEYS['LAB_API_KEY']} {KEYS['HUB_TOKEN']}"}}, 400),
    "in a body that is no JSON": (f"<p>{KEYS['LAB_API_KEY']}</p>", 500),
    "in the name of the model": chat() | {"model": KEYS["LAB_API_KEY"]},
    "in a refusal": chat(message={"content": None, "refusal": f"{KEYS['LAB_API_KEY']} is not a question."}),
}
"""Place of the key -> the reply of the provider, with its status if it is not 200."""


@pytest.fixture
def executed(monkeypatch):
    """A study in which a run for each reply has ended; returns the provider."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(Limits.__init__.__kwdefaults__, "backoff", 0.01)
    prepare_study([ItemRecord(item=make_item())])
    engine = resources.engine()
    with reading(engine) as session:
        study = studies.get(session, "s")
    with openai_server.run_server() as server:
        monkeypatch.setenv("TIEBREAK_KEY_ADDRESSES", f"LAB_API_KEY={server.address}")
        for number, (name, reply) in enumerate(REPLIES.items()):
            body, status = reply if isinstance(reply, tuple) else (reply, 200)
            spec = Spec(model=f"judge-{number}-1", address=server.address, key_variable="LAB_API_KEY")
            server.behaviours[spec.model] = {"fault": "raw", "body": body, "status": status}
            settings = PairSettings(judge=Judge(name="judge", spec=spec), criterion=Criterion(name="helpfulness"))
            request = _launch.RunRequest(study, PROTOCOLS["single-judge"], settings, f"key {name}")
            run_id = _launch.create_run(engine, request)
            asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None))
        yield server


@pytest.mark.slow
def test_a_key_reaches_its_provider_and_nothing_else(executed, tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "tiebreak")
    assert any(KEYS["LAB_API_KEY"] in head for head in executed.heads), "the key was used"
    engine = resources.engine()
    with reading(engine) as session:
        study = studies.get(session, "s")
        trace_ids = [trace.id for trace in find_traces(session, traces.Filter(study.id))]
        log = repr([audit.cells(entry) for entry in audit.entries(session, audit.Filter())])
    assert len(trace_ids) == len(REPLIES) and "LAB_API_KEY" in log
    texts = {"database": stored_text(engine), "audit log": log, "metrics": generate_latest(routes.REGISTRY).decode()}
    for name, write in (
        ("study", lambda stream: tiebreak.write(export_records(engine, study), stream)),
        ("turns", lambda stream: exports.write_turns_csv(turn_rows(engine, study), stream)),
    ):
        stream = io.StringIO()
        write(stream)
        texts[name] = stream.getvalue()
    backup.back_up(engine, tmp_path / "backup.db")
    texts["backup"] = (tmp_path / "backup.db").read_bytes().decode("latin-1")
    write_bundle(engine, study, tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        texts["bundle"] = "".join(bundle.read(name).decode("latin-1") for name in bundle.namelist())
    texts["pages"] = "".join(page_text(visit("watch/traces", trace=str(trace_id))) for trace_id in trace_ids[:3])
    texts["page of runs"] = page_text(visit("setup/runs", study="s"))
    texts["log"] = hide_secrets(caplog.text)
    assert texts["study"].count("[key]") > len(REPLIES) and "Your key is [key]" in texts["study"]
    assert [name for name, text in texts.items() if CANARY in text] == []
