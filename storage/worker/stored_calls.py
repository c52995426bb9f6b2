"""A model whose calls are stored, and are not made again if a run of the database has made them.

Each call is recorded before it is sent, and its reply is stored before it is returned: a worker that is killed loses at
most the calls in flight, and these are counted (`storage.calls.count_interrupted`). If two tasks of one process need
the same call at the same time, one makes it. Two processes may both make it; each trace then has the reply it
received.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from sqlalchemy import Engine

from core.answers import Format
from core.errors import PermanentFailure, RunStopped, TemporaryFailure
from core.llm.call_keys import call_keys
from core.llm.client import Model, Reply, Sampler
from core.trace import Ask, Spec
from storage import calls
from storage.database import Session, reading, write
from storage.database_errors import DatabaseUnavailable
from storage.runs import Run
from storage.worker.outages import through_outage

MAX_BATCH = 256
"""Requests to the database that are combined."""
Request = TypeVar("Request")
Result = TypeVar("Result")
Locks = WeakValueDictionary[str, asyncio.Lock]
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, Locks] = WeakKeyDictionary()
"""The calls that an event loop makes now, by database and key."""


class Batches(Generic[Request, Result]):
    """Combines requests that arrive at the same time, and runs one combination after another in a thread."""

    def __init__(self, operation: Callable[[list[Request]], Sequence[Result]]) -> None:
        self._operation = operation
        self._waiting: list[tuple[Request, asyncio.Future[Result]]] = []
        self._task: asyncio.Task[None] | None = None

    async def submit(self, request: Request) -> Result:
        """Return the result of a request; raises RunStopped if the database cannot be reached for too long."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, result))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await result

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            requests = [request for request, _ in batch]
            results: Sequence[Result] | Exception
            try:
                results = await through_outage(lambda requests=requests: self._operation(requests))  # type: ignore[misc]
            except DatabaseUnavailable as error:
                results = RunStopped(str(error))
            except Exception as error:
                results = error
            for position, (_, result) in enumerate(batch):
                if result.done():  # its task was cancelled
                    continue
                if isinstance(results, Exception):
                    result.set_exception(results)
                else:
                    result.set_result(results[position])


@dataclass(frozen=True)
class _Ended:
    """The end of calls: their replies by key, or keys without a reply."""

    replies: dict[str, Reply] = field(default_factory=dict)
    failed: tuple[str, ...] = ()


class StoredCalls:
    """A model that makes each call once: it returns stored replies of this and of other runs."""

    def __init__(self, model: Model, engine: Engine, run: Run, worker: str) -> None:
        """Wrap a model for one claim of a run. A run with `fresh` finds only calls of its own."""
        self.model = model
        self._engine, self._run, self._worker = engine, run, worker
        self._finding = Batches(self._find)
        self._beginning = Batches(self._begin)
        self._ending = Batches(self._end)

    async def find(self, ask: Ask) -> list[Reply]:
        """Return the stored replies to the samples of an ask, up to the first that is not stored."""
        return _prefix(await self._finding.submit(self._keys(ask)))

    async def complete(self, ask: Ask) -> Reply:
        """Return the stored reply, otherwise make the call and store its reply."""
        keys = self._keys(ask)
        async with self._only_caller(keys):
            stored = _prefix(await self._finding.submit(keys))
            if stored:
                return stored[0]
            return (await self._call(keys, ask))[0]

    async def sample(self, ask: Ask) -> list[Reply]:
        """Return stored replies and those of one call for the others; fewer if the model returns fewer."""
        if not isinstance(self.model, Sampler):
            return []
        keys = self._keys(ask)
        async with self._only_caller(keys):
            found = await self._finding.submit(keys)
            missing = [position for position, reply in enumerate(found) if reply is None]
            if missing:
                draws = tuple(ask.draws[position] for position in missing)
                request = replace(ask, samples=len(missing), draws=draws)
                replies = await self._call([keys[position] for position in missing], request, sampler=self.model)
                for position, reply in zip(missing, replies, strict=False):
                    found[position] = reply
        return _prefix(found)

    async def answer_format(self, spec: Spec) -> Format:
        """Return the wrapped model's format."""
        return await self.model.answer_format(spec)

    async def close(self) -> None:
        """Close the wrapped model."""
        await self.model.close()

    def _keys(self, ask: Ask) -> list[str]:
        return call_keys(ask, self._run.repeat)

    async def _call(self, keys: Sequence[str], ask: Ask, sampler: Sampler | None = None) -> list[Reply]:
        """Make a call and store its replies. A call that fails with the provider's error is not stored."""
        await self._beginning.submit(keys)
        try:
            replies = [await self.model.complete(ask)] if sampler is None else await sampler.sample(ask)
        except (TemporaryFailure, PermanentFailure):
            await self._ending.submit(_Ended(failed=tuple(keys)))
            raise
        received = dict(zip(keys, replies, strict=False))
        await self._ending.submit(_Ended(received, tuple(key for key in keys if key not in received)))
        return replies

    @asynccontextmanager
    async def _only_caller(self, keys: Sequence[str]) -> AsyncIterator[None]:
        """Hold the locks of calls: another task that needs one of them waits, and finds its reply stored."""
        locks = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        async with AsyncExitStack() as stack:
            for key in sorted(keys):  # all tasks take locks in the same order
                await stack.enter_async_context(locks.setdefault(f"{self._engine.url} {key}", asyncio.Lock()))
            yield

    def _find(self, requests: list[Sequence[str]]) -> list[list[Reply | None]]:
        with reading(self._engine) as session:
            wanted = list({key for keys in requests for key in keys})
            only = self._run.id if self._run.fresh else None
            stored = calls.find(session, wanted, self._run.study_id, run_id=only)
        return [[stored.get(key) for key in keys] for keys in requests]

    def _begin(self, requests: list[Sequence[str]]) -> list[None]:
        keys = [key for keys in requests for key in keys]
        write(self._engine, lambda session: calls.begin(session, self._run.id, self._worker, keys))
        return [None] * len(requests)

    def _end(self, requests: list[_Ended]) -> list[None]:
        def end(session: Session) -> None:
            replies = {key: reply for ended in requests for key, reply in ended.replies.items()}
            calls.save(session, self._run.id, self._worker, replies)
            failed = [key for ended in requests for key in ended.failed]
            if failed:
                calls.abandon(session, self._worker, failed)

        write(self._engine, end)
        return [None] * len(requests)


def _prefix(replies: Sequence[Reply | None]) -> list[Reply]:
    """Return the replies before the first that is missing."""
    found: list[Reply] = []
    for reply in replies:
        if reply is None:
            break
        found.append(reply)
    return found
