"""Experiments: runs that differ in named settings, from one file."""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
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
    open_study,
    print_result,
    progress_bar,
)
from commands.runs import stop_requests
from core.errors import TiebreakError
from core.wording import format_count

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from core.experiments import Definition
    from storage.runs.experiments import Progress
    from storage.worker import Plan, StopRequests


def experiment(
    file: Annotated[Path, typer.Argument(help="The experiment's file; docs/experiments.md describes it.")],
    study: StudyName,
    scenario: ScenarioName = None,
    item: ItemNames = None,
    sample: Sample = None,
    ceiling: Annotated[float | None, typer.Option(min=0, help="Cost limit in dollars of all runs together.")] = None,
    fresh: Fresh = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop the experiment's runs.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the runs and the estimate.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without a question.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Execute the runs of an experiment. The same command continues it after Ctrl+C, which cancels it, or a crash."""
    from core.experiments import load, with_run
    from storage.worker import plan, start

    changes = {"scenario": scenario, "items": tuple(item or ()) or None, "sample": sample, "ceiling": ceiling}
    definition = with_run(load(file), changes | {"fresh": fresh or None})
    engine, source = open_study(database, study)
    if cancel:
        return print_result(*_cancel(engine, source.id, definition), as_json)
    planned = plan(engine, source, definition)
    sentences = describe_plan(engine, planned)
    if dry_run:
        names = [run.request.name for run in planned.runs]
        return print_result({"runs": names, "estimate": sentences}, "\n".join([*names, *sentences]), as_json)
    typer.echo("\n".join(sentences), err=True)
    if not (yes or as_json) and planned.new and sys.stdin.isatty():
        typer.confirm("Start?", abort=True)
    with stop_requests() as requests:
        progress = execute(engine, start(engine, source, planned), requests, quiet=as_json)
        print_result({"experiment": definition.name, **asdict(progress)}, progress.summary(), as_json)
        if progress.state != "finished" or progress.failed:
            raise TiebreakError(progress.problem or f"The experiment {describe_end(progress)}")


def describe_end(progress: "Progress") -> str:
    """Return the end of a sentence about an experiment that is not complete."""
    if progress.state == "cancelled":
        return "is cancelled until somebody resumes it: the same command continues it, and no server or worker does."
    return "is not complete; the same command continues it."


def describe_plan(engine: "Engine", planned: "Plan") -> list[str]:
    """Return the number of runs, and the estimate of the new ones, in sentences."""
    from storage.worker import estimate, receivers_sentence

    existing = f"{format_count(len(planned.existing), 'run')} of {len(planned.runs)} exist." if planned.existing else ""
    receivers = dict.fromkeys(receivers_sentence(run.request) for run in planned.runs)
    return [
        *filter(None, [existing]),
        *([f"{estimate(engine, planned).summary()}."] if planned.new else []),
        *planned.notes,
        *receivers,
    ]


def execute(engine: "Engine", experiment_id: int, requests: "StopRequests", *, quiet: bool) -> "Progress":
    """Execute an experiment, with a progress bar on a terminal, otherwise with a line for each change."""
    import asyncio

    from storage.worker import execute_experiment

    previous = ""
    with progress_bar("Running", "traces", quiet=quiet or not sys.stderr.isatty()) as show:

        def report(progress: "Progress") -> None:
            nonlocal previous
            note = " · ".join(filter(None, (progress.totals.describe_cost(), progress.pause)))
            show(progress.done + progress.failed, progress.traces, note)
            if not quiet and not sys.stderr.isatty() and progress.summary() != previous:
                previous = progress.summary()
                typer.echo(previous, err=True)

        notify = partial(typer.echo, err=True)
        return asyncio.run(execute_experiment(engine, experiment_id, report, notify=notify, requests=requests))


def _cancel(engine: "Engine", study_id: int, definition: "Definition") -> "tuple[dict[str, str | int], str]":
    """Cancel the runs of an experiment; return what was cancelled as a value and as a sentence."""
    from storage.db.connections import writing
    from storage.runs import experiments

    with writing(engine) as session:
        found = experiments.find(session, study_id, definition.name)
        if found is None:
            raise TiebreakError(f"The study has no experiment called {definition.name!r}.")
        runs = experiments.cancel(session, found.id)
    value: dict[str, str | int] = {"cancelled": definition.name, "runs": runs}
    if not runs:
        return value, f"No run of {definition.name} was waiting or being executed: nothing was cancelled."
    return value, f"{format_count(runs, 'run')} of {definition.name} cancelled; stored events remain."
