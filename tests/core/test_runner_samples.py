"""Samples of one prompt: one call if the provider supports it, one event for each sample in any case."""

from collections.abc import Sequence
from typing import Any

from core.errors import PermanentFailure, TemporaryFailure
from core.llm.client import Reply, ScriptedModel
from core.llm.limits import Limits
from core.trace import Ask, CallFailed, Event, TurnCompleted, Usage, Verdict
from tests.core.protocols.reviews import make_flow, make_settings
from tests.core.protocols.scripted_runs import run_recorded


class SamplingModel(ScriptedModel):
    """Returns up to `most` replies from a call; `calls` holds the number requested by each call."""

    def __init__(self, most: int, failures: Sequence[Exception] = ()) -> None:
        self.replies = 0
        self.most, self.failures, self.calls = most, list(failures), []
        super().__init__(lambda ask: self.rating())

    def rating(self) -> str:
        self.replies += 1
        return f"Analysis: number {self.replies}.\nRating: {1 + self.replies % 3}"

    async def sample(self, ask: Ask) -> list[Reply]:
        if self.failures:
            raise self.failures.pop(0)
        self.calls.append(ask.samples)
        return [Reply(text=self.rating(), usage=Usage(dollars=0.5)) for _ in range(min(ask.samples, self.most))]

    @property
    def single_asks(self) -> int:
        """The number of the chair's asks that were sent singly."""
        return sum(ask.step == "chair" for ask in self.asked)


def run(
    model: Any, stored: Sequence[Event] = (), limits: Limits | None = None, n: int = 4
) -> tuple[Verdict | None, list]:
    return run_recorded(make_flow(make_settings(samples=n)), model, stored, limits=limits or Limits(backoff=0))


def sample_replies(events: Sequence[Event]) -> list[str]:
    return [event.turn.reply for event in events if isinstance(event, TurnCompleted) and event.turn.step == "chair"]


def test_all_samples_are_requested_in_one_call_and_each_is_an_event() -> None:
    model = SamplingModel(most=20)
    verdict, events = run(model)
    assert model.calls == [4] and model.single_asks == 0
    assert len(set(sample_replies(events))) == 4 and verdict is not None


def test_missing_samples_are_requested_singly_for_the_rest_of_the_run() -> None:
    model, limits = SamplingModel(most=3), Limits(backoff=0)
    _, events = run(model, limits=limits)
    assert model.calls == [3 + 1] and model.single_asks == 1 and len(sample_replies(events)) == 4
    run(model, limits=limits)
    assert model.calls == [4] and model.single_asks == 5


def test_a_provider_that_rejects_n_gets_single_requests() -> None:
    model = SamplingModel(most=20, failures=[PermanentFailure("n has to be 1")])
    verdict, events = run(model)
    assert verdict is not None and model.calls == [] and model.single_asks == 4
    assert not any(isinstance(event, CallFailed) for event in events)


def test_a_temporary_failure_of_the_batch_is_recorded_once_and_retried() -> None:
    model = SamplingModel(most=20, failures=[TemporaryFailure("busy")])
    _, events = run(model)
    assert model.calls == [4]
    assert [event.problem for event in events if isinstance(event, CallFailed)] == ["busy"]


def test_stored_samples_are_not_requested_again() -> None:
    _, events = run(SamplingModel(most=20))
    model = SamplingModel(most=20)
    verdict, resumed = run(model, stored=events[:5])
    assert model.calls == [2] and not model.asked
    assert sample_replies(resumed)[:2] == sample_replies(events)[:2] and verdict is not None
