"""The limits of a run that several workers execute: concurrent calls and costs are counted in the database."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from core.errors import RunStopped
from core.llm import costs, local_server
from core.llm.limits import Budget, ConcurrencyLimit, Limits, Recording, ceiling_reached
from core.trace import Ask, Spec
from storage.db.connections import write
from storage.db.errors import DatabaseUnavailable
from storage.runs import calls
from storage.runs.runs import Run
from storage.worker import reservations
from storage.worker.outages import through_outage
from storage.worker.reservations import Paused

WAIT_SECONDS = (0.02, 0.1)
"""Between two attempts to reserve a call, at random: a call takes about a second."""


class CeilingReached(RunStopped):
    """The run has reached its ceiling: no worker can continue it."""


class _Spending(Budget):
    """Adds up the costs of calls until one of them is released, which stores them."""

    def take(self) -> float:
        """Return the costs since the last call of this method."""
        dollars, self.spent = self.spent, 0.0
        return dollars


class ProcessLimits(Limits):
    """The limits of one run in this process, with the pauses that any process on the database was asked for."""

    def __init__(self, engine: Engine, *, parallel: int, budget: Budget | None, cancelled: Callable[[], bool]) -> None:
        super().__init__(parallel=parallel, budget=budget, cancelled=cancelled)
        self._engine = engine

    async def pause_model(self, spec: Spec, seconds: float) -> None:
        """Start no call to a model for some seconds, in any process."""
        await super().pause_model(spec, seconds)
        record = partial(calls.record_pause, model=_model_key(spec), seconds=seconds)
        with suppress(DatabaseUnavailable):  # this process waits in any case
            await asyncio.to_thread(write, self._engine, record)

    def observe(self, pauses: Mapping[str, float]) -> None:
        """Observe the pauses of other processes: model with its address -> seconds from now."""
        for model, address in list(self._concurrency_limits) if pauses else ():
            spec = Spec(model=model, address=address)
            self.concurrency_limit(spec).pause(pauses.get(_model_key(spec), 0.0))


class SharedLimits(ProcessLimits):
    """The limits of one run in one of its workers. The process starts no more calls than the whole run may."""

    def __init__(
        self,
        engine: Engine,
        run: Run,
        ceiling: float | None,
        worker_id: int,
        cancelled: Callable[[], bool],
        open_calls: set[int],
    ) -> None:
        """Limit the calls of a run; `open_calls` holds the ids of all calls of this process while they last."""
        self._spending = _Spending(ceiling or 0.0, costs.maximum_cost)
        budget = self._spending if ceiling is not None else None
        super().__init__(engine, parallel=run.parallel, budget=budget, cancelled=cancelled)
        self._run, self._ceiling, self._worker_id = run, ceiling, worker_id
        self._open_calls = open_calls
        self._reserving: dict[str, asyncio.Lock] = {}
        self._releasing = asyncio.Lock()

    @asynccontextmanager
    async def acquire(self, ask: Ask, recording: Recording = nullcontext) -> AsyncIterator[None]:
        """Reserve a call in the database; raises RunStopped instead of starting it.

        It is recorded afterwards: other workers may have the places of the run for long.
        """
        limit = self.concurrency_limit(ask.spec)
        async with limit.semaphore:
            call_id = await self._reserve(ask, limit)
            try:
                async with recording():
                    yield
            finally:
                await asyncio.shield(self._release(call_id))

    async def _reserve(self, ask: Ask, limit: ConcurrencyLimit) -> int:
        model = _model_key(ask.spec)
        async with self._reserving.setdefault(model, asyncio.Lock()):  # one attempt at a time from this process
            while True:
                while (remaining := limit.remaining_pause()) > 0:
                    await self.pause(remaining)
                self.raise_if_cancelled()
                call_id = await through_outage(partial(self._try, ask, model))
                if isinstance(call_id, Paused):
                    limit.pause(call_id.seconds)
                elif call_id is not None:
                    self._open_calls.add(call_id)
                    return call_id
                else:
                    await asyncio.sleep(random.uniform(*WAIT_SECONDS))

    def _try(self, ask: Ask, model: str) -> int | Paused | None:
        slots = min(self.parallel, local_server.SLOTS) if local_server.is_local(ask.spec) else self.parallel
        ceiling = self._ceiling
        reserve = partial(
            reservations.reserve,
            run_id=self._run.id,
            worker_id=self._worker_id,
            model=model,
            slots=slots,
            dollars=(costs.maximum_cost(ask) or 0.0) if ceiling is not None else 0.0,
            ceiling=ceiling,
        )
        try:
            return write(self._engine, reserve)
        except reservations.CeilingReached:
            raise CeilingReached(ceiling_reached(ceiling or 0.0)) from None
        except IntegrityError:  # the worker was not seen for too long, or the run has been deleted
            raise RunStopped("Another worker continues this run.") from None

    async def _release(self, call_id: int) -> None:
        try:
            async with self._releasing:  # the costs of a call are stored before its reservation ends
                store = partial(self._store, call_id=call_id, dollars=self._spending.take())
                await through_outage(partial(write, self._engine, store))
        finally:
            self._open_calls.discard(call_id)

    def _store(self, session: object, *, call_id: int, dollars: float) -> None:
        reservations.release(session, self._run.id, call_id, dollars)  # type: ignore[arg-type]


def _model_key(spec: Spec) -> str:
    """Return what a limit counts: a model at an address; each machine has its own local server."""
    return calls.pause_key(spec.model, socket.gethostname() if local_server.is_local(spec) else spec.address)
