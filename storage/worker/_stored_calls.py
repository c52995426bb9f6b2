"""A model whose calls are stored, and are not made again if a run of the database has made them.

Each call is recorded before it is sent, and its reply is stored before the event of its turn or with it, while the next
call is made: a worker that is killed loses at most the calls in flight and the replies of the transaction in progress,
and these are counted (`storage.runs.calls.count_interrupted`), with the few that were recorded and waited to be sent
(decision 018). If two tasks of one process need the same call at the same time, one makes it. Two processes may both
make it; each trace then has the reply it received.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.answers.answer import Format
from core.errors import PermanentFailure, RunStopped, TemporaryFailure
from core.llm import images, progress
from core.llm.client import Model, Reply, Sampler
from core.llm.costs import usage_of_request
from core.llm.wire import call_keys
from core.trace import Ask, Spec
from storage.db.connections import read
from storage.db.errors import DatabaseUnavailable
from storage.runs import calls
from storage.runs.runs import Run
from storage.worker._outages import through_outage
from storage.worker._transactions import Batches, Operation, Order, Transactions

Locks = WeakValueDictionary[str, asyncio.Lock]
# The calls that an event loop makes now, by database and key.
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, Locks] = WeakKeyDictionary()


# The end of calls: their replies by key, and the keys without a reply.
Ended = tuple[dict[str, Reply], Sequence[str]]


class StoredCalls:
    """A model that makes each call once: it returns stored replies of this and of other runs."""

    def __init__(
        self, model: Model, engine: Engine, run: Run, worker: str, transactions: Transactions, folder: Path
    ) -> None:
        """Wrap a model for one claim of a run; `folder` has its images, whose files are read when an ask is sent.

        A run with `fresh` finds only calls of its own.
        """
        self.model = model
        self._engine, self._run, self._worker, self._transactions = engine, run, worker, transactions
        self._folder = folder
        self._finding = Batches(self._find)
        self._beginning = Operation(Order.calls_begin, self._begin)
        self._ending = Operation(Order.calls_end, self._end)
        self._recorded: dict[tuple[str, ...], tuple[list[Reply | None], ExitStack]] = {}
        """Calls that wait to be sent, by their keys: their stored replies, and what holds the locks of the keys."""
        self._storing: dict[int, tuple[Reply, set[asyncio.Future[None]]]] = {}
        """The id of a reply that was just received -> the reply, and the futures of its storing."""
        self._known: dict[int, tuple[ref[Ask], Ask | None, list[str]]] = {}
        """The id of an ask -> the ask, with the contents of its images if it has some, and its keys: they are needed to
        find its replies and to make its call."""

    async def find(self, ask: Ask) -> list[Reply]:
        """Return the stored replies to the samples of an ask, up to the first that is not stored."""
        try:
            _, keys = await self._sent(ask)
        except PermanentFailure:  # an image cannot be read: the call will report it
            return []
        with _without_outage():
            found = _prefix(await self._finding.add(keys))
        return [_of_request(reply, ask) for reply in found]

    @asynccontextmanager
    async def recorded(self, ask: Ask) -> AsyncIterator[None]:
        """Record the call of an ask, which `complete` or `sample` then makes; it is withdrawn if none of them does.

        Raises PermanentFailure for an image that cannot be read.
        """
        _, keys = await self._sent(ask)
        with ExitStack() as caller:
            await self._become_only_caller(keys, caller)
            with _without_outage():
                found = await self._transactions.submit(self._beginning, keys)
            self._recorded[tuple(keys)] = found, caller
            try:
                yield
            finally:
                if self._recorded.pop(tuple(keys), None) is not None:
                    self._withdraw(keys)

    async def complete(self, ask: Ask) -> Reply:
        """Return the stored reply, otherwise make a recorded call; its reply is stored when `stored` returns."""
        return (await self._call(ask))[0]

    async def sample(self, ask: Ask) -> list[Reply]:
        """Return stored replies and those of one call for the others; fewer if the model returns fewer."""
        return await self._call(ask, self.model) if isinstance(self.model, Sampler) else []

    async def stored(self, replies: Sequence[Reply]) -> None:
        """Return when replies of `complete` or `sample` are stored."""
        for reply in replies:
            _, futures = self._storing.get(id(reply), (reply, set()))
            for future in tuple(futures):
                with _without_outage():
                    await asyncio.shield(future)  # others may wait for it too

    async def answer_format(self, spec: Spec) -> Format:
        """Return the wrapped model's format."""
        return await self.model.answer_format(spec)

    async def close(self) -> None:
        """Close the wrapped model."""
        await self.model.close()

    async def _sent(self, ask: Ask) -> tuple[Ask, list[str]]:
        """Return an ask with the contents of its images, and its keys."""
        known = self._known.get(id(ask))
        if known is None:
            sent = await images.with_contents(ask, self._folder) if ask.images else None
            forget = partial(self._known.pop, id(ask))
            known = ref(ask, lambda _: forget(None)), sent, call_keys(sent or ask, self._run.repeat)
            self._known[id(ask)] = known
        return known[1] or ask, known[2]

    async def _call(self, ask: Ask, sampler: Sampler | None = None) -> list[Reply]:
        """Return stored replies and those of a call for the others, which are then being stored.

        A call that fails with the provider's error is not stored.
        """
        ask, keys = await self._sent(ask)
        recorded, caller = self._recorded.pop(tuple(keys))
        found = [None if reply is None else _of_request(reply, ask) for reply in recorded]
        missing = [position for position, reply in enumerate(found) if reply is None]
        if missing:
            called = [keys[position] for position in missing]
            if len(missing) < len(keys):
                draws = tuple(ask.draws[position] for position in missing)
                ask = replace(ask, samples=len(missing), draws=draws)
            replies = await self._send(called, ask, sampler)
            self._store(called, replies, caller.pop_all())
            for position, reply in zip(missing, replies, strict=False):
                found[position] = reply
        return _prefix(found)

    def _withdraw(self, keys: Sequence[str]) -> None:
        """Start to remove the records of calls that were not sent; if that fails, they count as interrupted."""
        future = self._transactions.submit(self._ending, ({}, keys))
        future.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _send(self, keys: Sequence[str], ask: Ask, sampler: Sampler | None) -> list[Reply]:
        followed = progress.current.get()
        try:
            with followed.open(ask) if followed else nullcontext():
                return [await self.model.complete(ask)] if sampler is None else await sampler.sample(ask)
        except (TemporaryFailure, PermanentFailure):
            with _without_outage():
                await self._transactions.submit(self._ending, ({}, keys))
            raise

    def _store(self, keys: Sequence[str], replies: Sequence[Reply], caller: ExitStack) -> None:
        """Start to store the replies to calls, before their events; others may need the same calls afterwards."""
        received = dict(zip(keys, replies, strict=False))
        future = self._transactions.submit(self._ending, (received, [key for key in keys if key not in received]))
        for reply in replies:
            self._storing.setdefault(id(reply), (reply, set()))[1].add(future)

        def end(future: asyncio.Future[None]) -> None:
            caller.close()
            if future.cancelled() or future.exception() is not None:
                return  # `stored` raises it
            for reply in replies:
                _, futures = self._storing.get(id(reply), (reply, set()))
                futures.discard(future)
                if not futures:
                    self._storing.pop(id(reply), None)

        future.add_done_callback(end)

    async def _become_only_caller(self, keys: Sequence[str], caller: ExitStack) -> None:
        """Take the locks of calls until `caller` is closed: another task that needs one then finds its reply stored."""
        locks = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        for key in sorted(keys):  # all tasks take locks in the same order
            lock = locks.setdefault(f"{self._engine.url} {key}", asyncio.Lock())
            await lock.acquire()
            caller.callback(lock.release)

    async def _find(self, requests: list[Sequence[str]]) -> list[list[Reply | None]]:
        return await through_outage(partial(read, self._engine, partial(self._stored, requests=requests)))

    def _begin(self, session: Session, requests: list[Sequence[str]], repeated: bool) -> list[list[Reply | None]]:
        """Return the stored replies, and record the other calls as sent."""
        replies = self._stored(session, requests)
        sent = [
            key
            for keys, found in zip(requests, replies, strict=True)
            for key, reply in zip(keys, found, strict=True)
            if reply is None
        ]
        calls.begin(session, self._run.id, self._worker, sent)
        return replies

    def _end(self, session: Session, requests: list[Ended], repeated: bool) -> list[None]:
        calls.save(
            session, self._run.id, self._worker, {k: reply for replies, _ in requests for k, reply in replies.items()}
        )
        if failed := [key for _, without in requests for key in without]:
            calls.abandon(session, self._worker, failed)
        return [None] * len(requests)

    def _stored(self, session: Session, requests: list[Sequence[str]]) -> list[list[Reply | None]]:
        """Return the stored reply to each key."""
        wanted = list({key for keys in requests for key in keys})
        only = self._run.id if self._run.fresh else None
        stored = calls.find(session, wanted, self._run.study_id, run_id=only)
        return [[stored.get(key) for key in keys] for keys in requests]


@contextmanager
def _without_outage() -> Iterator[None]:
    """Raise RunStopped in place of DatabaseUnavailable."""
    try:
        yield
    except DatabaseUnavailable as error:
        raise RunStopped(str(error)) from error


def _of_request(reply: Reply, ask: Ask) -> Reply:
    """Return a stored reply with the usage of a request for the samples of this ask, if it is of a larger request."""
    usage = usage_of_request(reply.usage, ask.spec, reply.samples, ask.samples)
    return reply if usage is reply.usage else reply.model_copy(update={"usage": usage})


def _prefix(replies: Sequence[Reply | None]) -> list[Reply]:
    """Return the replies before the first that is missing."""
    found: list[Reply] = []
    for reply in replies:
        if reply is None:
            break
        found.append(reply)
    return found
