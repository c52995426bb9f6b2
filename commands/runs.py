"""Runs, and experiments: runs that differ in named settings, from one file. Replies that could not be read."""

import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from commands import lazy_imports, output
from core.errors import TiebreakError
from core.llm import PARALLEL_CALLS
from core.wording import format_count, format_estimate

with lazy_imports():
    from core import experiments as definitions
    from core import items as core_items
    from core import logs
    from core.llm import router
    from storage import worker as execution
    from storage.db import audit, connections
    from storage.reports import peer_reviews
    from storage.runs import experiments, readings
    from storage.runs import outcomes as replies
    from storage.runs import runs as stored_runs
    from storage.runs import search as texts
    from storage.studies import items


# Ctrl+C and SIGTERM while a command executes runs: they stop the runs, and not the process at once.


@contextmanager
def stop_requests() -> Iterator["execution.StopRequests"]:
    """Yield requests that SIGINT and SIGTERM count during the body, in place of ending the process.

    A signal that the process ignores, as SIGINT in the background of a script, remains ignored.
    """
    requests = execution.StopRequests()

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
    study: output.StudyName,
    protocol: Annotated[str, typer.Option(help="The protocol, such as scaleeval.")] = "scaleeval",
    settings: Annotated[Path | None, typer.Option(help="Its settings, a YAML or JSON file.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of items: run over the first ones only.")] = None,
    scenario: output.ScenarioName = None,
    item: output.ItemNames = None,
    sample: output.Sample = None,
    repeat: Annotated[int, typer.Option(min=1, help="Number of the repetition; each has independent replies.")] = 1,
    fresh: output.Fresh = False,
    resume: Annotated[str | None, typer.Option(help="Resume this run, with its settings and items.")] = None,
    name: Annotated[str | None, typer.Option(help="The run's name. Default: that of the settings file.")] = None,
    seed: Annotated[int, typer.Option(help="The random seed.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, max=1000, help="Concurrent calls to one model.")] = PARALLEL_CALLS,
    ceiling: Annotated[
        float | None, typer.Option(min=0, help="Cost limit in dollars; a new one with --resume.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the estimate.")] = False,
    database: output.DatabaseUrl = None,
    as_json: output.Json = False,
) -> None:
    """Run a protocol over a study's items.

    Ctrl+C or SIGTERM cancels the run, wherever it is executed: no more calls are started, those in progress are
    completed and stored, and nothing continues the run until it is resumed (--resume NAME, or the page Runs). After
    SIGKILL, a closed terminal or a loss of power the run is not cancelled: a server or worker on the database
    continues it.
    """
    if resume is not None:
        _refuse_other_options(context)
    engine, source = output.open_study(database, study)
    if resume is not None:
        start, wanted = partial(execution.resume_run, engine, source, resume, ceiling), resume
    else:
        selection = items.ItemSelection(scenario, tuple(item or ()), sample, seed, limit)
        limits: dict[str, Any] = {"seed": seed, "parallel": parallel, "ceiling": ceiling, "repeat": repeat}
        request = execution.request_from_file(
            engine, source, protocol, settings, name, selection=selection, fresh=fresh, **limits
        )
        if not _print_estimate(engine, request, dry_run, as_json):
            return
        start, wanted = partial(execution.create_run, engine, request), request.name
    with stop_requests() as requests:
        run_id = start()
        print_changed_name(engine, run_id, wanted)
        ended, progress = execute(engine, run_id, requests, quiet=as_json)
        words = ("runs", "start", "--study", source.name, "--resume", ended.name)
        _print_end(ended, progress, as_json, command_line(*words, database=database))


def _print_estimate(engine: output.Database, request: "execution.RunRequest", dry_run: bool, as_json: bool) -> bool:
    """Print what a run costs and who receives its texts; return whether it is to be started."""
    from core.protocols.prompt_parts import format_note

    estimate = execution.estimate_run(engine, request)
    sentences = [estimate.summary(), format_note(request.settings), execution.receivers_sentence(request)]
    if dry_run:
        output.print_result(asdict(estimate), "\n".join(filter(None, sentences)), as_json)
        return False
    sentences.append(execution.ceiling_warning(request, estimate))
    typer.echo("\n".join(filter(None, sentences)), err=True)
    return True


def print_changed_name(engine: output.Database, run_id: int, wanted: str) -> None:
    """Print the name of a run if the study has another run with the name that was wanted for it."""
    with connections.reading(engine) as session:
        name = stored_runs.get(session, run_id).name
    if name != wanted:
        typer.echo(f"The study has a run {wanted!r}: this one is called {name!r}.", err=True)


def _refuse_other_options(context: typer.Context) -> None:
    """Raise TiebreakError for an option that a resumed run would ignore: it would pay for other calls than expected."""
    sources = {name: context.get_parameter_source(name) for name in context.params if name not in OPTIONS_OF_RESUME}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if given:
        options = ", ".join("--" + name.replace("_", "-") for name in given)
        raise TiebreakError(
            f"--resume continues a run with its own settings and items. Leave out {options}; only --ceiling can be new."
        )


def _print_end(ended: "stored_runs.Run", progress: "stored_runs.Progress", as_json: bool, resume_command: str) -> None:
    """Print the result of a run; raises TiebreakError, with how it is continued, if it is not complete."""
    is_cancelled = ended.state == "cancelled"
    if as_json or not is_cancelled:
        state = {"run": ended.name, "state": ended.state, "problem": ended.problem}
        output.print_result(state | asdict(progress), progress.summary(), as_json)
    if is_cancelled:
        raise TiebreakError(
            f"The run {ended.name!r} is cancelled until somebody resumes it. Stored: {progress.summary()}. "
            f"`{resume_command}` continues it, and so does Resume on the page Runs."
        )
    if ended.state != "finished":
        limit = "; --ceiling sets another limit" if ended.ceiling is not None else ""
        raise TiebreakError(
            f"{ended.problem} The run is not complete; continue with --resume {ended.name!r}{limit}.".strip()
        )
    if progress.failed:
        failed = format_count(progress.failed, "trace")
        raise TiebreakError(f"{ended.problem} {failed} failed; try again with --resume {ended.name!r}.".strip())


@contextmanager
def _reporting(quiet: bool) -> Iterator["Callable[[stored_runs.Progress | experiments.Progress], None]"]:
    """Yield a function that shows progress: as a bar on a terminal, otherwise as a line for each change."""
    is_terminal = sys.stderr.isatty()
    previous, states = "", dict[str, str]()
    with output.progress_bar("Running", "traces", quiet=quiet or not is_terminal) as show:

        def report(progress: "stored_runs.Progress | experiments.Progress") -> None:
            nonlocal previous
            for one in () if quiet else getattr(progress, "statuses", ()):  # of an experiment
                if one.state != states.setdefault(one.run, one.state):
                    typer.echo(f"{one.run}: {_describe(one)}", err=True)
                    states[one.run] = one.state
            note = progress.totals.describe_cost()
            show(progress.done + progress.failed, progress.traces, note)
            if not quiet and not is_terminal and progress.summary() != previous:
                previous = progress.summary()
                typer.echo(previous, err=True)

        yield report


def _describe(status: "experiments.RunStatus") -> str:
    """Return the state of a run of an experiment, with its traces."""
    failed = f", {status.failed:,} failed" if status.failed else ""
    ended = f"{status.done + status.failed:,} of {format_count(status.traces, 'trace')}{failed}"
    return f"{status.state}, {ended}" + (f": {status.problem}" if status.problem else "")


def execute(
    engine: output.Database, run_id: int, requests: "execution.StopRequests", *, quiet: bool
) -> "tuple[stored_runs.Run, stored_runs.Progress]":
    """Execute a run until it ends."""
    import asyncio

    notify = partial(typer.echo, err=True)
    with _reporting(quiet) as report:
        work = execution.execute_here(engine, run_id, lambda _, now: report(now), notify=notify, requests=requests)
        return asyncio.run(work)


# A worker that executes requested runs.


def worker(
    grace: Annotated[float, typer.Option(min=0, help="Seconds to wait for calls in progress when it stops.")] = 60.0,
    database: output.DatabaseUrl = None,
) -> None:
    """Execute requested runs until it is stopped. Several workers execute several runs, each of them one at a time."""
    logs.configure()
    stopping = threading.Event()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    worker = execution.RunWorker(output.open_database(database, creates=True), router.Router, grace=grace)
    worker.start()
    typer.echo("Waiting for runs. Stop with Ctrl+C.", err=True)
    stopping.wait()
    typer.echo("Waiting for calls in progress.", err=True)
    worker.stop()


# Experiments: runs that differ in named settings, from one file.


def experiment(
    file: Annotated[Path, typer.Argument(help="The experiment's file; docs/experiments.md describes it.")],
    source: output.Source,
    engine: output.Database,
    scenario: output.ScenarioName = None,
    item: output.ItemNames = None,
    sample: output.Sample = None,
    ceiling: Annotated[float | None, typer.Option(min=0, help="Cost limit in dollars of all runs together.")] = None,
    fresh: output.Fresh = False,
    at_once: Annotated[int, typer.Option(min=1, max=100, help="Runs to execute at the same time.")] = 1,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Only continue runs that are stopped, or in which traces failed.")
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop the experiment's runs.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the runs and the estimate.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without a question.")] = False,
    as_json: output.Json = False,
) -> None:
    """Execute the runs of an experiment. The same command continues it after Ctrl+C, which cancels it, or a crash."""
    changes = {"scenario": scenario, "items": tuple(item or ()) or None, "sample": sample, "ceiling": ceiling}
    definition = definitions.with_run(definitions.load(file), changes | {"fresh": fresh or None})
    if cancel:
        return output.print_result(*_cancel(engine, source.id, definition), as_json)
    planned = execution.plan(engine, source, definition)
    if retry_failed:
        planned = execution.failed_part(engine, planned)
    if dry_run:
        names = [run.request.name for run in planned.runs]
        sentences = describe_plan(engine, planned)
        return output.print_result({"runs": names, "estimate": sentences}, "\n".join([*names, *sentences]), as_json)
    confirm_plan(engine, planned, yes=yes or as_json)
    with stop_requests() as requests:
        started = execution.start(engine, source, planned)
        progress = execute_experiment(engine, started, requests, quiet=as_json, at_once=at_once)
        text = "\n".join([progress.summary(), *(f"  {one.run}: {_describe(one)}" for one in progress.failing)])
        output.print_result({"experiment": definition.name, **asdict(progress)}, text, as_json)
        check_complete(progress, "experiment")


def check_complete(progress: "experiments.Progress", noun: str) -> None:
    """Raise TiebreakError, with how it is continued, for an experiment that is not complete."""
    if progress.state == "finished" and not progress.failed:
        return
    count = format_count(len(progress.failing), "run")
    failing = f"{count} of {progress.runs} failed in whole or in part; --retry-failed continues only these"
    end = f"is not complete; {failing if progress.failing else 'the same command continues it'}."
    if progress.state == "cancelled":
        end = "is cancelled until somebody resumes it: the same command continues it, and no server or worker does."
    raise TiebreakError(progress.problem or f"The {noun} {end}")


def confirm_plan(engine: output.Database, planned: "execution.Plan", *, yes: bool) -> None:
    """Print what an experiment executes, and ask on a terminal whether it starts."""
    typer.echo("\n".join(describe_plan(engine, planned)), err=True)
    if not yes and planned.new and sys.stdin.isatty():
        typer.confirm("Start?", abort=True)


def describe_plan(engine: output.Database, planned: "execution.Plan") -> list[str]:
    """Return the number of runs, and the estimate of the new ones, in sentences."""
    existing = f"{format_count(len(planned.existing), 'run')} of {len(planned.runs)} exist." if planned.existing else ""
    receivers = dict.fromkeys(execution.receivers_sentence(run.request) for run in planned.runs)
    return [
        *filter(None, [existing]),
        *([f"{execution.estimate(engine, planned)}."] if planned.new else []),
        *planned.notes,
        *receivers,
    ]


def execute_experiment(
    engine: output.Database, experiment_id: int, requests: "execution.StopRequests", *, quiet: bool, at_once: int = 1
) -> "experiments.Progress":
    """Execute the runs of an experiment until they end, several at once if wanted."""
    import asyncio

    notify = partial(typer.echo, err=True)
    with _reporting(quiet) as report:
        work = execution.execute_experiment(
            engine, experiment_id, report, notify=notify, requests=requests, at_once=at_once
        )
        return asyncio.run(work)


def influence(
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="A run of ReFeR with several peers.")],
    source: output.Source,
    engine: output.Database,
    criterion: Annotated[str, typer.Option(help="One of the run's criteria; by default the first.")] = "",
    altered: Annotated[
        bool, typer.Option("--altered", help="Also with each review altered: the opposite, or that of another item.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without a question.")] = False,
    as_json: output.Json = False,
) -> None:
    """Ask the chair of a peer review again without each peer, and print the influence of each on its verdicts.

    Below: other chairs and a jury of all, if the study has them, and error and cost by peers and samples.
    """
    found = execution.find_run(engine, source, run_name)
    for is_altered in (False, True)[: 1 + altered]:
        planned = execution.plan(engine, source, execution.influence_definition(engine, found, altered=is_altered))
        if planned.new:
            confirm_plan(engine, planned, yes=yes or as_json)
        with stop_requests() as requests:
            progress = execute_experiment(engine, execution.start(engine, source, planned), requests, quiet=as_json)
        check_complete(progress, "experiment")
    with connections.reading(engine) as session:
        errors = peer_reviews.load_errors(session, found, criterion=criterion)
        rows = [asdict(one) for one in peer_reviews.load_influences(session, found, errors, criterion)]
        front = [asdict(one) for one in peer_reviews.load_front(session, found, errors, criterion)]
    tables = [_with_intervals(of, ("change", "distance", "error")) for of in (rows, front)]
    text = "\n\n".join(output.format_table(lines, "The run has no verdicts.") for lines in tables)
    output.print_result({"influence": rows, "front": front}, text, as_json)


