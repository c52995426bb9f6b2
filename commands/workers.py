"""A worker that executes requested runs."""

import signal
import threading
from types import FrameType
from typing import Annotated

import typer

from commands.options import DatabaseUrl, open_database


def worker(
    traces: Annotated[int, typer.Option(min=1, max=1000, help="Traces to execute at once, of all runs.")] = 32,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to wait for calls in progress when it stops.")] = 60.0,
    database: DatabaseUrl = None,
) -> None:
    """Execute requested runs until it is stopped; on PostgreSQL any number of workers share them."""
    from core import logs
    from core.llm.router import Router
    from storage.worker import RunWorker

    logs.configure()
    stopping = threading.Event()

    def stop(_: int, __: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    worker = RunWorker(open_database(database, creates=True), Router, traces=traces, grace=grace)
    worker.start()
    typer.echo("Waiting for runs. Stop with Ctrl+C.", err=True)
    stopping.wait()
    typer.echo("Waiting for calls in progress.", err=True)
    worker.stop()
