"""How one flow is carried to its end, and what is told on the way."""

import asyncio
from collections.abc import Callable, Iterable

import pytest

from core.llm.client import Answer, Model, Reply, ScriptedModel
from core.llm.limits import Budget, Limits
from core.problems import Permanent, Stopped, Temporary
from core.runner import run_flow
from core.trace import (
    Ask,
    CallFailed,
    Event,
    Flow,
    ReplyUnreadable,
    TraceFailed,
    TurnTaken,
    Usage,
    Verdict,
    VerdictReached,
)
from tests.core.protocols.debates import a_flow, following, settings

AGREED = following(a="1", b="1", c="1")


class Ledger:
    """Keeps what is recorded."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def record(self, event: Event) -> None:
        await asyncio.sleep(0)
        self.events.append(event)

    def told(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


def quick(**fields: object) -> Limits:
    return Limits(**{"backoff": 0.001, "tries": 3} | fields)  # type: ignore[arg-type]


def carried(
    script: Callable[[Ask], Answer] | Iterable[Answer | Exception],
    limits: Limits | None = None,
    flow: Flow | None = None,
    stored: Iterable[Event] = (),
) -> tuple[Verdict | None, Ledger, ScriptedModel]:
    model, ledger = ScriptedModel(script), Ledger()
    flow = flow or a_flow(settings(rounds=1))
    verdict = asyncio.run(run_flow(flow, model, ledger.record, stored=tuple(stored), limits=limits or quick()))
    return verdict, ledger, model


def failing(problems: list[Exception], then: str = "1") -> Callable[[Ask], Answer]:
    """Judge b's calls fail one by one."""

    def script(ask: Ask) -> Answer:
        if ask.speaker == "b" and problems:
            raise problems.pop(0)
        return then

    return script


def test_events_are_turns_and_then_the_verdict() -> None:
    verdict, ledger, _ = carried(AGREED)
    assert ledger.told() == ["TurnTaken"] * 3 + ["VerdictReached"]
    assert ledger.events[-1] == VerdictReached(verdict=verdict) if verdict else False


def test_turns_are_recorded_before_the_flow_goes_on() -> None:
    ledger, seen = Ledger(), []

    def script(ask: Ask) -> Answer:
        seen.append((ask.round, ledger.told().count("TurnTaken")))
        return "120"["abc".index(ask.speaker)]

    asyncio.run(run_flow(a_flow(settings(rounds=2)), ScriptedModel(script), ledger.record))
    assert [stored for number, stored in seen if number == 1] == [3, 3, 3]


def test_a_round_is_asked_all_at_once() -> None:
    under_way, most = 0, 0

    async def answer(ask: Ask) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return "1"

    asyncio.run(run_flow(a_flow(settings(rounds=1)), ScriptedModel(answer), Ledger().record))
    assert most == 3


def test_a_reply_that_cannot_be_read_is_asked_for_once_more_in_other_words() -> None:
    asked: list[str] = []

    def script(ask: Ask) -> Answer:
        if ask.speaker != "b":
            return "1"
        asked.append(ask.prompt)
        return "Hmm." if len(asked) == 1 else "1"

    verdict, ledger, _ = carried(script)
    assert verdict and verdict.outcome == "agreed"
    unreadable = next(e for e in ledger.events if isinstance(e, ReplyUnreadable))
    assert (unreadable.ask, unreadable.turn.reply) == (1, "Hmm.")
    assert unreadable.turn.problem == "the last line is not one of 1, 2 or 0"
    assert asked[1].startswith(asked[0]) and "Answer once more" in asked[1]
    assert {e.turn.prompt for e in ledger.events if isinstance(e, TurnTaken) and e.ask == 1} == {asked[1]}


def test_after_the_second_try_it_is_a_turn_with_a_problem() -> None:
    verdict, ledger, model = carried(lambda ask: "Hmm." if ask.speaker == "b" else "1")
    assert len(model.asked) == 4
    turn = next(e.turn for e in ledger.events if isinstance(e, TurnTaken) and e.ask == 1)
    assert turn.reading is None and turn.problem
    assert verdict and verdict.outcome == "no_verdict"


@pytest.mark.parametrize("finish", ["refused", "cut off"])
def test_a_refusal_and_a_cut_off_are_not_asked_again(finish: str) -> None:
    _, ledger, model = carried(lambda ask: Reply(text="1", finish=finish))  # type: ignore[arg-type]
    assert len(model.asked) == 3
    assert all(e.turn.reading is None and e.turn.problem for e in ledger.events if isinstance(e, TurnTaken))


def test_what_may_pass_is_tried_again() -> None:
    verdict, ledger, _ = carried(failing([Temporary("busy"), Temporary("busy")]))
    assert verdict and verdict.outcome == "agreed"
    failures = [e for e in ledger.events if isinstance(e, CallFailed)]
    assert [(e.ask, e.speaker, e.problem) for e in failures] == [(1, "b", "busy")] * 2
    assert all(e.wait is not None for e in failures)