def _with_intervals(rows: Sequence[Mapping[str, Any]], estimates: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows with each of these estimates as a value and its interval."""
    ends = ("value", "low", "high")
    return [
        {name: format_estimate(*map(cell.get, ends)) if name in estimates else cell for name, cell in row.items()}
        for row in rows
    ]


def experiment_status(
    name: Annotated[str, typer.Argument(help="The experiment.")],
    source: output.Source,
    engine: output.Database,
) -> output.Result:
    """Print the state of each run of an experiment: its traces, and what failed and why."""
    with connections.reading(engine) as session:
        found = experiments.find(session, source.id, name)
        if found is None:
            raise TiebreakError(f"The study has no experiment called {name!r}.")
        progress = experiments.progress(session, found.id)
    table = output.format_table([asdict(one) for one in progress.statuses], "It has no runs.")
    return asdict(progress), f"{table}\n{progress.summary()}"


def _cancel(engine: output.Database, study_id: int, definition: "definitions.Definition") -> output.Result:
    with connections.writing(engine) as session:
        found = experiments.find(session, study_id, definition.name)
        if found is None:
            raise TiebreakError(f"The study has no experiment called {definition.name!r}.")
        runs = experiments.cancel(session, found.id)
    value: dict[str, str | int] = {"cancelled": definition.name, "runs": runs}
    if not runs:
        return value, f"No run of {definition.name} was waiting or being executed: nothing was cancelled."
    return value, f"{format_count(runs, 'run')} of {definition.name} cancelled; stored events remain."


# Replies that could not be read, and stored replies read again.


def unread(
    source: output.Source,
    engine: output.Database,
    run: Annotated[str | None, typer.Option(help="Only the replies in this run.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only the replies of this judge.")] = None,
    step: Annotated[str | None, typer.Option(help="Only the replies in this step, such as opinion.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Print the text of at most this many replies.")] = 20,
) -> output.Result:
    """Print the replies that could not be read. Counts by judge, step and reason come first, then the texts."""
    run_id = None if run is None else execution.find_run(engine, source, run).id
    conditions = replies.UnreadFilter(source.id, run_id, judge, step)
    with connections.reading(engine) as session:
        counts = [asdict(count) for count in replies.count_unread(session, conditions)]
        summaries = [reply.summary() for reply in replies.page_unread(session, conditions, size=limit).rows]
    lines = [
        output.format_table(counts, "No unreadable replies."),
        *(f"\n{format_reply(reply)}" for reply in summaries),
    ]
    return {"counts": counts, "replies": summaries}, "\n".join(lines)


def search(
    source: output.Source,
    session: output.Reading,
    text: Annotated[str, typer.Argument(help="The text to search for; case is ignored.")],
    area: Annotated[str, typer.Option("--in", help="items, turns or labels (with notes and decisions).")] = "items",
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many matches.")] = 20,
) -> output.Result:
    """Print where a text is in a study's items, turns, or reasons and notes, with the field and the trace."""
    found = texts.find(session, source.id, text, texts.parse_area(area), limit=limit).matches[:limit]
    rows, lines = [], []
    for one in found:
        passage = f"{one.before}{one.text}{one.after}"
        rows.append({"item": one.item, "field": one.field, "trace": one.trace, "text": passage})
        trace = "" if one.trace is None else f" (trace {one.trace})"
        lines.append(f"{one.item} · {one.field}{trace}\n{_indented(passage)}")
    return rows, "\n".join(lines) or "No match."


def format_reply(reply: Mapping[str, Any]) -> str:
    """Return an unreadable reply with its place, below the reply to the first request if there were two."""
    name = core_items.item_name(reply["item"], reply["part"])
    place = f"{reply['run']} · {name} · {reply['judge']} · {reply['step']}, round {reply['round']}"
    place += f" (trace {reply['trace']})"
    if not reply["first_problem"]:
        return f"{place}: {reply['problem']}\n{_indented(reply['reply'])}"
    return (
        f"{place}\n  First reply: {reply['first_problem']}\n{_indented(reply['first_reply'])}\n"
        f"  Second reply: {reply['problem']}\n{_indented(reply['reply'])}"
    )


def _indented(text: str) -> str:
    """Return an indented text; its control characters are not sent to the terminal."""
    text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text.strip())
    return "    " + text.replace("\n", "\n    ")


