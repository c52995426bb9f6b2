import asyncio
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from core.errors import PermanentFailure
from core.formats.records import ItemRecord
from core.items import Criterion, Response
from core.labels import Scale
from core.llm.client import Reply, ScriptedModel
from core.llm.router import Router
from core.protocols import Judge, registry
from core.protocols.single_judge.settings import ScoreSettings
from core.trace import Ask, Spec, TurnCompleted, Usage
from storage.db.connections import reading, writing
from storage.db.tables import CallRow, PendingCallRow
from storage.runs import calls, claims, outcomes, runs, traces
from storage.studies.items import ItemSelection
from storage.studies.studies import Study
from storage.worker import RunRequest, create_run, execute_here, resume_run
from storage.worker._stored_calls import StoredCalls
from tests.conftest import make_item
from tests.openai_server import run_server
from tests.sessions import read
from tests.storage.shared import find_traces, import_study

CRITERION = Criterion(name="Engaging", scale=Scale(level="ordinal", categories=(1, 2, 3)))
PAID = Usage(prompt_tokens=100, completion_tokens=10, seconds=1.0, dollars=0.5)


@pytest.fixture
def study(engine: Engine) -> Study:
    records = [ItemRecord(item=make_item(name, responses=(Response(text=f"Response {name}."),))) for name in ("a", "b")]
    return import_study(engine, records)


def make_settings(samples: int = 3, **spec: Any) -> ScoreSettings:
    judge = Judge(name="j", spec=Spec(**{"model": "m", "temperature": 1.0, **spec}))
    return ScoreSettings(judge=judge, criterion=CRITERION, samples=samples)


NUMBERS = count()


def rating_model() -> ScriptedModel:
    """Return a model whose replies are numbered, so no two are the same."""
    return ScriptedModel(
        lambda ask: Reply(text=f"Reply {next(NUMBERS)}.\nRating of Engaging: 2", usage=PAID), format="text"
    )


def execute(engine: Engine, run_id: int, model: ScriptedModel) -> list[Ask]:
    asyncio.run(execute_here(engine, run_id, lambda run, progress: None, model))
    return model.asked


def run(engine: Engine, study: Study, name: str, settings: ScoreSettings, **options: Any) -> tuple[int, int]:
    """Execute a new run; return its id and the number of calls that were made."""
    run_id = create_run(engine, RunRequest(study, registry.get("single-score"), settings, name, **options))
    return run_id, len(execute(engine, run_id, rating_model()))


def replies_of(engine: Engine, run_id: int) -> list[tuple[str, str]]:
    """Return (reply, the run that paid it) of the turns of a run."""
    with reading(engine) as session:
        study_id = runs.get(session, run_id).study_id
        found = find_traces(session, traces.Filter(study_id, run_id))
        events = [event for trace in found for _, event in traces.events(session, trace.id)]
    return sorted((e.turn.reply, e.turn.reused) for e in events if isinstance(e, TurnCompleted))


def test_a_second_run_makes_no_call_and_has_the_same_replies(engine: Engine, study: Study) -> None:
    first, made = run(engine, study, "first", make_settings())
    assert made == 6
    second, made = run(engine, study, "second", make_settings(), ceiling=0.0)
    assert (made, read(engine, runs.get, second).state) == (0, "finished")
    assert [reply for reply, _ in replies_of(engine, first)] == [reply for reply, _ in replies_of(engine, second)]
    assert {source for _, source in replies_of(engine, second)} == {"first"}


def test_a_reply_of_another_study_is_reused_without_the_name_of_its_run(engine: Engine, study: Study) -> None:
    run(engine, study, "first", make_settings())
    records = [ItemRecord(item=make_item("a", responses=(Response(text="Response a."),)))]
    other = import_study(engine, records, "other")
    run_id, made = run(engine, other, "second", make_settings())
    assert made == 0 and {source for _, source in replies_of(engine, run_id)} == {calls.OTHER_STUDY}


