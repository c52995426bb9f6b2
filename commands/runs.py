"""Runs of a protocol."""

import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from commands.output import (
    DatabaseUrl,
    Fresh,
    ItemNames,
    Json,
    Sample,
    ScenarioName,
    StudyName,
    find_study,
    open_database,
    print_result,
    progress_bar,
)
from core.errors import TiebreakError
from core.llm import PARALLEL_CALLS
from core.wording import format_count

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from storage.runs.runs import Progress, Run
    from storage.worker import StopRequests


# Ctrl+C and SIGTERM while a command executes runs: they stop the runs, and not the process at once.


@contextmanager
def stop_requests() -> Iterator["StopRequests"]:
    """Yield requests that SIGINT and SIGTERM count during the body, in place of ending the process.

    A signal that the process ignores, as SIGINT in the background of a script, remains ignored.
    """
    from storage.worker import StopRequests

    requests = StopRequests()

    def request(_: int, __: FrameType | None) -> None:
        requests.count += 1

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, request)
    try:
        yield requests
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def command_line(*words: str, database: str | None) -> str:
    """Return a command of `cli.py` as it is typed, with the database if it was named; its password is left out."""
    if database is not None:
        from sqlalchemy.engine import make_url

        words = (*words, "--database", make_url(database).render_as_string(hide_password=True))
    return shlex.join(["python", "cli.py", *words])


OPTIONS_OF_RESUME = {"study", "resume", "ceiling", "database", "as_json"}


def run(
    context: typer.Context,
    study: StudyName,
    protocol: Annotated[str, typer.Option(help="The protocol, such as scaleeval.")] = "scaleeval",
    settings: Annotated[Path | None, typer.Option(help="Its settings, a YAML or JSON file.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of items: run over the first ones only.")] = None,
    scenario: ScenarioName = None,
    item: ItemNames = None,
    sample: Sample = None,
    repeat: Annotated[int, typer.Option(min=1, help="Number of the repetition; each has independent replies.")] = 1,
    fresh: Fresh = False,
    resume: Annotated[str | None, typer.Option(help="Resume this run, with its settings and items.")] = None,
    name: Annotated[str | None, typer.Option(help="The run's name. Default: that of the settings file.")] = None,
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, max=1000, help="Concurrent calls to one model.")] = PARALLEL_CALLS,
    ceiling: Annotated[
        float | None, typer.Option(min=0, help="Cost limit in dollars; a new one with --resume.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the estimate.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Run a protocol over a study's items.

    Ctrl+C or SIGTERM cancels the run, for all workers that share it: no more calls are started, those in progress are
    completed and stored, and nothing continues the run until it is resumed (--resume NAME, or the page Runs). After
    SIGKILL, a closed terminal or a loss of power the run is not cancelled: a server or worker on the database
    continues it.
    """
    from core.protocols.prompt_parts import format_note
    from storage.studies.items import ItemSelection
    from storage.worker import (
        ceiling_warning,
        create_run,
        estimate_run,
        receivers_sentence,
        request_from_file,
        resume_run,
    )

    if resume is not None:
        _refuse_other_options(context)
    engine = open_database(database)
    if resume is not None:
        start = partial(resume_run, engine, find_study(engine, study), resume, ceiling)
    else:
        selection = ItemSelection(scenario, tuple(item or ()), sample, seed, limit)
        request = request_from_file(
            engine,
            find_study(engine, study),
            protocol,
            settings,
            name,
            selection=selection,
            seed=seed,
            parallel=parallel,
            ceiling=ceiling,
            repeat=repeat,
            fresh=fresh,
        )
        estimate = estimate_run(engine, request)
        sentences = [estimate.summary(), format_note(request.settings), receivers_sentence(request)]
        if dry_run:
            return print_result(asdict(estimate), "\n".join(filter(None, sentences)), as_json)
        sentences.append(ceiling_warning(request, estimate))
        typer.echo("\n".join(filter(None, sentences)), err=True)
        start = partial(create_run, engine, request)
    with stop_requests() as requests:
        run_id = start()
        if resume is None:
            print_changed_name(engine, run_id, request.name)
        ended, progress = execute(engine, run_id, requests, quiet=as_json)
        words = ("runs", "start", "--study", study, "--resume", ended.name)
        _print_end(ended, progress, as_json, command_line(*words, database=database))


def print_changed_name(engine: "Engine", run_id: int, wanted: str) -> None:
    """Print the name of a new run if the study has another run with the name that was wanted for it."""
    from storage.db.connections import reading
    from storage.runs import runs

    with reading(engine) as session:
        name = runs.get(session, run_id).name
    if name != wanted:
        typer.echo(f"The study has a run {wanted!r}: this one is called {name!r}.", err=True)


def _refuse_other_options(context: typer.Context) -> None:
    """Raise TiebreakError for an option that a resumed run would ignore: it would pay for other calls than expected."""
    names = [name for name in context.params if name not in OPTIONS_OF_RESUME]
    given = [name for name in names if _is_given(context, name)]
    if given:
        options = ", ".join("--" + name.replace("_", "-") for name in given)
        raise TiebreakError(
            f"--resume continues a run with its own settings and items. Leave out {options}; only --ceiling can be new."
        )


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _print_end(ended: "Run", progress: "Progress", as_json: bool, resume_command: str) -> None:
    """Print the result of a run; raises TiebreakError if it is not complete."""
    is_cancelled = ended.state == "cancelled"
    if as_json or not is_cancelled:
        state = {"run": ended.name, "state": ended.state, "problem": ended.problem}
        print_result(state | asdict(progress), progress.summary(), as_json)
    if is_cancelled:
        raise TiebreakError(
            f"The run {ended.name!r} is cancelled until somebody resumes it. Stored: {progress.summary()}. "
            f"`{resume_command}` continues it, and so does Resume on the page Runs."
        )
    if ended.state != "finished" or progress.failed:
        raise TiebreakError(" ".join(filter(None, [ended.problem, _continuation(ended, progress)])))


def _continuation(run: "Run", progress: "Progress") -> str:
    """Return how a run that is not complete is continued."""
    from core.llm.limits import ceiling_reached

    if run.state == "finished":
        return f"{format_count(progress.failed, 'trace')} failed; try again with --resume {run.name!r}."
    at_limit = run.ceiling is not None and run.problem == ceiling_reached(run.ceiling)
    higher = " and a higher --ceiling" if at_limit else ""
    return f"The run is not complete; continue with --resume {run.name!r}{higher}."


def execute(engine: "Engine", run_id: int, requests: "StopRequests", *, quiet: bool) -> "tuple[Run, Progress]":
    """Execute a run until it ends, with a progress bar on a terminal, otherwise with a line for each change."""
    import asyncio

    from storage.worker import execute_here

    with progress_bar("Running", "traces", quiet=quiet or not sys.stderr.isatty()) as show:

        def report(_: "Run", progress: "Progress") -> None:
            if not quiet and not sys.stderr.isatty():
                typer.echo(progress.summary(), err=True)
            note = " · ".join(filter(None, (progress.totals.describe_cost(), progress.pause)))
            show(progress.done + progress.failed, progress.traces, note)

        notify = partial(typer.echo, err=True)
        return asyncio.run(execute_here(engine, run_id, report, notify=notify, requests=requests))


# A worker that executes requested runs.


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
