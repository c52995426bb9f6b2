"""Examples for instruction tuning from the area chairs of a study's peer reviews (ReFeR)."""

from collections.abc import Iterator

from pydantic import ValidationError
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.instruction_tuning import Example, trace_examples
from core.protocols.refer import protocol as refer
from core.protocols.refer.settings import Settings
from storage.db.connections import reading
from storage.reports import peer_reviews
from storage.runs import runs, traces
from storage.runs.traces import Filter
from storage.studies import items
from storage.studies.studies import Study


def instruction_examples(engine: Engine, study: Study, *, every: bool = False) -> Iterator[Example]:
    """Yield the final comment of each trace, or `every` sample: oldest run first, in the order of the items.

    Raises TiebreakError if the study has no peer review.
    """
    with reading(engine) as session:
        reviews = peer_reviews.find_runs(session, study.id)
        if not reviews:
            notes = [
                "This study has no peer review: only ReFeR's area chair gives examples for instruction tuning.",
                *runs.uninstalled_protocol_notes(session, study.id),
            ]
            raise TiebreakError(" ".join(notes))
        for run in reversed(reviews):
            try:
                settings = Settings.model_validate(run.settings)
            except ValidationError:  # an imported run may have any settings
                continue
            filter = Filter(study.id, run.id)
            templates = study.templates(refer.NAME) | run.prompts
            for batch in traces.in_batches(session, filter):
                for trace in batch:
                    item = items.get(session, study.id, trace.item)
                    events = traces.events_with_prompts(session, trace.id)
                    yield from trace_examples(run.name, settings, templates, item, events, all_samples=every)
