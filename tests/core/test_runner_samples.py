"""Samples of one prompt go out in one call where the provider can draw them, and are told one by one all the same."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from core.llm import costs
from core.llm.client import LiteLLM, Reply, ScriptedModel
from core.llm.limits import Limits
from core.problems import Permanent, Temporary
from core.runner import run_flow
from core.trace import Ask, CallFailed, Event, Spec, TurnTaken, Usage, Verdict
from tests.core.protocols.reviews import a_flow, settings
from tests.openai_server import serving


class Sampling(ScriptedModel):
    """Brings up to `most` replies in a call; `calls` holds how many were asked for and given."""

    def __init__(self, most: int, trouble: Sequence[Exception] = ()) -> None:
        self.given = 0
        self.most, self.trouble, self.calls = most, list(trouble), []
        super().__init__(lambda ask: self.rating())

    def rating(self) -> str:
        self.given += 1
        return f"Analysis: number {self.given}.\nRating: {1 + self.given % 3}"

    async def sample(self, ask: Ask) -> list[Reply]:
        if self.trouble:
            raise self.trouble.pop(0)
        self.calls.append(ask.samples)
        return [Reply(text=self.rating(), usage=Usage(dollars=0.5)) for _ in range(min(ask.samples, self.most))]

    @property
    def alone(self) -> int:
        """Chair's asks that went out one by one."""
        return sum(ask.step == "chair" for ask in self.asked)


def run(
    model: Any, stored: Sequence[Event] = (), limits: Limits | None = None, n: int = 4
) -> tuple[Verdict | None, list]:
    events: list[Event] = list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    limits = limits or Limits(backoff=0)
    return asyncio.run(run_flow(a_flow(settings(samples=n)), model, record, stored=stored, limits=limits)), events


def samples(events: Sequence[Event]) -> list[str]:
    return [event.turn.reply for event in events if isinstance(event, TurnTaken) and event.turn.step == "chair"]


def test_all_samples_come_in_one_call_and_each_is_an_event() -> None:
    model = Sampling(most=20)
    verdict, events = run(model)
    assert model.calls == [4] and model.alone == 0
    assert len(set(samples(events))) == 4 and verdict is not None


def test_what_a_call_does_not_bring_is_asked_for_one_by_one_and_no_more_calls_are_tried() -> None:
    model, limits = Sampling(most=3), Limits(backoff=0)
    _, events = run(model, limits=limits)
    assert model.calls == [3 + 1] and model.alone == 1 and len(samples(events)) == 4
    run(model, limits=limits)
    assert model.calls == [4] and model.alone == 5


def test_a_provider_that_refuses_n_is_asked_for_one_at_a_time() -> None:
    model = Sampling(most=20, trouble=[Permanent("n has to be 1")])
    verdict, events = run(model)
    assert verdict is not None and model.calls == [] and model.alone == 4
    assert not any(isinstance(event, CallFailed) for event in events)


def test_trouble_that_passes_is_told_once_and_tried_again() -> None:
    model = Sampling(most=20, trouble=[Temporary("busy")])
    _, events = run(model)
    assert model.calls == [4]
    assert [event.problem for event in events if isinstance(event, CallFailed)] == ["busy"]


def test_trouble_that_stays_fails_the_trace_once() -> None:
    model = Sampling(most=20, trouble=[Temporary("busy")] * 9)
    verdict, events = run(model, limits=Limits(backoff=0, tries=2))
    assert verdict is None and [event.type for event in events[-3:]] == ["call_failed", "call_failed", "failed"]


def test_what_is_stored_is_not_drawn_again() -> None:
    _, events = run(Sampling(most=20))
    model = Sampling(most=20)
    verdict, again = run(model, stored=events[:5])
    assert model.calls == [2] and not model.asked
    assert samples(again)[:2] == samples(events)[:2] and verdict is not None


def test_a_model_that_cannot_sample_is_asked_for_each() -> None:
    model = ScriptedModel(lambda ask: "Rating: 2")
    run(model)
    assert sum(ask.step == "chair" for ask in model.asked) == 4


def test_one_sample_is_one_plain_call() -> None:
    model = Sampling(most=20)
    run(model, n=1)
    assert model.calls == [] and model.alone == 1


def test_money_is_set_aside_for_every_sample() -> None:
    ask = Ask("a", "chair", 1, Spec(model="gpt-4o-mini", max_tokens=1000), "x" * 400, int)
    several = costs.most(Ask("a", "chair", 1, ask.spec, ask.prompt, int, samples=3))
    one, none = (
        costs.most(ask),
        costs.most(Ask("a", "chair", 1, Spec(model="gpt-4o-mini", max_tokens=0), "x" * 400, int)),
    )
    assert several is not None and one is not None and none is not None
    assert several - none == pytest.approx(3 * (one - none))


def drawn(model: str, count: int) -> tuple[list[Reply], int]:
    """The replies of a real server to one call, and how many calls it saw."""

    async def one(address: str) -> list[Reply]:
        litellm = LiteLLM()
        try:
            spec = Spec(model=model, address=address, timeout=10)
            return await litellm.sample(Ask("a", "chair", 1, spec, "Which?", int, samples=count))
        finally:
            await litellm.close()

    with serving() as server:
        return asyncio.run(one(server.address)), len(server.log)


def test_a_real_server_with_n_is_called_once_and_the_usage_adds_up() -> None:
    replies, calls = drawn("sampler-1", 3)
    assert calls == 1 and [reply.text[-1] for reply in replies] == ["0", "1", "2"]
    tokens = [reply.usage.completion_tokens or 0 for reply in replies]
    assert max(tokens) - min(tokens) <= 1
    assert sum(reply.usage.prompt_tokens or 0 for reply in replies) == len("Which?") // 4


def test_a_real_server_that_passes_over_n_brings_one() -> None:
    replies, calls = drawn("judge-1", 3)
    assert (len(replies), calls) == (1, 1)


def test_the_local_model_draws_one_by_one() -> None:
    ask = Ask("a", "chair", 1, Spec(model="local"), "Which?", int, samples=3)
    assert asyncio.run(LiteLLM().sample(ask)) == []
