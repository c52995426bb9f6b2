"""From the definition of an experiment to its runs: created, estimated, executed in this process, and resumed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import FileFormatError, TiebreakError
from core.experiments import Cell, Definition, design, from_fields
from core.llm import costs
from core.llm.client import Model
from core.protocols import registry, settings_file
from core.protocols.prompt_parts import format_note
from core.trace import model_specs, with_seeds_of_repeat
from core.wording import format_count, format_minutes
from storage.db.connections import read, reading, write, writing
from storage.db.tables import ItemRow, TraceRow
from storage.labels import labels
from storage.reports import references
from storage.runs import experiments, runs
from storage.runs.inputs import without_examples
from storage.runs.runs import Run
from storage.studies import studies
from storage.studies.items import ItemSelection
from storage.studies.studies import Study
from storage.worker._launch import (
    RunRequest,
    create_run,
    estimate_run,
    settings_of_run,
    wait_until_cancelled,
)
from storage.worker._outages import StopRequests, ignore
from storage.worker._worker import Work, execute_until_ended

# Fields of a definition that runs of an experiment have in common: they cannot change later.
FIXED = ("seed", "scenario", "items", "sample", "limit", "fresh")
# Items of each run that the estimate of an experiment simulates, if it has many runs.
MIN_SAMPLED_ITEMS = 3


@dataclass(frozen=True)
class PlannedRun:
    """A run of an experiment: a repetition of a cell."""

    cell: Cell
    repeat: int
    request: RunRequest


@dataclass
class Plan:
    """What starting an experiment does: runs that are created, resumed, and left as they are."""

    definition: Definition
    known_criteria: frozenset[str] = frozenset()
    """The names of the study's criteria."""
    reference_note: str = ""
    """What is missing for the reference of the results; empty if nothing is."""
    new: list[PlannedRun] = field(default_factory=list)
    existing: list[tuple[PlannedRun, Run]] = field(default_factory=list)

    @property
    def runs(self) -> list[PlannedRun]:
        """All runs: a first repetition of every cell, then the second ones."""
        planned = [*self.new, *(run for run, _ in self.existing)]
        return sorted(planned, key=lambda run: run.repeat)

    @property
    def notes(self) -> list[str]:
        """What a reader of the results should know about the design: levels that are the same for a criterion, and
        criteria that the study does not have."""
        notes = [self.reference_note, *(format_note(run.request.settings) for run in self.runs)]
        for run in self.runs:
            for one in run.request.protocol.criteria(run.request.settings):
                if one.name and one.name not in self.known_criteria and not (one.definition or one.rubric):
                    notes.append(f"The study has no criterion {one.name!r}: judges are given its name alone.")
        return list(dict.fromkeys(filter(None, [*notes, _seeds_note(self.runs)])))


def _seeds_note(planned: Sequence[PlannedRun]) -> str:
    """Return a sentence if calls of repeats can be equal; empty if there is one repeat, or none can be."""
    requests = [run.request for run in planned if run.repeat > 1]
    models = dict.fromkeys(
        spec.model
        for request in requests
        for _, spec in model_specs(request.settings)
        if spec.seed is not None or spec.temperature == 0
    )
    if not models:
        return ""
    return (
        f"Repeats of {', '.join(models)} differ by the seed that is sent with each call. A provider that takes no seed "
        "can return the same replies again: their deviation is then 0, and a turn says if the seed was refused."
    )


def plan(engine: Engine, study: Study, definition: Definition) -> Plan:
    """Return what starting an experiment does, without doing it.

    Raises TiebreakError for invalid settings, and if runs of an experiment of this name have other settings.
    """
    with reading(engine) as session:
        criteria = studies.criteria(session, study.id)
        stored = experiments.find(session, study.id, definition.name)
        made = [] if stored is None else experiments.runs_of(session, stored.id)
        note = _reference_note(session, study.id, definition)
    if stored is not None and made:
        _check_fixed(stored.definition, definition)
    by_key = {_key(run.cell or {}, run.repeat): run for run in made}
    planned = Plan(definition, frozenset(criterion.name for criterion in criteria), note)
    for repeat in range(1, definition.repeats + 1):
        for cell in design(definition):
            run = PlannedRun(cell, repeat, _request(study, definition, cell, repeat, criteria))
            if (made_before := by_key.get(_key(cell.levels, repeat))) is not None:
                _check_equal(made_before, run, definition.name)
                planned.existing.append((run, made_before))
            else:
                planned.new.append(run)
    return planned


def failed_part(engine: Engine, planned: Plan) -> Plan:
    """Return the part of a plan that continues runs that are stopped, or in which traces failed; it creates none."""
    with reading(engine) as session:
        of_runs = runs.progress_by_run(session, [made.id for _, made in planned.existing])
    failed = [(run, made) for run, made in planned.existing if made.state == "stopped" or of_runs[made.id].failed]
    return replace(planned, new=[], existing=failed)


