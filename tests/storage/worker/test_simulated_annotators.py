"""Simulated annotators: a judge that answers once with the examples of each annotator, on a real HTTP server."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ItemRecord, Record
from core.improvement.comparison import AcceptanceRule
from core.items import Criterion
from core.llm.router import Router
from core.protocols import Judge, registry
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec, TurnCompleted, VerdictReached
from storage.db.connections import reading, write
from storage.improvement import splits
from storage.reports import policy
from storage.reports.alignment import load_data
from storage.reports.policy import PolicyQuery
from storage.reports.signals import Signal
from storage.runs import runs, traces
from storage.studies.studies import Study
from storage.worker import RunRequest, create_run, estimate_run, execute_here
from tests.conftest import make_item, make_label
from tests.openai_server import Server, run_server
from tests.sessions import read
from tests.storage.shared import find_traces, import_study

CRITERION = Criterion(name="helpfulness", definition="Of use.")
ITEMS, ANNOTATORS, EACH = 16, 3, 2


@pytest.fixture
def server() -> Iterator[Server]:
    with run_server() as running:
        yield running


@pytest.fixture
def study(engine: Engine) -> Study:
    """Return a study of which every annotator has labelled every item, half of them held out."""
    records: list[Record] = [CriterionRecord(criterion=CRITERION)]
    for number in range(ITEMS):
        records.append(ItemRecord(item=make_item(f"item {number}", prompt=f"Question <{number}>?")))
        names = [f"annotator {one}" for one in range(1, ANNOTATORS + 1)]
        records += [make_label(1 + number % 2, name, f"item {number}") for name in names]
    return import_study(engine, records)


def split(engine: Engine, study: Study) -> None:
    rule = AcceptanceRule()
    write(engine, lambda session: splits.create(session, study.id, share=0.5, seed=0, rule=rule))


def request(study: Study, address: str = "", **fields: object) -> RunRequest:
    judge = Judge(name="j", spec=Spec(model="m-", address=address or None))
    settings = PairSettings.model_validate(
        {"judge": judge, "criterion": CRITERION, "simulated_annotators": ANNOTATORS, "examples_each": EACH} | fields
    )
    return RunRequest(study, registry.get("single-judge"), settings, "simulated")


def test_each_answer_has_examples_of_development_items_but_never_the_judged_one(
    engine: Engine, study: Study, server: Server
) -> None:
    split(engine, study)
    wanted = request(study, server.address)
    estimate = estimate_run(engine, wanted)
    assert (estimate.calls_at_least, estimate.calls_at_most) == (ANNOTATORS * ITEMS, ANNOTATORS * ITEMS)
    run_id = create_run(engine, wanted)
    asyncio.run(execute_here(engine, run_id, lambda run, progress: None, Router()))
    prompts = ["\n".join(message["content"] for message in body["messages"]) for body in server.bodies]
    parts = read(engine, splits.parts, study.id)
    of_item: Counter[int] = Counter()
    for prompt in prompts:
        shown = {number for number in range(ITEMS) if f"<{number}>" in prompt.partition("End of the examples.")[0]}
        (judged,) = [n for n in range(ITEMS) if f"<{n}>" in prompt.partition("End of the examples.")[2]]
        assert len(shown) == EACH and judged not in shown and prompt.count("People's decision:") == EACH
        assert {parts[f"item {number}"] for number in shown} == {"development"}
        of_item[judged] += 1
    assert of_item == dict.fromkeys(range(ITEMS), ANNOTATORS)
    with reading(engine) as session:
        assert "annotator " not in str(runs.get(session, run_id).settings)
        found = find_traces(session, traces.Filter(study.id, run_id))
        events = {trace.item: [event for _, event in traces.events(session, trace.id)] for trace in found}
    shares = set()
    for of_trace in events.values():
        readings = Counter(event.turn.reading for event in of_trace if isinstance(event, TurnCompleted))
        (verdict,) = [event.verdict for event in of_trace if isinstance(event, VerdictReached)]
        most = [value for value, count in readings.items() if count == max(readings.values())]
        if len(most) > 1:
            assert (verdict.outcome, verdict.value, verdict.opinions[0].confidence) == ("disputed", None, None)
        else:
            share = readings[most[0]] / ANNOTATORS
            shares.add(share)
            assert (verdict.value, verdict.opinions[0].confidence) == (most[0], pytest.approx(share))
    assert len(shares) > 1
    data = load_data(engine, study, "gold")
    with reading(engine) as session:
        offered = policy.available(session, study.id, data, PolicyQuery())
        shown = {one["item"] for own in runs.get(session, run_id).settings["annotator_examples"] for one in own}
        report = policy.report(session, study, data, PolicyQuery())
    assert offered[0] is Signal.simulated and Signal.stated not in offered
    assert report.shown == len(shown) and report.labelled == ITEMS - len(shown)
    assert f"{len(shown)} labelled targets left out that prompts of the judge show" in policy.describe_basis(report)


def test_a_run_of_earlier_settings_draws_its_own_examples(engine: Engine, study: Study) -> None:
    split(engine, study)
    chosen = [[{"item": "item 0", "text": "held out"}]] * ANNOTATORS
    run_id = create_run(engine, request(study, annotator_examples=chosen))
    plain = create_run(engine, request(study, annotator_examples=chosen, simulated_annotators=0))
    with reading(engine) as session:
        examples = runs.get(session, run_id).settings["annotator_examples"]
        assert "annotator_examples" not in runs.get(session, plain).settings
    assert [len(own) for own in examples] == [EACH + 1] * ANNOTATORS and "held out" not in str(examples)


def test_simulated_annotators_need_a_split_and_as_many_annotators(engine: Engine, study: Study) -> None:
    with pytest.raises(TiebreakError, match="need 3 annotators with labels of 3 development items"):
        create_run(engine, request(study))
    split(engine, study)
    with pytest.raises(TiebreakError, match="there are 3"):
        create_run(engine, request(study, simulated_annotators=4))
    for fields in ({"both_orders": True}, {"criteria": (Criterion(name="brevity"),)}):
        with pytest.raises(ValueError, match="simulated annotators are asked in one order"):
            request(study, **fields)
