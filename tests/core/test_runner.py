"""Running one flow to its verdict, and the events recorded on the way."""

import asyncio
from collections.abc import Callable, Iterable

import pytest

from core.errors import ContextExceeded, RunStopped, TemporaryFailure
from core.llm.client import Answer, Model, Reply, ScriptedModel
from core.llm.limits import Budget, Limits
from core.runner import run_flow
from core.trace import (
    Ask,
    CallFailed,
    Event,
    Flow,
    TraceFailed,
    TurnCompleted,
    Usage,
    Verdict,
)
from tests.core.protocols.debates import choices_script, make_flow, make_settings

AGREED = choices_script(a="1", b="1", c="1")


class EventList:
    """Collects the recorded events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def record(self, event: Event) -> None:
        await asyncio.sleep(0)
        self.events.append(event)

    def types(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


def quick_limits(**fields: object) -> Limits:
    return Limits(**{"backoff": 0.001, "max_tries": 3} | fields)  # type: ignore[arg-type]


def run(
    script: Callable[[Ask], Answer] | Iterable[Answer | Exception],
    limits: Limits | None = None,
    flow: Flow | None = None,
    stored: Iterable[Event] = (),
) -> tuple[Verdict | None, EventList, ScriptedModel]:
    model, recorded = ScriptedModel(script), EventList()
    flow = flow or make_flow(make_settings(rounds=1))
    verdict = asyncio.run(run_flow(flow, model, recorded.record, stored=tuple(stored), limits=limits or quick_limits()))
    return verdict, recorded, model


def fail_then_answer(problems: list[Exception], answer: str = "1") -> Callable[[Ask], Answer]:
    """Return a script in which judge b's calls raise `problems` one after another, and then succeed."""

    def script(ask: Ask) -> Answer:
        if ask.speaker == "b" and problems:
            raise problems.pop(0)
        return answer

    return script


def test_turns_are_recorded_before_the_flow_continues() -> None:
    recorded, seen = EventList(), []

    def script(ask: Ask) -> Answer:
        seen.append((ask.round, recorded.types().count("TurnCompleted")))
        return "120"["abc".index(ask.speaker)]

    asyncio.run(run_flow(make_flow(make_settings(rounds=2)), ScriptedModel(script), recorded.record))
    assert [stored for round, stored in seen if round == 1] == [3, 3, 3]


def test_a_refusal_is_not_requested_again() -> None:
    _, recorded, model = run(lambda ask: Reply(text="1", finish="refused"))
    assert len(model.asked) == 3
    turns = [e.turn for e in recorded.events if isinstance(e, TurnCompleted)]
    assert [(turn.reading, turn.problem) for turn in turns] == [(None, "the model refused to answer")] * 3


def test_temporary_failures_are_retried() -> None:
    verdict, recorded, _ = run(fail_then_answer([TemporaryFailure("busy"), TemporaryFailure("busy")]))
    assert verdict and verdict.outcome == "agreed"
    failures = [e for e in recorded.events if isinstance(e, CallFailed)]
    assert [(e.ask, e.speaker, e.problem) for e in failures] == [(1, "b", "busy")] * 2
    assert all(e.wait is not None for e in failures)


def test_after_the_last_try_the_trace_fails_and_the_other_turns_are_recorded() -> None:
    verdict, recorded, _ = run(fail_then_answer([TemporaryFailure("busy")] * 9))
    assert verdict is None
    assert recorded.types().count("TurnCompleted") == 2
    assert recorded.events[-1] == TraceFailed(problem="The call to b failed: busy")
    assert [e.wait for e in recorded.events if isinstance(e, CallFailed)][-1] is None


def test_the_wait_is_at_least_what_the_provider_requests() -> None:
    _, recorded, _ = run(fail_then_answer([TemporaryFailure("busy", retry_after=0.2)]))
    assert next(e.wait for e in recorded.events if isinstance(e, CallFailed)) == pytest.approx(0.2, abs=0.01)


def test_a_provider_that_requests_an_hour_is_not_retried() -> None:
    verdict, recorded, _ = run(fail_then_answer([TemporaryFailure("busy", retry_after=3600)]))
    assert verdict is None and isinstance(recorded.events[-1], TraceFailed)


def test_waits_double_with_full_jitter_up_to_the_maximum() -> None:
    limits = Limits(backoff=1, max_tries=9, max_wait=5)
    waits = {
        failures: [limits.wait_before_retry(failures, TemporaryFailure("")) or 0 for _ in range(300)]
        for failures in (1, 2, 3, 6)
    }
    assert all(0 <= wait <= most for failures, most in [(1, 1), (2, 2), (3, 4), (6, 5)] for wait in waits[failures])
    assert max(waits[3]) > 3 and min(waits[3]) < 1


