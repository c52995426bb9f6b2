"""How many calls are sent at once, and when none is."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from core.errors import RunStopped
from core.llm.limits import Budget, Limits
from core.trace import Ask, Spec

PLACES = 4
ASK = Ask("judge", "opinion", 1, Spec(model="m"), "A prompt.")


class Calls:
    """Calls that end when they may."""

    def __init__(self, limits: Limits, count: int) -> None:
        self.limits, self.sent = limits, 0
        self.may_end = asyncio.Event()
        self.tasks = [asyncio.create_task(self.call()) for _ in range(count)]

    async def call(self) -> None:
        async with self.limits.acquire(ASK):
            self.sent += 1
            await self.may_end.wait()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def with_timeout() -> None:
        async with asyncio.timeout(10):
            await scenario()

    asyncio.run(with_timeout())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_no_more_calls_are_sent_at_once_than_allowed_and_none_during_a_pause() -> None:
    async def scenario() -> None:
        limits = Limits(parallel=PLACES)
        calls = Calls(limits, 3 * PLACES)
        await settle()
        assert calls.sent == PLACES
        limits.concurrency_limit(ASK.spec).pause(0.3)
        calls.may_end.set()
        await settle()
        assert calls.sent == PLACES
        await asyncio.gather(*calls.tasks)
        assert calls.sent == 3 * PLACES

    run(scenario)


@pytest.mark.parametrize("limits", [{"budget": Budget(0.0, lambda ask: 1.0)}, {"cancelled": lambda: True}])
def test_no_call_is_sent_beyond_the_ceiling_or_in_a_cancelled_run(limits: dict) -> None:
    async def scenario() -> None:
        calls = Calls(Limits(parallel=PLACES, **limits), 3)
        assert all(isinstance(one, RunStopped) for one in await asyncio.gather(*calls.tasks, return_exceptions=True))
        assert calls.sent == 0

    run(scenario)
