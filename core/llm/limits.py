"""How much may go on at once, what it may cost, and how long to keep trying: shared by all traces of a run."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from core.llm import local_server
from core.problems import Stopped, Temporary
from core.trace import Ask, Spec


def _never() -> bool:
    return False


class Limits:
    """One for a whole run, used inside one event loop."""

    def __init__(
        self,
        *,
        parallel: int = 16,
        tries: int = 5,
        backoff: float = 1.0,
        longest_wait: float = 60.0,
        patience: float = 600.0,
        budget: "Budget | None" = None,
        cancelled: Callable[[], bool] = _never,
    ) -> None:
        """`parallel` calls at once to each model; `tries` of each call, with `backoff` seconds that double between them
        up to `longest_wait`; a provider that asks for more than `patience` seconds is not waited for."""
        self.parallel = parallel
        self.tries = tries
        self.backoff = backoff
        self.longest_wait = longest_wait
        self.patience = patience
        self.budget = budget
        self.cancelled = cancelled
        self._lanes: dict[tuple[str, str | None], ConcurrencyLimit] = {}

    def concurrency_limit(self, spec: Spec) -> "ConcurrencyLimit":
        """The way to one model at one address."""
        way = (spec.model, spec.address)
        if way not in self._lanes:
            local = spec.model == local_server.NAME and spec.address is None
            self._lanes[way] = ConcurrencyLimit(min(self.parallel, local_server.SLOTS) if local else self.parallel)
        return self._lanes[way]

    def wait(self, failures: int, trouble: Temporary) -> float | None:
        """Seconds before the next try: exponential back-off with full jitter, never less than the provider asked.

        None: the tries are used up, or the provider asks for more patience than there is.
        """
        asked = trouble.after or 0.0
        if failures >= self.tries or asked > self.patience:
            return None
        return asked + random.uniform(0, min(self.longest_wait, self.backoff * 2 ** (failures - 1)))

    async def pause(self, seconds: float) -> None:
        """Sleep, awake enough to notice that the run was cancelled."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            await asyncio.sleep(min(left, 0.5))

    def check(self) -> None:
        """Raise Stopped once the run was cancelled."""
        if self.cancelled():
            raise Stopped("The run was cancelled.")

    @asynccontextmanager
    async def turn(self, ask: Ask) -> AsyncIterator[None]:
        """Hold a place on the model's lane and the money for one call; raises Stopped instead of starting it."""
        lane = self.concurrency_limit(ask.spec)
        async with lane.places:
            while (left := lane.closed_for()) > 0:
                await self.pause(left)
            self.check()
            if self.budget is None:
                yield
                return
            reserved = await self.budget.reserve(ask)
            try:
                yield
            finally:
                await self.budget.release(reserved)


class ConcurrencyLimit:
    """At most `parallel` calls at once, and none while the provider asked everybody to wait."""

    def __init__(self, parallel: int) -> None:
        self.places = asyncio.Semaphore(parallel)
        self.one_by_one = False
        """Whether the model was found not to draw several samples in one call."""
        self._closed_until = 0.0

    def close(self, seconds: float) -> None:
        """Start no call for so many seconds (a provider's Retry-After)."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)

    def closed_for(self) -> float:
        """Seconds until calls may start again."""
        return self._closed_until - time.monotonic()


class Budget:
    """A ceiling on money. A call starts only when what is spent and what is under way leave room for it."""

    def __init__(self, ceiling: float, expected: Callable[[Ask], float | None], spent: float = 0.0) -> None:
        """Dollars; `expected` is the most that an ask may cost, None where nobody knows: such calls count nothing."""
        self.ceiling = ceiling
        self.spent = spent
        self._expected = expected
        self._under_way = 0.0
        self._change = asyncio.Condition()

    def pay(self, dollars: float | None) -> None:
        """A call has cost so much."""
        self.spent += dollars or 0.0

    async def reserve(self, ask: Ask) -> float:
        """Set money aside for one call, waiting for others to end where that may help; or raise Stopped."""
        price = self._expected(ask) or 0.0
        async with self._change:
            await self._change.wait_for(lambda: self._fits(price) or not self._under_way)
            if not self._fits(price):
                raise Stopped(f"The ceiling of ${self.ceiling:.2f} is reached.")
            self._under_way += price
        return price

    async def release(self, reserved: float) -> None:
        """The call is over; what it cost was paid before."""
        async with self._change:
            self._under_way = max(0.0, self._under_way - reserved)
            if self._under_way < 1e-9:
                self._under_way = 0.0
            self._change.notify_all()

    def _fits(self, price: float) -> bool:
        total = self.spent + self._under_way + price
        return total <= self.ceiling and self.spent < self.ceiling
