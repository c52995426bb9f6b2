"""Which calls are recorded as about to be sent, and when."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import ceil

import pytest

from core.errors import RunStopped
from core.llm.limits import RECORDED_AHEAD, Budget, Limits
from core.trace import Ask, Spec

PLACES = 4
ASK = Ask("judge", "opinion", 1, Spec(model="m"), "A prompt.")


class Calls:
    """Calls that are recorded, then sent, and that end when they may."""

    def __init__(self, limits: Limits, count: int) -> None:
        self.limits, self.sent, self.recorded, self.records = limits, 0, 0, 0
        self.may_end = asyncio.Event()
        self.tasks = [asyncio.create_task(self.call()) for _ in range(count)]

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[None]:
        self.recorded, self.records = self.recorded + 1, self.records + 1
        try:
            yield
        finally:
            self.recorded -= 1

    async def call(self) -> None:
        async with self.limits.acquire(ASK, self.recording):
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


def test_a_few_of_the_calls_that_wait_are_recorded_and_no_more_are_sent_than_allowed() -> None:
    async def scenario() -> None:
        calls = Calls(Limits(parallel=PLACES), 5 * PLACES)
        await settle()
        assert (calls.sent, calls.recorded) == (PLACES, PLACES + ceil(PLACES * RECORDED_AHEAD))
        calls.may_end.set()
        await asyncio.gather(*calls.tasks)
        assert (calls.sent, calls.records, calls.recorded) == (5 * PLACES, 5 * PLACES, 0)

    run(scenario)


def test_during_a_pause_of_the_model_no_call_is_recorded_but_those_already_sent() -> None:
    async def scenario() -> None:
        limits = Limits(parallel=PLACES)
        calls = Calls(limits, 3 * PLACES)
        await settle()
        limits.concurrency_limit(ASK.spec).pause(0.3)
        calls.may_end.set()
        await settle()
        assert (calls.sent, calls.recorded) == (PLACES, 0)
        await asyncio.gather(*calls.tasks)
        assert calls.sent == 3 * PLACES

    run(scenario)


def test_the_record_of_a_call_that_may_not_start_is_withdrawn() -> None:
    async def scenario() -> None:
        limits = Limits(parallel=PLACES, budget=Budget(0.0, lambda ask: 1.0))
        calls = Calls(limits, 3)
        assert all(isinstance(one, RunStopped) for one in await asyncio.gather(*calls.tasks, return_exceptions=True))
        assert (calls.sent, calls.records, calls.recorded) == (0, 3, 0)

    run(scenario)


def test_a_cancelled_run_records_nothing_more() -> None:
    async def scenario() -> None:
        calls = Calls(Limits(parallel=PLACES, cancelled=lambda: True), 3)
        with pytest.raises(RunStopped):
            await calls.tasks[0]
        await asyncio.gather(*calls.tasks, return_exceptions=True)
        assert (calls.sent, calls.records) == (0, 0)

    run(scenario)