def reread(
    source: output.Source,
    engine: output.Database,
    run: Annotated[str | None, typer.Option(help="Only the replies in this run.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Store the new readings and the resulting verdicts.")] = False,
) -> output.Result:
    """Apply the parsers of this version to stored replies. No model is called; without --apply nothing is stored.

    A trace whose verdict would need new calls is listed and not changed. Earlier readings stay stored.
    """
    rereads = list(readings.reread_study(engine, source, run=run, apply=apply))
    changes = [
        {**asdict(change), "outcome": trace.outcome, "needs_calls": trace.needs_calls}
        for trace in rereads
        for change in trace.changes
    ]
    skipped = [
        {"trace_id": t.trace_id, "run": t.run, "item": t.item, "why": t.needs_calls} for t in rereads if t.needs_calls
    ]
    if apply and changes:
        with connections.writing(engine) as session:
            audit.record_change(session, source.id, f"{len(changes)} readings by the parsers of this version")
    columns = ("run", "item", "judge", "step", "round", "old", "new", "rule", "problem", "outcome")
    applicable = [{name: row[name] for name in columns} for row in changes if not row["needs_calls"]]
    verb = "Stored" if apply else "Changes; add --apply to store them"
    parts = [output.format_table(applicable, "No reading changes.")]
    parts += [f"{verb}: {len(applicable)} readings."] if applicable else []
    parts += (
        ["Not changed, because the verdict would need new calls:", output.format_table(skipped, "")] if skipped else []
    )
    return {"applied": apply, "changes": changes, "left_alone": skipped}, "\n\n".join(parts)
