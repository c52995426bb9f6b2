"""States the open calls of the traces that somebody watches, while a worker executes them."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from core.errors import TiebreakError
from core.llm.progress import Progress, current
from storage.db.connections import read, write
from storage.runs import live_traces

# Seconds between two looks whether a trace is watched, and between two statements of the calls of one that is.
LOOK, STATE = 1.0, 0.5
log = logging.getLogger("tiebreak")


class LiveTraces:
    """The traces that a worker executes now."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._followed: dict[int, Progress] = {}
        self._stated: set[int] = set()
        """Traces whose last statement had open calls."""
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def followed(self, trace_id: int) -> Iterator[None]:
        """Follow the calls that are made within the block as those of a trace."""
        progress = self._followed[trace_id] = Progress()
        token = current.set(progress)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._state_repeatedly())
        try:
            yield
        finally:
            current.reset(token)
            del self._followed[trace_id]

    async def _state_repeatedly(self) -> None:
        while self._followed or self._stated:
            is_watched = any(progress.is_watched for progress in self._followed.values())
            await asyncio.sleep(STATE if is_watched else LOOK)
            try:
                await self._state()
            except (SQLAlchemyError, TiebreakError) as error:  # nobody sees the calls until the database is back
                log.debug("Open calls could not be stated.", exc_info=error)

    async def _state(self) -> None:
        find = partial(live_traces.watched, trace_ids=list(self._followed))
        watched = await asyncio.to_thread(read, self._engine, find)
        for trace_id, progress in self._followed.items():
            progress.is_watched = trace_id in watched
        calls = {id: list(progress.calls.values()) for id, progress in self._followed.items() if progress.is_watched}
        calls |= {id: [] for id in self._stated - calls.keys()}
        self._stated = {id for id, found in calls.items() if found}
        if calls:
            await asyncio.to_thread(write, self._engine, partial(live_traces.state, calls=calls))