def test_samples_of_one_prompt_are_independent_also_if_more_are_drawn_later(engine: Engine, study: Study) -> None:
    first, _ = run(engine, study, "three", make_settings(3))
    assert len({reply for reply, _ in replies_of(engine, first)}) == 6
    second, made = run(engine, study, "five", make_settings(5))
    assert made == 4
    assert len({reply for reply, _ in replies_of(engine, second)}) == 10


def test_repetitions_are_independent_and_fresh_runs_ask_anew(engine: Engine, study: Study) -> None:
    run(engine, study, "first", make_settings())
    assert run(engine, study, "repetition", make_settings(), repeat=2)[1] == 6
    assert run(engine, study, "fresh", make_settings(), fresh=True)[1] == 6
    after, made = run(engine, study, "after", make_settings())
    assert made == 0 and {source for _, source in replies_of(engine, after)} == {"fresh"}


@pytest.mark.parametrize(
    ("changed", "made"),
    [
        ({"temperature": 0.5}, 6),
        ({"model": "other"}, 6),
        ({"seed": 1}, 6),
        ({"system": "Be brief."}, 6),
        ({"timeout": 5.0, "prompt_price": 1.0, "completion_price": 1.0}, 0),
    ],
)
def test_other_content_is_another_call_and_a_price_is_none(
    engine: Engine, study: Study, changed: dict[str, Any], made: int
) -> None:
    run(engine, study, "first", make_settings())
    assert run(engine, study, "second", make_settings(**changed))[1] == made


def test_reused_calls_cost_nothing_and_state_what_they_saved(engine: Engine, study: Study) -> None:
    run(engine, study, "first", make_settings())
    second, _ = run(engine, study, "second", make_settings(4))
    totals = read(engine, runs.progress, second).totals
    assert (totals.calls, totals.reused, totals.dollars, totals.saved_dollars) == (8, 6, 1.0, 3.0)
    assert totals.describe_calls() == "8 calls (6 reused)"
    assert totals.describe_cost() == "$1.00 (saved $3.00)"


def test_an_unreadable_reply_is_reused_and_an_error_of_the_provider_is_not(engine: Engine, study: Study) -> None:
    settings, selection = make_settings(1), ItemSelection(items=("a",))
    request = RunRequest(study, registry.get("single-score"), settings, "unreadable", selection=selection)
    assert len(execute(engine, create_run(engine, request), ScriptedModel(lambda ask: "No idea."))) == 2
    again = RunRequest(study, registry.get("single-score"), settings, "again", selection=selection)
    assert len(execute(engine, create_run(engine, again), rating_model())) == 0

    other = RunRequest(study, registry.get("single-score"), make_settings(1, model="o"), "o", selection=selection)
    run_id = create_run(engine, other)
    execute(engine, run_id, ScriptedModel([PermanentFailure("The key is wrong.")]))
    resume_run(engine, study, "o")
    assert len(execute(engine, run_id, rating_model())) == 1
    assert read(engine, calls.count_interrupted, [run_id]) == {}


def test_two_traces_that_need_the_same_call_at_once_pay_it_once(engine: Engine) -> None:
    records = [
        ItemRecord(item=make_item(name, prompt="What?", responses=(Response(text="The same."),))) for name in "abcdef"
    ]
    study = import_study(engine, records, "same")
    assert run(engine, study, "run", make_settings(2))[1] == 2


