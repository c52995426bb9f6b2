"""From settings to a run: its estimate, its creation, and its execution in this process."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.text import read_text
from core.frozen import Frozen
from core.items import Item, Pairs
from core.llm import PARALLEL_CALLS, costs, images
from core.llm.client import Model
from core.llm.costs import CostEstimate, RecordedCalls
from core.protocols import Protocol, registry, settings_file, trace_parts
from core.templates import replace_templates
from core.trace import Spec, model_specs, with_seeds_of_repeat
from core.transcripts import HIDDEN_IMAGE, steps_left_out
from storage.db.connections import read, reading, write, writing
from storage.db.tables import EventRow, RunRow
from storage.runs import aius, experiments, inputs, runs
from storage.runs.calls import model_names
from storage.studies import studies, transcripts
from storage.studies.items import ItemSelection
from storage.worker._outages import StopRequests, ignore
from storage.worker._worker import Work, execute_until_ended

# A run that is to be created: its study, protocol, settings and items.


@dataclass(frozen=True)
class RunRequest:
    """A run to be created."""

    study: studies.Study
    protocol: Protocol
    settings: Frozen
    name: str
    seed: int = 0
    parallel: int = PARALLEL_CALLS
    ceiling: float | None = None
    selection: ItemSelection = field(default_factory=ItemSelection)
    repeat: int = 1
    """Runs with other numbers have independent replies."""
    fresh: bool = False
    """Whether every call is made anew, also if another run has made it."""
    extractor: Spec | None = None
    """The model that is asked which value an unreadable reply states; None for none."""
    pairs: Pairs | None = None
    """Which pairs of an item's responses are compared; see `core.protocols.trace_parts` for None."""
    own_prompts: Mapping[str, str] = field(default_factory=dict)
    """Template name -> text that this run uses instead of the study's."""

    @property
    def prompts(self) -> dict[str, str]:
        """The text of every template of the protocol, with the study's own and then the run's own in place."""
        templates = self.study.templates(self.protocol.name)
        return replace_templates(self.protocol.name, templates, self.own_prompts, self.protocol.raw_prompts)

    @property
    def criterion(self) -> str:
        """The name of the criterion; empty if the protocol judges none or several."""
        criteria = self.protocol.criteria(self.settings)
        return criteria[0].name if len(criteria) == 1 else ""

    def parts(self, item: Item) -> list[str]:
        """Return the part of each trace of an item."""
        return trace_parts(self.protocol, self.settings, item, self.pairs)


# Means over the recorded calls of a protocol in a study, which estimates of new runs use.

# With fewer calls, the length of a reply in the protocol's settings is used.
MIN_RECORDED_CALLS = 20
# With fewer calls of the same models, no duration is expected: one model takes a hundred times as long as another.
MIN_TIMED_CALLS = 5


def find_recorded(session: Session, study_id: int, protocol: str, models: Collection[str]) -> RecordedCalls | None:
    """Return the mean tokens of a protocol's calls in a study, and the mean seconds of those of runs with the same
    models; None if there are too few of both.
    """
    of_protocol = (col(RunRow.study_id) == study_id, col(RunRow.protocol) == protocol)
    events = (
        select(col(EventRow.run_id), func.count(), func.sum(col(EventRow.completion_tokens)),
               func.count(col(EventRow.seconds)), func.sum(col(EventRow.seconds)))
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(*of_protocol)
        .where(col(EventRow.type).in_(("turn", "unreadable")), col(EventRow.completion_tokens).is_not(None))
        .group_by(col(EventRow.run_id))
    )  # fmt: skip
    found = session.execute(events).all()
    runs = session.execute(select(col(RunRow.id), col(RunRow.settings)).where(*of_protocol)).all()
    same = {run for run, settings in runs if model_names(settings) == sorted(models)}
    of_models = [row for row in found if row[0] in same]
    calls, tokens = sum(row[1] for row in found), sum(row[2] or 0 for row in found)
    timed, seconds = sum(row[3] for row in of_models), sum((row[4] or 0.0) for row in of_models)
    mean_tokens = tokens / calls if calls >= MIN_RECORDED_CALLS else None
    mean_seconds = seconds / timed if timed >= MIN_TIMED_CALLS else None
    if mean_tokens is None and mean_seconds is None:
        return None
    return RecordedCalls(calls, mean_tokens, mean_seconds)


STOPPING_POLL_SECONDS = 0.2


def request_from_file(
    engine: Engine, study: studies.Study, protocol: str, file: Path | None, name: str | None, **options: Any
) -> RunRequest:
    """Return the request for a run with the settings in a file; its default name is the file's.

    Raises TiebreakError if the protocol is not installed, or if the settings are missing or invalid.
    """
    installed = registry.get(protocol)
    if file is None:
        raise TiebreakError(f"Name the settings: --settings FILE.yaml (examples: {installed.folder / 'examples'}).")
    criteria = read(engine, partial(studies.criteria, study_id=study.id))
    settings, own = settings_file.parse_run_file(read_text(file), installed, criteria)
    return RunRequest(
        study,
        installed,
        with_seeds_of_repeat(settings, options.get("repeat", 1)),
        name or file.stem,
        own_prompts=own.prompts,
        extractor=own.extractor,
        pairs=own.pairs,
        **options,
    )