def test_after_the_last_try_the_trace_fails_and_the_others_are_kept() -> None:
    verdict, ledger, _ = carried(failing([Temporary("busy")] * 9))
    assert verdict is None
    assert ledger.told().count("TurnTaken") == 2
    assert ledger.events[-1] == TraceFailed(problem="b could not be asked: busy")
    assert [e.wait for e in ledger.events if isinstance(e, CallFailed)][-1] is None


def test_what_will_not_pass_is_not_tried_again() -> None:
    verdict, ledger, model = carried(failing([Permanent("wrong key")]))
    assert verdict is None and len(model.asked) == 3
    assert ledger.events[-1] == TraceFailed(problem="b could not be asked: wrong key")


def test_a_provider_is_given_the_time_it_asks_for() -> None:
    _, ledger, _ = carried(failing([Temporary("busy", after=0.2)]))
    assert next(e.wait for e in ledger.events if isinstance(e, CallFailed)) == pytest.approx(0.2, abs=0.01)


def test_a_provider_that_asks_for_an_hour_is_not_waited_for() -> None:
    verdict, ledger, _ = carried(failing([Temporary("busy", after=3600)]))
    assert verdict is None and isinstance(ledger.events[-1], TraceFailed)


def test_waits_double_with_full_jitter_up_to_the_longest() -> None:
    limits = Limits(backoff=1, tries=9, longest_wait=5)
    drawn = {failures: [limits.wait(failures, Temporary("")) or 0 for _ in range(300)] for failures in (1, 2, 3, 6)}
    assert all(0 <= wait <= most for failures, most in [(1, 1), (2, 2), (3, 4), (6, 5)] for wait in drawn[failures])
    assert max(drawn[3]) > 3 and min(drawn[3]) < 1


def test_a_bug_in_a_model_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        carried(failing([ZeroDivisionError()]))


def test_a_finished_trace_is_not_carried_again() -> None:
    _, ledger, _ = carried(AGREED)
    verdict, again, model = carried(AGREED, stored=ledger.events)
    assert verdict and verdict.value == 1
    assert not model.asked and not again.events


def test_one_model_is_asked_so_many_at_once_and_no_more() -> None:
    most = {"model-a": 0, "model-b": 0}
    now = dict(most)

    async def answer(ask: Ask) -> str:
        now[ask.spec.model] += 1
        most[ask.spec.model] = max(most[ask.spec.model], now[ask.spec.model])
        await asyncio.sleep(0.005)
        now[ask.spec.model] -= 1
        return "1"

    async def run() -> None:
        model, limits = ScriptedModel(answer), quick(parallel=2)
        await asyncio.gather(
            *(run_flow(a_flow(settings("ab")), model, Ledger().record, limits=limits) for _ in range(6))
        )

    asyncio.run(run())
    assert most == {"model-a": 2, "model-b": 2}


def priced(ask: Ask) -> Reply:
    return Reply(text="120"["abc".index(ask.speaker)], usage=Usage(dollars=0.30))


def test_a_ceiling_stops_before_the_call_that_would_pass_it() -> None:
    budget, ledger = Budget(1.00, lambda ask: 0.30), Ledger()
    with pytest.raises(Stopped, match=r"The ceiling of \$1\.00 is reached\."):
        asyncio.run(run_flow(a_flow(settings()), ScriptedModel(priced), ledger.record, limits=quick(budget=budget)))
    assert budget.spent == pytest.approx(0.90)
    assert ledger.told() == ["TurnTaken"] * 3


def test_under_a_ceiling_a_cheap_call_does_not_stop_for_what_is_only_set_aside() -> None:
    """Each call may cost 0.40 and costs 0.10: nine of them fit under 1.00, one or two at a time."""
    script = lambda ask: priced(ask).model_copy(update={"usage": Usage(dollars=0.10)})  # noqa: E731
    verdict, _, model = carried(script, quick(budget=Budget(1.25, lambda ask: 0.40)), a_flow(settings()))
    assert verdict and len(model.asked) == 9


def test_a_ceiling_holds_for_what_an_earlier_run_spent() -> None:
    with pytest.raises(Stopped):
        carried(AGREED, quick(budget=Budget(5, lambda ask: None, spent=5)))


def test_cancelling_starts_no_new_call_and_keeps_those_under_way() -> None:
    answered: list[str] = []

    async def answer(ask: Ask) -> str:
        await asyncio.sleep(0.005)
        answered.append(ask.speaker)
        return "120"["abc".index(ask.speaker)]

    ledger = Ledger()
    limits = quick(cancelled=lambda: bool(answered))
    with pytest.raises(Stopped, match="cancelled"):
        asyncio.run(run_flow(a_flow(settings()), ScriptedModel(answer), ledger.record, limits=limits))
    assert len(answered) == 3 and ledger.told() == ["TurnTaken"] * 3


def test_cancelling_does_not_wait_for_a_back_off() -> None:
    async def run(model: Model) -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, stop.set)
        limits = Limits(cancelled=stop.is_set)
        await asyncio.wait_for(run_flow(a_flow(settings()), model, Ledger().record, limits=limits), 2)

    with pytest.raises(Stopped):
        asyncio.run(run(ScriptedModel(failing([Temporary("busy", after=60)]))))
