"""From settings to a run: its estimate, its creation, and its execution in this process."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import Item
from core.llm import costs, images, receivers
from core.llm.client import Model
from core.llm.costs import CostEstimate
from core.llm.router import Router
from core.protocols import registry, settings_file
from core.trace import model_specs
from storage import aius, experiments, recorded_calls, run_claims, runs, studies, trace_claims
from storage.database import reading, write, writing
from storage.database_errors import DatabaseUnavailable
from storage.runs import Progress, Run
from storage.studies import Study
from storage.worker.outages import describe_wait, ignore, report_until_done, through_outage
from storage.worker.paid_calls import PaidCalls, find_paid
from storage.worker.run_request import RunRequest
from storage.worker.stop_requests import StopRequests, until_stopped
from storage.worker.worker import execute_run, worker_name

CLAIM_TIMEOUT = 60.0
"""Seconds to wait for a run that another worker has claimed; the claim of a crashed one expires sooner."""
STOPPING_POLL_SECONDS = 0.2


def request_from_file(
    engine: Engine, study: Study, protocol: str, file: Path | None, name: str | None, **options: Any
) -> RunRequest:
    """Return the request for a run with the settings in a file; its default name is the file's.

    Raises TiebreakError if the protocol is not installed, or if the settings are missing or invalid.
    """
    installed = registry.get(protocol)
    if file is None:
        raise TiebreakError(f"Name the settings: --settings FILE.yaml (examples: {installed.folder / 'examples'}).")
    with reading(engine) as session:
        criteria = studies.criteria(session, study.id)
    run = settings_file.load_run_file(file, installed, criteria)
    return RunRequest(
        study,
        installed,
        run.settings,
        name or file.stem,
        own_prompts=run.prompts,
        extractor=run.extractor,
        pairs=run.pairs,
        **options,
    )


def estimate_run(engine: Engine, request: RunRequest) -> CostEstimate:
    """Estimate calls, tokens and dollars without calling a model; raises TiebreakError as `create_run` does."""
    return estimate_with_paid_calls(engine, request)[0]


def estimate_with_paid_calls(
    engine: Engine, request: RunRequest, sampled_items: int = costs.SAMPLED_ITEMS
) -> tuple[CostEstimate, PaidCalls, float]:
    """Return the estimate, the stored calls of the sampled traces, and the number of traces that a sampled one is."""
    request.protocol.check_prompts(request.prompts)
    count, sample = _sample_items(engine, request, sampled_items)
    _check_images(request, sample)
    models = {spec.model for _, spec in model_specs(request.settings)}
    with reading(engine) as session:
        recorded = recorded_calls.find(session, request.study.id, request.protocol.name, models)
    estimate = costs.estimate_run(
        request.protocol,
        sample,
        request.settings,
        templates=request.prompts,
        seed=request.seed,
        count=count,
        pairs=request.pairs,
        extractor=request.extractor,
        recorded=recorded,
        parallel=request.parallel,
    )
    sampled, traces = costs.sample_traces(request.protocol, sample, request.settings, count, request.pairs)
    paid = find_paid(engine, request, sampled)
    factor = traces / len(sampled) if sampled else 0.0
    stored = replace(estimate, stored_calls=round(paid.calls * factor), stored_dollars=paid.dollars * factor)
    return stored, paid, factor


def ceiling_warning(request: RunRequest, estimate: CostEstimate) -> str:
    """Return a sentence if the ceiling does not limit all costs; empty if it does."""
    if request.ceiling is None or estimate.dollars is not None:
        return ""
    return "The ceiling counts only calls whose price is known; the price of at least one of these models is not."


def receivers_sentence(request: RunRequest) -> str:
    """Return one sentence about who will receive texts of the study."""
    specs = [spec for _, spec in model_specs(request.settings)]
    named = receivers.receivers([*specs, *filter(None, [request.extractor])])
    if not named:
        return "Texts stay on this machine: every model is local."
    return f"Study texts will be sent to: {', '.join(named)}."


def create_run(
    engine: Engine, request: RunRequest, *, experiment_id: int | None = None, cell: Mapping[str, str] | None = None
) -> int:
    """Create a run with a trace for every item, and return its id; a worker will execute it.

    If another process has created the run of the same cell and repetition of an experiment, its id is returned.
    Raises TiebreakError for prompts that cannot be filled or lack the judged text, for images that cannot be read, for
    models that do not accept images, for items with an image if the protocol sends none, and for items without a
    response of the baseline.
    """
    request.protocol.check_prompts(request.prompts)
    count, _ = _sample_items(engine, request, 1)
    if not count:
        raise TiebreakError("There are no items to run over; import some first, or select others.")
    _, every_item = _sample_items(engine, request, count)
    _check_images(request, every_item)
    with writing(engine) as session:
        if experiment_id is not None and (
            made := experiments.run_of_cell(session, experiment_id, cell, request.repeat)
        ):
            return made
        return runs.create(
            session,
            request.study.id,
            request.name,
            protocol=request.protocol.name,
            criterion=request.criterion,
            settings=settings_of_run(request),
            prompts=request.prompts,
            seed=request.seed,
            ceiling=request.ceiling,
            parallel=request.parallel,
            extractor=None if request.extractor is None else request.extractor.model_dump(mode="json"),
            pairs="" if request.pairs is None else str(request.pairs),
            parts=request.parts,
            selection=request.selection,
            repeat=request.repeat,
            fresh=request.fresh,
            experiment_id=experiment_id,
            cell=cell,
        )


def resume_run(engine: Engine, study: Study, name: str, ceiling: float | None = None) -> int:
    """Request the rest of the study's run called `name`, and return its id; see `storage.runs.resume`.

    A run that is executed already is left as it is, unless it should have another ceiling: that raises TiebreakError.
    """
    run_id = find_run(engine, study, name).id
    wait_until_cancelled(engine, run_id)
    with writing(engine) as session:
        if ceiling is not None or not runs.is_executed(session, run_id):
            runs.resume(session, run_id, ceiling, interrupted=True)
    return run_id


def wait_until_cancelled(engine: Engine, run_id: int) -> None:
    """Return when a run that is being cancelled has no call in progress: another worker would make it again."""
    while write(engine, partial(runs.is_stopping, run_id=run_id)):
        time.sleep(STOPPING_POLL_SECONDS)


def _sample_items(engine: Engine, request: RunRequest, size: int) -> tuple[int, list[Item]]:
    with reading(engine) as session:
        count, sample = runs.sample_items(session, request.study.id, request.selection, size=size)
        return count, aius.standing_items(session, request.study.id, sample, _with_standing_aius(request.settings))


def settings_of_run(request: RunRequest) -> dict[str, Any]:
    """Return the settings as they are stored with a run."""
    return _with_standing_aius(request.settings).model_dump(mode="json")


def _with_standing_aius(settings: Frozen) -> Frozen:
    """Return the settings of a new run: it evaluates edited AIUs unless the settings say otherwise."""
    if getattr(settings, aius.EDITED, False) is None:
        return settings.model_copy(update={aius.EDITED: True})
    return settings


def _check_images(request: RunRequest, sample: Sequence[Item]) -> None:
    if request.protocol.sends_images:
        images.check_images(request.settings, sample, images.media_folder(request.study.name))
    else:
        images.refuse_images(request.protocol.title, sample)


def find_run(engine: Engine, study: Study, name: str) -> Run:
    """Return the study's run called `name`; raises TiebreakError if there is none."""
    with reading(engine) as session:
        of_study = runs.of_study(session, study.id)
    for run in of_study:
        if run.name == name:
            return run
    existing = ", ".join(repr(run.name) for run in of_study) or "none"
    raise TiebreakError(f"The study has no run called {name!r}; its runs: {existing}.")


