"""What every executor of runs uses: its name, the run that it loads, and the execution of one trace from its events."""

import logging
import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.errors import RunStopped, TiebreakError
from core.frozen import Frozen
from core.items import Item
from core.llm import costs, images
from core.llm.client import Model
from core.llm.limits import Limits
from core.protocols import Protocol, registry, start_flow
from core.protocols.settings_file import validate_settings
from core.runner import run_flow
from core.trace import Event, Spec, TraceFailed
from storage.db.connections import reading
from storage.runs import aius, claims, events, experiments, outcomes, runs, traces
from storage.runs.claims import ClaimedTrace
from storage.studies import items, studies, transcripts
from storage.worker._transactions import EventWriter

# Interval between two renewals of a worker's claims. A cancelled run stops after at most this time.
HEARTBEAT_SECONDS = 1.0


def worker_name() -> str:
    """Return a name for the claim of a run that no other claim has, on any machine."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def load_run(session: Session, run_id: int) -> tuple[runs.Run, float | None, float, Path]:
    """Return a run, its ceiling, what has been spent of it, and the folder of its images."""
    run = runs.get(session, run_id)
    ceiling, spent = experiments.budget(session, run)
    return run, ceiling, spent, images.media_folder(studies.by_id(session, run.study_id).name)


log = logging.getLogger("tiebreak")
SEQUENCE_END = 1_000_000_000
PROMPTS_CHANGED = (
    "The prompts of this protocol have changed since the trace was started. It starts again with the new ones; the "
    "earlier replies are stored, and do not count."
)


@dataclass(frozen=True)
class LoadedTrace:
    """A claimed trace with what is stored of it."""

    id: int
    item: Item
    part: str
    stored: list[Event]
    next_sequence_number: int


@dataclass(frozen=True)
class RunSetup:
    """What the traces of a run have in common; raises TiebreakError if the protocol is missing or settings invalid."""

    run: runs.Run
    protocol: Protocol
    settings: Frozen
    extractor: Spec | None

    @property
    def at_once(self) -> int:
        """The number of traces to execute at once.

        Twice the concurrent calls of one model: a trace that waits for its other judges leaves calls free.
        """
        return max(4, 2 * self.run.parallel)

    @classmethod
    def of(cls, run: runs.Run) -> "RunSetup":
        """Return the setup of a run."""
        protocol = registry.get(run.protocol)
        extractor = Spec.model_validate(run.extractor) if run.extractor else None
        return cls(run, protocol, validate_settings(run.settings, protocol), extractor)


def load_traces(engine: Engine, setup: RunSetup, claimed: Sequence[ClaimedTrace]) -> list[LoadedTrace]:
    """Return claimed traces of a run with their items and events."""
    run, budget = setup.run, costs.transcript_budget(setup.settings)
    with reading(engine) as session:
        numbers = events.next_sequence_numbers(session, [trace.id for trace in claimed])
        found = items.by_ids(session, list({trace.item_id for trace in claimed}))
        imported = transcripts.with_texts(session, run.study_id, found, budget)
        items_by_id = aius.evaluated_items(session, run, imported)
        return [
            LoadedTrace(
                trace.id,
                items_by_id[trace.item_id],
                trace.part,
                traces.events_with_prompts(session, trace.id) if numbers[trace.id] else [],
                numbers[trace.id],
            )
            for trace in claimed
        ]


async def execute_trace(setup: RunSetup, trace: LoadedTrace, model: Model, writer: EventWriter, limits: Limits) -> bool:
    """Run a trace to its end and store every event before the next; return whether it has a verdict.

    Raises RunStopped if the run may make no more calls, and SQLAlchemyError if an event cannot be stored.
    """
    numbers = iter(range(trace.next_sequence_number, SEQUENCE_END))

    async def record(event: Event) -> None:
        await writer.append(outcomes.NewEvent(trace.id, next(numbers), event))

    try:
        run, part = setup.run, trace.part
        flow = start_flow(setup.protocol, trace.item, setup.settings, seed=run.seed, templates=run.prompts, part=part)
        with writer.live.followed(trace.id):
            verdict = await run_flow(flow, model, record, stored=trace.stored, limits=limits, extractor=setup.extractor)
    except (RunStopped, SQLAlchemyError):
        raise
    except Exception as error:
        await record(TraceFailed(problem=describe(error)))
        return False
    return verdict is not None


def update_prompts(session: Session, run: runs.Run) -> runs.Run:
    """Give a run of an earlier version the study's templates of today, and restart its unfinished traces.

    Replies to the earlier prompts answer other questions than those that are still to be asked.
    """
    # The prompts that were sent are stored with their turns.
    claims.locked(session, run.id).prompts = studies.by_id(session, run.study_id).templates(run.protocol)
    outcomes.restart_unfinished(session, run.id, PROMPTS_CHANGED)
    return runs.get(session, run.id)


def describe(error: Exception) -> str:
    """Return a sentence about an error; the details of an unexpected one go to the log."""
    if isinstance(error, TiebreakError):
        return str(error)
    log.error("A run ended with an unexpected error.", exc_info=error)
    return f"An unexpected error occurred ({type(error).__name__}); its details are in the server's log."
