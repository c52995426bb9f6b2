"""Concurrency, retries and costs of a run, shared by all of its traces."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.errors import RunStopped, TemporaryFailure
from core.llm import PARALLEL_CALLS, local_server
from core.trace import Ask, Spec


@dataclass(kw_only=True, eq=False)
class Limits:
    """The limits of one run, used inside one event loop.

    The wait between attempts is random up to `backoff` seconds, which double with each failure up to `max_wait`. A
    provider that asks for more than `max_retry_after` seconds is not retried.
    """

    parallel: int = PARALLEL_CALLS
    """Concurrent calls to each model."""
    max_tries: int = 5
    backoff: float = 1.0
    max_wait: float = 60.0
    max_retry_after: float = 600.0
    budget: "Budget | None" = None
    cancelled: Callable[[], bool] = lambda: False
    concurrency: dict[tuple[str, str | None], "ConcurrencyLimit"] = field(default_factory=dict)
    """The places at each model and address; runs with the same dictionary share them."""

    def concurrency_limit(self, spec: Spec) -> "ConcurrencyLimit":
        """Return the limit of one model at one address."""
        key = (spec.model, spec.address)
        if key not in self.concurrency:
            slots = min(self.parallel, local_server.SLOTS) if local_server.is_local(spec) else self.parallel
            self.concurrency[key] = ConcurrencyLimit(slots)
        return self.concurrency[key]

    def wait_before_retry(self, failures: int, error: TemporaryFailure) -> float | None:
        """Return the seconds before the next attempt; None when there is none.

        Exponential back-off with full jitter, in addition to the wait that the provider requested.
        """
        requested = error.retry_after or 0.0
        if failures >= self.max_tries or requested > self.max_retry_after:
            return None
        return requested + random.uniform(0, min(self.max_wait, self.backoff * 2 ** (failures - 1)))

    async def pause(self, seconds: float) -> None:
        """Sleep in short steps; raises RunStopped when the run is cancelled in the meantime."""
        end = time.monotonic() + seconds
        while (remaining := end - time.monotonic()) > 0:
            self.raise_if_cancelled()
            await asyncio.sleep(min(remaining, 0.5))

    def raise_if_cancelled(self) -> None:
        """Raise RunStopped once the run is cancelled."""
        if self.cancelled():
            raise RunStopped("The run was cancelled.")

    @asynccontextmanager
    async def acquire(self, ask: Ask) -> AsyncIterator[None]:
        """Hold one of the model's concurrent calls and reserve its cost; raises RunStopped instead of starting it."""
        limit = self.concurrency_limit(ask.spec)
        async with limit.semaphore:
            while (remaining := limit.remaining_pause()) > 0:
                await self.pause(remaining)
            self.raise_if_cancelled()
            async with self._reserved_cost(ask):
                yield

    @asynccontextmanager
    async def _reserved_cost(self, ask: Ask) -> AsyncIterator[None]:
        if self.budget is None:
            yield
            return
        reserved = await self.budget.reserve(ask)
        try:
            yield
        finally:
            await self.budget.release(reserved)


class ConcurrencyLimit:
    """At most `parallel` concurrent calls, and none while the provider asked for a pause."""

    def __init__(self, parallel: int) -> None:
        self.semaphore = asyncio.Semaphore(parallel)
        self.single_samples = False
        """Whether the model has turned out not to return several samples from one call."""
        self.text_only = False
        """Whether the model has refused the JSON schema of an answer."""
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Start no call for this number of seconds (a provider's Retry-After)."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def remaining_pause(self) -> float:
        """Return the seconds until calls may start again; negative when they may."""
        return self._paused_until - time.monotonic()


def ceiling_reached(ceiling: float) -> str:
    """Return the sentence for a cost limit in dollars that is reached."""
    amount = f"{ceiling:.2f}" if ceiling >= 0.01 else f"{ceiling:g}"
    return f"The ceiling of ${amount} is reached."


class Budget:
    """A cost limit. A call starts only when the money spent and reserved leaves room for it."""

    def __init__(self, ceiling: float, maximum_cost: Callable[[Ask], float | None], spent: float = 0.0) -> None:
        """Limit to `ceiling` dollars. `maximum_cost` of an ask may be None, unknown: such calls reserve nothing."""
        self.ceiling = ceiling
        self.spent = spent
        self._maximum_cost = maximum_cost
        self._reserved = 0.0
        self._changed = asyncio.Condition()

    async def reserve(self, ask: Ask) -> float:
        """Reserve the most a call can cost, in dollars, and return it; raises RunStopped when the limit is reached.

        While other calls have reservations it waits: they may cost less than they reserved.
        """
        cost = self._maximum_cost(ask) or 0.0
        async with self._changed:
            await self._changed.wait_for(lambda: self._fits(cost) or not self._reserved)
            if not self._fits(cost):
                raise RunStopped(ceiling_reached(self.ceiling))
            self._reserved += cost
        return cost

    async def release(self, reserved: float) -> None:
        """Release a reservation after its call; the actual cost has already been added."""
        async with self._changed:
            self._reserved = max(0.0, self._reserved - reserved)
            if self._reserved < 1e-9:  # rounding errors would make `reserve` wait for a call that is not there
                self._reserved = 0.0
            self._changed.notify_all()

    def _fits(self, cost: float) -> bool:
        return self.spent + self._reserved + cost <= self.ceiling and self.spent < self.ceiling
