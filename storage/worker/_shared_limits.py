"""The limits of a run that several workers execute: concurrent calls and costs are counted in the database."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import RunStopped
from core.llm import costs, local_server
from core.llm.limits import Budget, ConcurrencyLimit, Limits, Recording, ceiling_reached
from core.trace import Ask, Spec
from storage.db.connections import insert_missing, write
from storage.db.errors import DatabaseUnavailable
from storage.db.tables import ReservationRow, SpendingRow
from storage.runs import calls, experiments, runs
from storage.worker._outages import through_outage

# Between two attempts to reserve a call, at random: a call takes about a second.
WAIT_SECONDS = (0.02, 0.1)
# The class of the advisory locks of runs: one call at a time is counted for each run.
LOCK = 8_442_326


# Calls in progress of workers that share a run: the limits of concurrent calls and of costs hold over all of them.


class CeilingReached(RunStopped):
    """The costs and reservations of a run leave no room for a call, and no call in progress can release any."""


@dataclass(frozen=True)
class Paused:
    """The model may not be called for some seconds, because its provider asked for it."""

    seconds: float


def reserve(
    session: Session, run_id: int, worker_id: int, model: str, *, slots: int, dollars: float, ceiling: float | None
) -> int | Paused | None:
    """Reserve one of `slots` concurrent calls to a model, and what it costs at most; return the id of the call.

    Returns None if it has to wait for other calls; raises CeilingReached if waiting would not help.
    """
    if (pause := calls.remaining_pause(session).get(model)) is not None:
        return Paused(pause)
    session.execute(text("SELECT pg_advisory_xact_lock(:class, :run)"), {"class": LOCK, "run": run_id})
    in_progress = select(func.count()).where(col(ReservationRow.run_id) == run_id, col(ReservationRow.model) == model)
    if (session.scalar(in_progress) or 0) >= slots:
        return None
    if ceiling is not None:
        spent = _spent(session, run_id)
        reserved = (
            session.scalar(select(func.sum(col(ReservationRow.dollars))).where(col(ReservationRow.run_id) == run_id))
            or 0.0
        )
        if spent >= ceiling or spent + reserved + dollars > ceiling:
            if reserved > 0:
                return None
            raise CeilingReached(ceiling_reached(ceiling))
    row = {"run_id": run_id, "worker_id": worker_id, "model": model, "dollars": dollars}
    query = insert(ReservationRow.__table__).values(row).returning(col(ReservationRow.id))  # type: ignore[attr-defined]
    return int(session.execute(query).scalar_one())


def end_call(session: Session, run_id: int, call_id: int, dollars: float) -> None:
    """End a call, and add what has been spent."""
    if dollars:
        session.execute(text("SELECT pg_advisory_xact_lock(:class, :run)"), {"class": LOCK, "run": run_id})
        spent = update(SpendingRow).where(col(SpendingRow.run_id) == run_id)
        session.execute(spent.values(dollars=col(SpendingRow.dollars) + dollars))
    session.execute(delete(ReservationRow).where(col(ReservationRow.id) == call_id))


def calls_of(session: Session, worker_id: int) -> set[int]:
    """Return the ids of a worker's calls in progress."""
    return set(session.scalars(select(col(ReservationRow.id)).where(col(ReservationRow.worker_id) == worker_id)))


def remove_calls(session: Session, call_ids: Collection[int]) -> None:
    """End calls without costs: their worker knows nothing of them."""
    session.execute(delete(ReservationRow).where(col(ReservationRow.id).in_(call_ids)))


def _spent(session: Session, run_id: int) -> float:
    query = select(col(SpendingRow.dollars)).where(col(SpendingRow.run_id) == run_id)
    spent = session.scalar(query)
    if spent is None:
        _, spent = experiments.budget(session, runs.get(session, run_id))
        insert_missing(session, SpendingRow, [{"run_id": run_id, "dollars": spent}])
    return spent


class ProcessLimits(Limits):
    """The limits of one run in this process, with the pauses that any process on the database was asked for."""

    def __init__(
        self,
        engine: Engine,
        *,
        parallel: int,
        budget: Budget | None,
        cancelled: Callable[[], bool],
        concurrency: dict[tuple[str, str | None], ConcurrencyLimit] | None = None,
    ) -> None:
        """Limit the calls of a run; runs with the same `concurrency` share their places at each model."""
        super().__init__(parallel=parallel, budget=budget, cancelled=cancelled)
        self._engine = engine
        if concurrency is not None:
            self._concurrency_limits = concurrency

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
        run: runs.Run,
        ceiling: float | None,
        worker_id: int,
        cancelled: Callable[[], bool],
        open_calls: set[int],
    ) -> None:
        """Limit the calls of a run; `open_calls` holds the ids of all calls of this process while they last."""
        # Adds up the costs of calls until one of them is released, which stores them.
        self._spending = Budget(ceiling or 0.0, costs.maximum_cost)
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
        attempt = partial(
            reserve,
            run_id=self._run.id,
            worker_id=self._worker_id,
            model=model,
            slots=slots,
            dollars=(costs.maximum_cost(ask) or 0.0) if ceiling is not None else 0.0,
            ceiling=ceiling,
        )
        try:
            return write(self._engine, attempt)
        except IntegrityError:  # the worker was not seen for too long, or the run has been deleted
            raise RunStopped("Another worker continues this run.") from None

    async def _release(self, call_id: int) -> None:
        try:
            async with self._releasing:  # the costs of a call are stored before its reservation ends
                dollars, self._spending.spent = self._spending.spent, 0.0
                end = partial(end_call, run_id=self._run.id, call_id=call_id, dollars=dollars)
                await through_outage(partial(write, self._engine, end))
        finally:
            self._open_calls.discard(call_id)


def _model_key(spec: Spec) -> str:
    """Return what a limit counts: a model at an address; each machine has its own local server."""
    return calls.pause_key(spec.model, socket.gethostname() if local_server.is_local(spec) else spec.address)