def estimate_run(engine: Engine, request: RunRequest, sampled_items: int = costs.SAMPLED_ITEMS) -> CostEstimate:
    """Estimate calls, tokens and dollars without calling a model; raises TiebreakError as `create_run` does."""
    request = _with_examples(engine, request)
    request.protocol.check_prompts(request.prompts)
    count, sample = _sample_items(engine, request, sampled_items)
    _check_images(request, sample)
    models = {spec.model for _, spec in model_specs(request.settings)}
    with reading(engine) as session:
        budget = costs.transcript_budget(request.settings)
        sample = list(transcripts.with_texts(session, request.study.id, dict(enumerate(sample)), budget).values())
        recorded = find_recorded(session, request.study.id, request.protocol.name, models)
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
    texts = ["\n".join(response.text for response in item.responses if response.transcript) for item in sample]
    hidden, short = any(HIDDEN_IMAGE in text for text in texts), sum(bool(steps_left_out(text)) for text in texts)
    return replace(estimate, hides_images=hidden, shortened=(short, len(sample)))


def ceiling_warning(request: RunRequest, estimate: CostEstimate) -> str:
    """Return a sentence if the ceiling does not limit all costs; empty if it does."""
    if request.ceiling is None or estimate.dollars is not None:
        return ""
    return "The ceiling counts only calls whose price is known; the price of at least one of these models is not."


def receivers_sentence(request: RunRequest) -> str:
    """Return one sentence about who will receive texts of the study."""
    specs = [spec for _, spec in model_specs(request.settings)]
    named = costs.receivers([*specs, *filter(None, [request.extractor])])
    if not named:
        return "Texts stay on this machine: every model is local."
    return f"Study texts will be sent to: {', '.join(named)}."


def create_run(
    engine: Engine, request: RunRequest, *, experiment_id: int | None = None, cell: Mapping[str, str] | None = None
) -> int:
    """Create a run with a trace for every item, and return its id; a worker will execute it.

    If another process has created the run of the same cell and repetition of an experiment, its id is returned.
    Raises TiebreakError for prompts that cannot be filled, lack the judged text or name a rule that reads no reply, for
    images that cannot be read, for models that do not accept images, for items with an image if the protocol sends
    none, for items without a response of the baseline, and for more simulated annotators than there are annotators with
    labels for examples.
    """
    request = _with_examples(engine, request)
    request.protocol.check_prompts(request.prompts)
    count, _ = _sample_items(engine, request, 1)
    if not count:
        raise TiebreakError("There are no items to run over; import some first, or select others.")
    _, every_item = _sample_items(engine, request, count)
    _check_images(request, every_item)
    costs.check_replies(request.protocol, every_item[0], request.settings, request.prompts, request.pairs)
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
            cell=None if cell is None else dict(cell),
        )


def resume_run(engine: Engine, study: studies.Study, name: str, ceiling: float | None = None) -> int:
    """Request the rest of the study's run called `name`, and return its id; see `storage.runs.runs.resume`.

    A run that is executed already is left as it is, unless it should have another ceiling: that raises TiebreakError.
    """
    run_id = find_run(engine, study, name).id
    wait_until_cancelled(engine, run_id)
    with writing(engine) as session:
        if ceiling is not None or runs.executed_state(session, run_id) != "requested":
            runs.resume(session, run_id, ceiling, interrupted=True)
    return run_id


def wait_until_cancelled(engine: Engine, run_id: int) -> None:
    """Return when a run that is being cancelled has no call in progress: another worker would make it again."""
    while write(engine, partial(runs.executed_state, run_id=run_id)) == "cancelling":
        time.sleep(STOPPING_POLL_SECONDS)


def _sample_items(engine: Engine, request: RunRequest, size: int) -> tuple[int, list[Item]]:
    with reading(engine) as session:
        count, sample = runs.sample_items(session, request.study.id, request.selection, size=size)
        return count, aius.standing_items(session, request.study.id, sample, _with_standing_aius(request.settings))


def _with_examples(engine: Engine, request: RunRequest) -> RunRequest:
    """Return the request with the examples of simulated annotators, if it has any."""
    draw = partial(inputs.with_examples, settings=request.settings, seed=request.seed)
    return replace(request, settings=read(engine, partial(draw, study_id=request.study.id)))


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


def find_run(engine: Engine, study: studies.Study, name: str) -> runs.Run:
    """Return the study's run called `name`; raises TiebreakError if there is none."""
    by_name = {run.name: run for run in read(engine, partial(runs.of_study, study_id=study.id))}
    if name not in by_name:
        existing = ", ".join(map(repr, by_name)) or "none"
        raise TiebreakError(f"The study has no run called {name!r}; its runs: {existing}.")
    return by_name[name]


async def execute_here(
    engine: Engine,
    run_id: int,
    report: Callable[[runs.Run, runs.Progress], None],
    model: Model | None = None,
    *,
    notify: Callable[[str], None] = ignore,
    requests: StopRequests | None = None,
) -> tuple[runs.Run, runs.Progress]:
    """Execute a run until it ends; `report` is called about once a second when there is progress.

    `notify` is called with a sentence if the claim of another process is waited for.
    A run that another process has claimed is waited for. The first of the `requests` to stop cancels it there too.
    Raises DatabaseUnavailable after an outage of `outages.OUTAGE_SECONDS`.
    """
    run, _ = progress(engine, run_id)
    work = Work[tuple[runs.Run, runs.Progress]](
        run_ids=lambda _: [run_id],
        load=partial(_progress, run_id=run_id),
        name=f"The run {run.name!r}",
        command=f"--resume {run.name!r}",
    )
    return await execute_until_ended(engine, work, lambda state: report(*state), model, notify, requests)


def progress(engine: Engine, run_id: int) -> tuple[runs.Run, runs.Progress]:
    """Return a run and its progress."""
    return read(engine, partial(_progress, run_id=run_id))


def _progress(session: Session, run_id: int) -> tuple[runs.Run, runs.Progress]:
    return runs.get(session, run_id), runs.progress(session, run_id)