def test_a_bug_in_a_model_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run(fail_then_answer([ZeroDivisionError()]))


def test_a_completed_trace_is_not_run_again() -> None:
    _, recorded, _ = run(AGREED)
    verdict, recorded_again, model = run(AGREED, stored=recorded.events)
    assert verdict and verdict.value == 1
    assert not model.asked and not recorded_again.events


def test_each_model_has_at_most_the_allowed_number_of_concurrent_calls() -> None:
    most_running = {"model-a": 0, "model-b": 0}
    running = dict(most_running)

    async def answer(ask: Ask) -> str:
        running[ask.spec.model] += 1
        most_running[ask.spec.model] = max(most_running[ask.spec.model], running[ask.spec.model])
        await asyncio.sleep(0.005)
        running[ask.spec.model] -= 1
        return "1"

    async def run_six() -> None:
        model, limits = ScriptedModel(answer), quick_limits(parallel=2)
        await asyncio.gather(
            *(run_flow(make_flow(make_settings("ab")), model, EventList().record, limits=limits) for _ in range(6))
        )

    asyncio.run(run_six())
    assert most_running == {"model-a": 2, "model-b": 2}


def paid_reply(ask: Ask) -> Reply:
    return Reply(text="120"["abc".index(ask.speaker)], usage=Usage(dollars=0.30))


def test_the_run_stops_before_a_call_that_could_exceed_the_ceiling() -> None:
    budget, recorded = Budget(1.00, lambda ask: 0.30), EventList()
    with pytest.raises(RunStopped, match=r"The ceiling of \$1\.00 is reached\."):
        asyncio.run(
            run_flow(
                make_flow(make_settings()),
                ScriptedModel(paid_reply),
                recorded.record,
                limits=quick_limits(budget=budget),
            )
        )
    assert budget.spent == pytest.approx(0.90)
    assert recorded.types() == ["TurnCompleted"] * 3


def test_calls_wait_for_reservations_instead_of_stopping_the_run() -> None:
    """Each call can cost 0.40 and costs 0.10: nine of them fit under 1.25, a few at a time."""
    script = lambda ask: paid_reply(ask).model_copy(update={"usage": Usage(dollars=0.10)})  # noqa: E731
    verdict, _, model = run(script, quick_limits(budget=Budget(1.25, lambda ask: 0.40)), make_flow(make_settings()))
    assert verdict and len(model.asked) == 9


def test_the_ceiling_includes_what_was_spent_before_a_resume() -> None:
    with pytest.raises(RunStopped):
        run(AGREED, quick_limits(budget=Budget(5, lambda ask: None, spent=5)))


def test_cancelling_starts_no_new_call_and_records_those_in_progress() -> None:
    answered: list[str] = []

    async def answer(ask: Ask) -> str:
        await asyncio.sleep(0.005)
        answered.append(ask.speaker)
        return "120"["abc".index(ask.speaker)]

    recorded = EventList()
    limits = quick_limits(cancelled=lambda: bool(answered))
    with pytest.raises(RunStopped, match="cancelled"):
        asyncio.run(run_flow(make_flow(make_settings()), ScriptedModel(answer), recorded.record, limits=limits))
    assert len(answered) == 3 and recorded.types() == ["TurnCompleted"] * 3


def test_cancelling_interrupts_the_wait_before_a_retry() -> None:
    async def run_cancelled(model: Model) -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, stop.set)
        limits = Limits(cancelled=stop.is_set)
        await asyncio.wait_for(run_flow(make_flow(make_settings()), model, EventList().record, limits=limits), 2)

    with pytest.raises(RunStopped):
        asyncio.run(run_cancelled(ScriptedModel(fail_then_answer([TemporaryFailure("busy", retry_after=60)]))))


def test_a_request_longer_than_a_judges_context_is_its_missing_opinion() -> None:
    def script(ask: Ask) -> Answer:
        if ask.speaker == "b":
            raise ContextExceeded("m rejected the request as invalid (400): maximum context length is 4096 tokens")
        return "1"

    verdict, recorded, model = run(script)
    assert recorded.types() == ["TurnCompleted"] * 3 + ["VerdictReached"] and len(model.asked) == 3
    turns = {event.turn.speaker: event.turn for event in recorded.events if isinstance(event, TurnCompleted)}
    assert (turns["b"].finish, turns["b"].reading, turns["b"].usage.dollars) == ("context", None, 0.0)
    assert turns["b"].problem == "the request was longer than the model's context" and turns["a"].reading == 1
    assert verdict is not None and {op.judge: op.value for op in verdict.opinions if op.stage == "last"}["a"] == 1
    stored = recorded.events[:-1]
    _, resumed, asked_again = run(script, stored=stored)
    assert resumed.types() == ["VerdictReached"] and not asked_again.asked
