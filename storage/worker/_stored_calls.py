"""A model whose calls are stored, and are not made again if a run of the database has made them.

Each call is recorded before it is sent, and its reply is stored before the flow sees it: a worker that is killed loses
at most the calls in flight, and these are counted (`storage.runs.calls.count_interrupted`). If two tasks of one process
need the same call at the same time, one makes it. Two processes may both make it; each trace then has the reply it
received.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.answers.answer import Format
from core.errors import PermanentFailure, TemporaryFailure
from core.llm import images, progress
from core.llm.client import Model, Reply, Sampler
from core.llm.costs import usage_of_request
from core.llm.wire import call_keys
from core.trace import Ask, Spec
from storage.db.connections import read
from storage.runs import calls
from storage.runs.runs import Run
from storage.worker._transactions import Batches

Locks = WeakValueDictionary[str, asyncio.Lock]
# The calls that an event loop makes now, by database and key.
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, Locks] = WeakKeyDictionary()


class StoredCalls:
    """A model that makes each call once: it returns stored replies of this and of other runs."""

    def __init__(self, model: Model, engine: Engine, run: Run, worker: str, folder: Path) -> None:
        """Wrap a model for one claim of a run; `folder` has its images, whose files are read when an ask is sent.

        A run with `fresh` finds only calls of its own.
        """
        self.model = model
        self._engine, self._run, self._worker, self._folder = engine, run, worker, folder
        self._finding = Batches(engine, self._find, read)
        self._beginning = Batches(engine, self._begin)
        self._ending = Batches(engine, self._end)

    async def find(self, ask: Ask) -> list[Reply]:
        """Return the stored replies to the samples of an ask, up to the first that is not stored."""
        try:
            ask, keys = await self._sent(ask)
        except PermanentFailure:  # an image cannot be read: the call will report it
            return []
        return [_of_request(reply, ask) for reply in _prefix(await self._finding.add(keys))]

    async def complete(self, ask: Ask) -> Reply:
        """Return the stored reply, otherwise make the call and store its reply."""
        return (await self._call(ask))[0]

    async def sample(self, ask: Ask) -> list[Reply]:
        """Return stored replies and those of one call for the others; fewer if the model returns fewer."""
        return await self._call(ask, self.model) if isinstance(self.model, Sampler) else []

    async def answer_format(self, spec: Spec) -> Format:
        """Return the wrapped model's format."""
        return await self.model.answer_format(spec)

    async def close(self) -> None:
        """Close the wrapped model."""
        await self.model.close()

    async def finish(self) -> None:
        """Wait until the replies that have arrived are stored."""
        await self._ending.finish()

    async def _sent(self, ask: Ask) -> tuple[Ask, list[str]]:
        """Return an ask with the contents of its images, and its keys."""
        sent = await images.with_contents(ask, self._folder) if ask.images else ask
        return sent, call_keys(sent, self._run.repeat)

    async def _call(self, ask: Ask, sampler: Sampler | None = None) -> list[Reply]:
        """Return stored replies and those of a call for the others, which are stored."""
        ask, keys = await self._sent(ask)
        async with self._only_caller(keys):
            stored = await self._beginning.add(keys)
            found = [None if reply is None else _of_request(reply, ask) for reply in stored]
            missing = [position for position, reply in enumerate(found) if reply is None]
            if missing and len(missing) < len(keys):
                draws = tuple(ask.draws[position] for position in missing)
                ask = replace(ask, samples=len(missing), draws=draws)
            replies = await self._send([keys[position] for position in missing], ask, sampler) if missing else []
        for position, reply in zip(missing, replies, strict=False):
            found[position] = reply
        return _prefix(found)

    async def _send(self, keys: Sequence[str], ask: Ask, sampler: Sampler | None) -> list[Reply]:
        """Make a call and store its replies; one that fails with the provider's error is not stored."""
        followed = progress.current.get()
        try:
            with followed.open(ask) if followed else nullcontext():
                replies = [await self.model.complete(ask)] if sampler is None else await sampler.sample(ask)
        except (TemporaryFailure, PermanentFailure):
            await self._ending.add((keys, []))
            raise
        await self._ending.add((keys, replies))
        return replies

    @asynccontextmanager
    async def _only_caller(self, keys: Sequence[str]) -> AsyncIterator[None]:
        """Hold the locks of calls: another task that needs one then finds its reply stored."""
        locks = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
        async with AsyncExitStack() as held:
            for key in sorted(keys):  # all tasks take locks in the same order
                await held.enter_async_context(locks.setdefault(f"{self._engine.url} {key}", asyncio.Lock()))
            yield

    def _find(self, session: Session, requests: list[list[str]], repeated: bool = False) -> list[list[Reply | None]]:
        """Return the stored reply to each key."""
        wanted = list({key for keys in requests for key in keys})
        only = self._run.id if self._run.fresh else None
        stored = calls.find(session, wanted, self._run.study_id, run_id=only)
        return [[stored.get(key) for key in keys] for keys in requests]

    def _begin(self, session: Session, requests: list[list[str]], repeated: bool) -> list[list[Reply | None]]:
        """Return the stored replies, and record the other calls as sent."""
        found = self._find(session, requests)
        sent = [
            key
            for keys, replies in zip(requests, found, strict=True)
            for key, reply in zip(keys, replies, strict=True)
            if reply is None
        ]
        calls.begin(session, self._run.id, self._worker, sent)
        return found

    def _end(
        self, session: Session, requests: list[tuple[Sequence[str], Sequence[Reply]]], repeated: bool
    ) -> list[None]:
        """Store the replies to the first keys of each call; its other keys have none."""
        received = {key: reply for keys, replies in requests for key, reply in zip(keys, replies, strict=False)}
        calls.save(session, self._run.id, received)
        calls.abandon(session, self._worker, [key for keys, _ in requests for key in keys])
        return [None] * len(requests)


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