def start(engine: Engine, study: Study, planned: Plan) -> int:
    """Create the missing runs of an experiment, request the rest of the others, and return the experiment's id.

    A worker executes them. If the process ends in the middle, a new plan creates the runs that are missing.
    """
    definition = planned.definition
    _check_items(engine, study, planned)
    experiment_id = write(engine, lambda session: experiments.save(session, study.id, definition))
    for run in planned.new:
        create_run(engine, run.request, experiment_id=experiment_id, cell=run.cell.levels)
    if planned.new:
        plan(engine, study, definition)  # another process may have created some of them with other settings
    for _, made in planned.existing:
        wait_until_cancelled(engine, made.id)
    with writing(engine) as session:
        for _, made in planned.existing:
            progress = runs.progress(session, made.id)
            if progress.done < progress.traces and runs.get(session, made.id).state != "requested":
                runs.resume(session, made.id)
    return experiment_id


def estimate(engine: Engine, planned: Plan) -> str:
    """Return the expected calls and cost of the runs that a plan creates, as one sentence without its full stop.

    They are estimated from a few items of each run, without calling a model. Dollars are unknown if the price of a
    model is, and the duration if a run has too few recorded calls of the same models.
    """
    sampled = max(MIN_SAMPLED_ITEMS, costs.SAMPLED_ITEMS // max(1, len(planned.new)))
    estimates = [estimate_run(engine, run.request, sampled) for run in planned.new]
    empty = sum(not one.traces for one in estimates)
    dollars, seconds = [one.expected.dollars for one in estimates], [one.seconds for one in estimates]
    cost = "price unknown" if None in dollars else f"about ${sum(filter(None, dollars)):,.2f}"
    time = 0.0 if None in seconds else sum(filter(None, seconds))
    clauses = [
        f"{format_count(len(estimates), 'new run')}, {format_count(sum(one.traces for one in estimates), 'trace')}: "
        f"expected about {format_count(sum(one.expected.calls for one in estimates), 'call')}, {cost}",
        "a call that is stored, or that several runs share, is paid once",
        f"{format_minutes(time)} by the recorded calls of its models" if time else "",
        f"at most {format_count(sum(one.upper_bound.calls for one in estimates), 'call')} if every reply has to be "
        "requested twice",
        f"the study has no item for {empty:,} of the runs" if empty else "",
    ]
    return "; ".join(filter(None, clauses))


async def execute_experiment(
    engine: Engine,
    experiment_id: int,
    report: Callable[[experiments.Progress], None],
    model: Model | None = None,
    *,
    notify: Callable[[str], None] = ignore,
    requests: StopRequests | None = None,
    at_once: int = 1,
) -> experiments.Progress:
    """Execute the runs of an experiment until none is left; `report` is called once a second.

    A run that is stopped by an error or by the ceiling is left; the others are executed, `at_once` at the same time.
    These share the ceiling, and the concurrent calls to a model at an address.

    A run that another process executes is waited for; `notify` is called with a sentence about it. The first of the
    `requests` to stop cancels all runs, for other processes too.
    """
    work = Work[experiments.Progress](
        run_ids=lambda session: [run.id for run in experiments.runs_of(session, experiment_id)],
        load=partial(experiments.progress, experiment_id=experiment_id),
        name="The experiment",
        command="the same command",
        at_once=at_once,
        in_turn=at_once == 1,
    )
    return await execute_until_ended(engine, work, report, model, notify, requests)


def influence_definition(engine: Engine, run: Run, *, altered: bool = False) -> Definition:
    """Return the experiment that asks the chair of a peer review again without each of its peers.

    The reviews of the other peers are stored, so only the chair is called. One more run asks it with all peers and
    another seed: how far its verdicts vary by themselves. `altered`: with each peer's review altered instead, see
    `peer_reviews.load_altered`. Raises TiebreakError for runs without several peers.
    """
    from storage.reports import peer_reviews  # with NumPy, which the server loads after its settings of threads

    base = base_of_run(engine, run)
    peers = base.get("peers") or []
    if run.protocol not in registry.with_artifact("peer reviews") or len(peers) < 2:
        raise TiebreakError(f"The run {run.name!r} has no chair with several peers.")
    named = peer_reviews.peer_labels([peer["name"] for peer in peers])
    chair = base.get("chair", {})
    seed = chair.get("spec", chair).get("seed") or 0
    levels = {"all peers, another seed": {"set": {"chair.seed": seed + 1}}} | {
        f"without {named[peer['name']]}": {"set": {"peers": [other for other in peers if other is not peer]}}
        for peer in peers
    }
    with reading(engine) as session:
        if altered:
            found = peer_reviews.load_altered(session, run)
            levels = {name: {"set": {"altered_reviews": reviews}} for name, reviews in found.items()}
        of_run = select(col(ItemRow.key)).join(TraceRow, col(TraceRow.item_id) == col(ItemRow.id))
        names = sorted(set(session.scalars(of_run.where(col(TraceRow.run_id) == run.id))))
    return from_fields({
        "name": peer_reviews.influence_name(run.name, altered=altered), "protocol": run.protocol, "base": base,
        "seed": run.seed, "parallel": run.parallel, "items": names, "axes": {"peers": levels},
    })  # fmt: skip


def base_of_run(engine: Engine, run: Run) -> dict[str, Any]:
    """Return the settings of a run as the base of an experiment, without those that have their default value."""
    study = read(engine, partial(studies.by_id, study_id=run.study_id))
    return settings_fields(run, study.templates(run.protocol))


def settings_fields(run: Run, templates: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings file of a run, without default values and without prompts that are in `templates`."""
    protocol = registry.get(run.protocol)
    settings = settings_file.validate_settings(run.settings, protocol)
    fields: dict[str, Any] = settings.model_dump(mode="json", exclude_defaults=True)
    known = templates.keys() | protocol.raw_prompts.keys()
    prompts = {name: text for name, text in run.prompts.items() if name in known and templates.get(name) != text}
    own = {"prompts": prompts, "extractor": run.extractor, "pairs": run.pairs}
    return fields | {name: value for name, value in own.items() if value}


def _request(study: Study, definition: Definition, cell: Cell, repeat: int, criteria: Sequence[Any]) -> RunRequest:
    """Return the request for a run; raises FileFormatError that names the cell."""
    protocol = registry.get(cell.protocol)
    try:
        settings, own = settings_file.parse_run_fields(cell.settings, protocol, criteria)
    except FileFormatError as error:
        raise FileFormatError(f"{cell.label}: {error}" if cell.label else str(error)) from None
    of_run = cell.run
    selection = ItemSelection(
        of_run["scenario"], tuple(of_run["items"]), of_run["sample"], definition.seed, of_run["limit"]
    )
    return RunRequest(
        study,
        protocol,
        with_seeds_of_repeat(settings, repeat),
        cell.run_name(definition.name, repeat, definition.repeats),
        seed=of_run["seed"],
        parallel=definition.parallel,
        selection=selection,
        repeat=repeat,
        fresh=definition.fresh,
        extractor=own.extractor,
        pairs=own.pairs,
        own_prompts=own.prompts,
    )


def _key(levels: Any, repeat: int) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return what identifies a run in its experiment."""
    return tuple(sorted(levels.items())), repeat


def _reference_note(session: Session, study_id: int, definition: Definition) -> str:
    """Return what is missing for the reference of an experiment; raises TiebreakError for one that is not valid."""
    if not definition.reference:
        return ""
    reference = references.parse(definition.reference)
    if reference == references.Reference("debate", definition.name):
        raise TiebreakError("An experiment cannot be its own reference.")
    if reference.type == "debate" and not references.debate_run_ids(session, study_id, reference.name):
        return f"The study has no run or experiment {reference.name!r} yet, which is the reference of the results."
    if reference.type == "annotator" and reference.name not in labels.annotators_of(session, study_id):
        return f"The annotator {reference.name!r}, the reference of the results, has no labels yet."
    return ""


def _check_items(engine: Engine, study: Study, planned: Plan) -> None:
    """Raise TiebreakError for the first new run whose selection has no item."""
    counts: dict[ItemSelection, int] = {}
    with reading(engine) as session:
        for run in planned.new:
            selection = run.request.selection
            if selection not in counts:
                counts[selection], _ = runs.sample_items(session, study.id, selection, size=1)
            if not counts[selection]:
                scenario = "" if selection.scenario is None else f" in the scenario {selection.scenario!r}"
                label = run.cell.label or "its only cell"
                raise TiebreakError(f"The study has no item{scenario} for {label}; correct or exclude it.")


def _check_fixed(stored: Definition, definition: Definition) -> None:
    other = [name for name in FIXED if getattr(stored, name) != getattr(definition, name)]
    axes, added = ({axis.name for axis in one.axes} for one in (stored, definition))
    if not other and axes == added:
        return
    runs_have = f"another value of {other[0]!r}" if other else f"the axes {', '.join(sorted(axes)) or 'none'}"
    raise TiebreakError(
        f"The experiment {definition.name!r} has runs with {runs_have}; give the changed one another name."
    )


def _check_equal(made: Run, planned: PlannedRun, name: str) -> None:
    request = planned.request
    wanted = (request.protocol.name, settings_of_run(request), request.prompts, request.seed)
    if (made.protocol, without_examples(made.settings), made.prompts, made.seed) != wanted:
        label = planned.cell.label or "its only cell"
        raise TiebreakError(
            f"The experiment {name!r} has a run with other settings or prompts for {label}; give the changed "
            "experiment another name."
        )
