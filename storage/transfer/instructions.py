"""What the area chairs of a study's peer reviews said, as examples for instruction tuning."""

from collections.abc import Iterator

from pydantic import ValidationError
from sqlalchemy import Engine

from core.formats.instruction_tuning import Example, examples
from core.problems import Problem
from core.protocols.refer import protocol as refer
from storage import items, traces
from storage.database import reading
from storage.reports import peer_errors
from storage.studies import Study
from storage.traces import Filter

CHUNK = 200
"""Traces read at once."""


def of_study(engine: Engine, study: Study, *, every: bool = False) -> Iterator[Example]:
    """The final comment of each trace, or `every` sample; run by run, the oldest first, in the order of the items."""
    with reading(engine) as session:
        known = peer_errors.runs_of(session, study.id)
        if not known:
            raise Problem(
                "This study has no peer review: only ReFeR's area chair gives examples for instruction tuning."
            )
        for run in reversed(known):
            try:
                settings = refer.Settings.model_validate(run.settings)
            except ValidationError:
                continue
            wanted = Filter(study.id, run.id)
            for first in range(0, traces.count(session, wanted), CHUNK):
                for trace in traces.find(session, wanted, offset=first, limit=CHUNK):
                    item = items.get(session, study.id, trace.item)
                    events = traces.whole(session, trace.id)
                    yield from examples(
                        run.name, settings, study.templates(refer.NAME) | run.prompts, item, events, every=every
                    )
