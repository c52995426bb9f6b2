"""The connections of the job queue, which continue after a restart of the database.

Procrastinate 3.10 ends its listening connection and its heartbeat at the first lost connection, and goes on without
them: jobs are then found by polling only, and after a while other workers take it for crashed.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any

import psycopg
from procrastinate import PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException

from storage.database_errors import DatabaseUnavailable

RETRY_SECONDS = 15.0
"""How long a change is repeated. In a longer outage the queue's next poll fails, and the worker starts a new one."""
PAUSE = 0.5
"""Seconds between two attempts to connect."""
LOGGERS = ("procrastinate.worker", "procrastinate.utils", "psycopg.pool", "asyncio")
"""What the queue writes to in an outage; asyncio writes about tasks of the queue that nobody waits for."""


class JobConnector(PsycopgConnector):
    """Connects again for notifications, and repeats heartbeats and ends of jobs."""

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Call a function for each notification, until cancelled."""
        names = list(channels)
        while True:
            try:
                await super().listen_notify(on_notification, names)
            except ConnectorException as error:
                if not is_interruption(error):
                    raise
            await asyncio.sleep(PAUSE)

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        """Execute a statement, again after an interruption."""
        end = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                await super().execute_query_async(query, **arguments)
                return
            except ConnectorException as error:
                if not is_interruption(error) or time.monotonic() > end:
                    raise
            await asyncio.sleep(PAUSE)


def is_interruption(error: BaseException) -> bool:
    """Return whether an error is due to an interruption of the connections."""
    return any(isinstance(cause, psycopg.OperationalError | DatabaseUnavailable) for cause in _causes(error))


def _is_lost_job(error: BaseException) -> bool:
    """Return whether the end of a job could not be stored, because it was taken from this worker in an outage."""
    causes = _causes(error)
    return any(
        isinstance(cause, psycopg.errors.RaiseException) and "Job was not found" in str(cause) for cause in causes
    )


def _causes(error: BaseException) -> list[BaseException]:
    causes, cause = [], error.__cause__
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__
    return [error, *causes]


class _WithoutOutages(logging.Filter):
    """Drops messages about interrupted connections: the worker reports an outage in one sentence."""

    def filter(self, record: logging.LogRecord) -> bool:
        arguments = record.args if isinstance(record.args, tuple) else ()
        errors = [value for value in (*arguments, *(record.exc_info or ())) if isinstance(value, BaseException)]
        return not any(is_interruption(error) or _is_lost_job(error) for error in errors)


_without_outages = _WithoutOutages()


def filter_logs() -> None:
    """Let the queue log no more about outages; other errors are logged."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_without_outages)
