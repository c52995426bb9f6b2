"""A protocol from another package, with two criteria, runs from its settings file to gold labels without other changes.

The package is the folder `shorter_and_kinder`; it is installed through an entry point.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from importlib import metadata

import pytest

from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.items import Criterion, Response
from core.llm.client import ScriptedModel
from core.protocols import Protocol, registry
from core.protocols.conformance import check_protocol
from core.protocols.settings_file import load_settings
from core.trace import Ask, completed_turns
from storage.db.connections import reading
from storage.runs import traces
from storage.transfer.gold import GoldOptions, gold_rows
from storage.worker import _launch
from tests.conftest import make_item
from tests.storage.shared import find_traces, import_study

NAME = "shorter-and-kinder"
LOCATION = "tests.storage.worker.shorter_and_kinder:PROTOCOL"


def install(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make `importlib.metadata` list the package's entry point under `name`."""
    entry_point = metadata.EntryPoint(name=name, value=LOCATION, group=registry.GROUP)
    monkeypatch.setattr(
        "core.protocols.registry.metadata.entry_points",
        lambda group: [entry_point] if group == registry.GROUP else [],
    )
    registry._entry_points.cache_clear()


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> Iterator[Protocol]:
    install(monkeypatch, NAME)
    yield registry.get(NAME)
    registry._entry_points.cache_clear()


def reply(ask: Ask) -> str:
    return {"brevity": "1", "kindness": "2"}[ask.criterion]


def test_the_protocol_conforms(protocol: Protocol) -> None:
    settings = load_settings(protocol.example_path(NAME), protocol, criteria=())
    verdict = check_protocol(protocol, make_item(), settings, reply)
    assert (verdict.outcome, verdict.value) == ("agreed", None)
    assert {(o.stage, o.criterion, o.value) for o in verdict.opinions} == {
        ("verdict", "brevity", 1),
        ("verdict", "kindness", 2),
    }


def test_criteria_in_a_settings_file_are_those_of_the_study(protocol: Protocol) -> None:
    brevity = Criterion(name="brevity", definition="Fewer words.")
    settings = load_settings(protocol.example_path(NAME), protocol, criteria=[brevity])
    assert protocol.criteria(settings) == (brevity, Criterion(name="kindness"))


def test_a_protocol_with_two_criteria_runs_and_gives_gold_for_each(engine, protocol) -> None:
    different = [make_item(f"item {n}", responses=(Response(text=f"this {n}"), Response(text="that"))) for n in "abc"]
    a_study = import_study(engine, [ItemRecord(item=item) for item in different])
    request = _launch.request_from_file(engine, a_study, NAME, protocol.example_path(NAME), "two criteria")
    assert _launch.estimate_run(engine, request).calls_at_most == 6
    kindness_replies = iter(["2", "2", "perhaps", "who knows"])
    model = ScriptedModel(lambda ask: next(kindness_replies) if ask.criterion == "kindness" else "1")
    run_id = _launch.create_run(engine, request)
    run, progress = asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, model))
    assert (run.state, run.criterion) == ("finished", "")
    assert (progress.agreed, progress.no_verdict, progress.totals.calls) == (2, 1, 7)
    with reading(engine) as session:
        golds = [row.gold for row in gold_rows(session, a_study, GoldOptions(judges=("two criteria",)))]
        found = find_traces(session, traces.Filter(a_study.id))
        events = [event for _, event in traces.events(session, found[0].id)]
    assert Counter((gold.target.criterion, gold.value, str(gold.source)) for gold in golds) == {
        ("brevity", 1, "judges"): 3,
        ("kindness", 2, "judges"): 2,
    }
    assert Counter(trace.status for trace in found) == {"agreed": 2, "no_verdict": 1}
    assert [turn.criterion for turn in completed_turns(events)] == ["brevity", "kindness"]


def test_two_protocols_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "scaleeval")
    try:
        with pytest.raises(TiebreakError, match="Two protocols are called 'scaleeval'"):
            registry.get("scaleeval")
    finally:
        registry._entry_points.cache_clear()