async def execute_here(
    engine: Engine,
    run_id: int,
    report: Callable[[Run, Progress], None],
    model: Model | None = None,
    *,
    notify: Callable[[str], None] = ignore,
    requests: StopRequests | None = None,
) -> tuple[Run, Progress]:
    """Execute a run until it ends; `report` is called about once a second when there is progress.

    `notify` is called with a sentence if the claim of another process is waited for.
    A run that workers share is left to them and waited for, also if they have claimed it during an outage of the
    database. The first of the `requests` to stop cancels the run, for them too.
    Raises DatabaseUnavailable after an outage of `outages.OUTAGE_SECONDS`.
    """
    requests = requests or StopRequests()
    execution = _execute_here(engine, run_id, report, model or Router(), notify, requests)
    return await until_stopped(execution, requests, engine, partial(runs.cancel, run_id=run_id), notify)


async def _execute_here(
    engine: Engine,
    run_id: int,
    report: Callable[[Run, Progress], None],
    model: Model,
    notify: Callable[[str], None],
    requests: StopRequests,
) -> tuple[Run, Progress]:
    load = partial(progress, engine, run_id)
    run, current = load()
    try:
        while True:
            worker = worker_name()
            if await _claim(engine, run_id, worker, report, notify, requests):
                execution = execute_run(engine, run_id, model, worker=worker, stopping=requests.stored)
                await report_until_done(asyncio.create_task(execution), load, lambda loaded: report(*loaded))
            is_cancelled = requests.stored.is_set()  # before the state is read
            run, current = await through_outage(load)
            if _has_ended(run, is_cancelled):
                return run, current
    except DatabaseUnavailable as error:
        state = (
            f"The run {run.name!r} is cancelled; continue it with --resume {run.name!r}."
            if requests.stored.is_set()
            else f"The run {run.name!r} has not ended: a server or worker on this database continues it when the "
            f"database is available again; without one, continue it with --resume {run.name!r}."
        )
        raise DatabaseUnavailable(f"{error} {state}") from error
    finally:
        await model.close()


