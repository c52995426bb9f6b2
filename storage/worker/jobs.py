"""The queue of traces on PostgreSQL: jobs of Procrastinate, one for each trace that is about to be executed.

A job says only that its trace may be claimed; what is done and by whom is in the tables of runs and traces. A job that
is lost or comes twice changes nothing: the trace is queued again, or it is not waiting any more.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, text

from core.errors import TiebreakError
from storage import postgresql, runs, trace_claims, workers
from storage.database import Session
from storage.worker.trace_execution import RunSetup, update_prompts

if TYPE_CHECKING:
    import procrastinate

TASK = "execute_trace"
POLL_SECONDS = 5.0
"""Interval at which a worker asks for jobs when no notification has come."""
CONNECTIONS = 4
POOL_TIMEOUT = 3.0
"""Seconds to wait for one of them. After an outage the pool tries again too rarely, and a new one connects at once."""


def create_app(engine: Engine, execute: Callable[[int], Awaitable[None]]) -> "procrastinate.App":
    """Return the queue in a database; its workers call `execute` with the id of a trace."""
    import procrastinate

    from storage.worker import job_connector

    job_connector.filter_logs()
    address = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    options = postgresql.server_arguments(engine.url.query)
    connector = job_connector.JobConnector(
        conninfo=address, kwargs=options, min_size=1, max_size=CONNECTIONS, timeout=POOL_TIMEOUT
    )
    app = procrastinate.App(connector=connector)

    @app.task(name=TASK)
    async def run(trace_id: int) -> None:
        await execute(trace_id)

    return app


def queue_name(run_id: int) -> str:
    """Return the name of a run's queue."""
    return f"run {run_id}"


def fill(session: Session, run_id: int) -> None:
    """Queue the next traces of a requested run, or end it if it is done.

    The queue is short: a cancelled run leaves few jobs, runs take turns, and a run with few concurrent calls occupies
    few of the places of a worker. A run whose protocol or settings are invalid is stopped.
    """
    row = trace_claims.locked_if_shared(session, run_id)
    if row is None or row.state != "requested":
        if row is not None:
            trace_claims.end_if_done(session, row)
        return
    run = runs.get(session, run_id)
    try:
        setup = RunSetup.of(run)
    except TiebreakError as error:
        trace_claims.stop(session, run_id, str(error))
        return
    if not setup.protocol.is_current(run.prompts):
        update_prompts(session, run)
    queued = _queued(session, run_id)
    room = 2 * at_once(run.parallel) - len(queued) - trace_claims.count_claimed(session, run_id)
    ids = trace_claims.waiting(session, run_id, without=queued, limit=room) if room > 0 else []
    if ids:
        _defer(session, run_id, ids)
    else:
        trace_claims.end_if_done(session, row)


def at_once(parallel: int) -> int:
    """Return how many traces of a run to execute at once.

    Twice the concurrent calls of one model: a trace that waits for its other judges leaves calls free.
    """
    return max(4, 2 * parallel)


async def discard_stalled(app: "procrastinate.App") -> None:
    """Delete the jobs of workers that have crashed: their traces are queued again when their claims have expired."""
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=workers.LEASE.total_seconds()):
        if job.id is not None:
            import procrastinate

            with suppress(procrastinate.exceptions.ConnectorException):  # another worker has deleted it
                await app.job_manager.finish_job_by_id_async(
                    job.id, status=procrastinate.jobs.Status.FAILED, delete_job=True
                )


async def work(app: "procrastinate.App", traces: int, stopping: asyncio.Event, grace: float) -> None:
    """Execute jobs, `traces` at once, until `stopping` is set; then wait `grace` seconds for those in progress."""
    async with app.open_async():
        worker = asyncio.create_task(
            app.run_worker_async(
                concurrency=traces,
                fetch_job_polling_interval=POLL_SECONDS,
                shutdown_graceful_timeout=grace,
                delete_jobs="always",
                update_heartbeat_interval=2.0,
                stalled_worker_timeout=workers.LEASE.total_seconds(),
                install_signal_handlers=False,
            )
        )
        stop = asyncio.create_task(stopping.wait())
        await asyncio.wait({worker, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not worker.done():
            worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


def _queued(session: Session, run_id: int) -> list[int]:
    """Return the traces with a job that no worker has fetched; the job of a crashed worker does not count."""
    query = text("SELECT args->>'trace_id' FROM procrastinate_jobs WHERE queue_name = :name AND status = 'todo'")
    return [int(trace_id) for trace_id in session.scalars(query, {"name": queue_name(run_id)})]


def _defer(session: Session, run_id: int, trace_ids: list[int]) -> None:
    """Queue traces in the transaction of the session."""
    connection: Any = session.connection().connection.driver_connection
    task = _sender().configure_task(TASK, queue=queue_name(run_id), connection=connection)
    arguments: list[Any] = [{"trace_id": trace_id} for trace_id in trace_ids]
    task.batch_defer(*arguments)


@cache
def _sender() -> "procrastinate.App":
    """Return an app that only adds jobs, on the connections that it is given."""
    import procrastinate

    return procrastinate.App(connector=procrastinate.SyncPsycopgConnector())