@pytest.mark.slow
def test_a_worker_that_ends_loses_only_calls_in_flight_and_these_are_counted(engine: Engine, study: Study) -> None:
    run_id = create_run(engine, RunRequest(study, registry.get("single-score"), make_settings(), "killed"))
    asks, waiting = count(), asyncio.Event()

    async def reply(ask: Ask) -> Reply:
        if next(asks) >= 4:
            waiting.set()
            await asyncio.Event().wait()
        return Reply(text="Rating of Engaging: 2", usage=PAID)

    async def interrupted() -> None:
        task = asyncio.create_task(execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(reply)))
        await waiting.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(interrupted())
    with writing(engine) as session:
        stored = len(session.scalars(select(PendingCallRow)).all())
        claims.release(session, run_id, str(session.get(runs.RunRow, run_id).claimed_by))
    totals = read(engine, runs.progress, run_id).totals
    assert totals.interrupted == stored > 0
    assert len(execute(engine, run_id, rating_model())) == stored
    assert read(engine, runs.progress, run_id).totals.interrupted == stored


class Sampling(ScriptedModel):
    """A model that returns `limit` replies from one call."""

    limit = 20

    async def sample(self, ask: Ask) -> list[Reply]:
        return [await self.complete(ask) for _ in range(min(ask.samples, self.limit))]


def test_one_call_for_several_samples_requests_only_those_that_are_not_stored(engine: Engine, study: Study) -> None:
    run_id, _ = run(engine, study, "run", make_settings())
    run_row = read(engine, runs.get, run_id)
    model = Sampling(lambda ask: f"{ask.draws} {ask.samples}")
    ask = Ask("j", "s", 0, Spec(model="m"), "A prompt.")

    async def ask_twice() -> list[list[str]]:
        stored = StoredCalls(model, engine, run_row, "w", Path())
        one = await stored.complete(replace(ask, draws=(1,)))
        model.limit = 2
        some = await stored.sample(replace(ask, samples=4, draws=(0, 1, 2, 3)))
        without_image = replace(ask, images=("gone.png",))
        assert await stored.find(without_image) == []
        with pytest.raises(PermanentFailure, match=r"'gone\.png' is not in"):
            await stored.complete(without_image)
        return [[one.text], [reply.text for reply in some]]

    assert asyncio.run(ask_twice()) == [["(1,) 1"], ["(0, 2, 3) 3", "(1,) 1", "(0, 2, 3) 3"]]


def test_a_reply_is_stored_no_later_than_its_event(
    engine: Engine, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[bool] = []
    append = outcomes.append_events

    def check(session: Any, events: list[outcomes.NewEvent]) -> None:
        turns = [new.event for new in events if isinstance(new.event, TurnCompleted)]
        saved = [row.reply["text"] for row in session.scalars(select(CallRow))]
        stored.extend(turn.turn.reply in saved for turn in turns)
        append(session, events)

    monkeypatch.setattr(outcomes, "append_events", check)
    run(engine, study, "run", make_settings(samples=1))
    assert stored == [True, True]


@pytest.mark.slow
def test_one_reused_sample_costs_what_a_request_for_it_alone_would_have_cost(engine: Engine, study: Study) -> None:
    with run_server() as server:
        fields = {
            "model": "panel-1",
            "answer_format": "text",
            "address": server.address,
            "prompt_price": 10,
            "completion_price": 100,
        }
        usages = []
        for name, samples in (("turbo", 5), ("lite", 1)):
            settings = make_settings(samples, **fields)
            request = RunRequest(study, registry.get("single-score"), settings, name)
            run_id = create_run(engine, request)
            asyncio.run(execute_here(engine, run_id, lambda run, progress: None, Router()))
            with reading(engine) as session:
                found = find_traces(session, traces.Filter(study.id, run_id))
                events = [event for _, event in traces.events(session, found[0].id)]
            usages.append([event.turn.usage for event in events if isinstance(event, TurnCompleted)])
        assert len(server.log) == 2, "one request for each item"
    together, (alone,) = usages
    assert alone.prompt_tokens == pytest.approx(sum(usage.prompt_tokens or 0 for usage in together), abs=5)
    expected = (10 * (alone.prompt_tokens or 0) + 100 * (alone.completion_tokens or 0)) / 1e6
    assert alone.dollars == pytest.approx(expected) and expected > (together[0].dollars or 0)