def progress(engine: Engine, run_id: int) -> tuple[Run, Progress]:
    """Return a run and its progress."""
    with reading(engine) as session:
        return runs.get(session, run_id), runs.progress(session, run_id)


def _has_ended(run: Run, is_cancelled: bool) -> bool:
    """Return whether nothing is left to be executed or waited for here: a run resumed after its cancel is others'."""
    return run.state not in ("requested", "cancelling") or (run.state == "requested" and is_cancelled)


async def _claim(
    engine: Engine,
    run_id: int,
    worker: str,
    report: Callable[[Run, Progress], None],
    notify: Callable[[str], None],
    requests: StopRequests,
) -> bool:
    """Claim a run, waiting for the claim of a crashed worker to expire; return False once it has ended."""
    deadline = time.monotonic() + CLAIM_TIMEOUT
    previous: tuple[Run, Progress] | None = None
    has_notified = False
    while True:
        is_cancelled = requests.stored.is_set()  # before the state is read
        claimed, is_shared, current = await through_outage(partial(_try_to_claim, engine, run_id, worker, requests))
        if claimed:
            return True
        if _has_ended(current[0], is_cancelled):
            return False
        if is_shared:
            if current != previous:
                report(*current)
            previous = current
            deadline = time.monotonic() + CLAIM_TIMEOUT
        elif time.monotonic() > deadline and not requests.count:
            raise TiebreakError("Another process executes this run; watch it there, or cancel it first.")
        elif not has_notified and (left := await through_outage(partial(_seconds_left, engine, run_id))) is not None:
            notify(describe_wait(left))
            has_notified = True
        await asyncio.sleep(1.0)


def _seconds_left(engine: Engine, run_id: int) -> float | None:
    with reading(engine) as session:
        return trace_claims.seconds_left(session, [run_id])


def _try_to_claim(
    engine: Engine, run_id: int, worker: str, requests: StopRequests
) -> tuple[bool, bool, tuple[Run, Progress]]:
    """Return whether the run was claimed, whether workers share it, and its progress."""
    with writing(engine) as session:
        claimed = not requests.count and run_claims.claim_run(session, run_id, worker)
        is_shared = run_claims.is_shared_by_workers(session, run_id)
    return claimed, is_shared, progress(engine, run_id)
