"""The area chair's analyses as instruction-tuning data, one JSON object per line (ReFeR, Appendix J).

They train a smaller model to judge alone as the chair judged with its peers: the instruction is a peer's prompt, the
output is the chair's analysis and rating. Unreadable samples are left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import TextIO

from pydantic import ValidationError
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.frozen import Frozen
from core.improvement.changes import Part
from core.items import Item
from core.labels import Value
from core.protocols import criteria_of, settings_of_criterion
from core.protocols.refer import PROTOCOL
from core.protocols.refer import protocol as refer
from core.protocols.refer.settings import Settings
from core.templates import Templates
from core.trace import Event, VerdictReached, completed_turns
from core.verdicts import verdict_of_criterion
from storage.db.connections import reading
from storage.improvement import splits
from storage.reports import peer_reviews
from storage.runs import runs, traces
from storage.studies import items
from storage.studies.studies import Study


class Example(Frozen):
    """One line. Training programs read `instruction`, `input` and `output`; the other fields identify the source."""

    instruction: str
    input: str = ""
    """Always empty: the instruction contains the item."""
    output: str
    item: str
    run: str
    criterion: str
    value: Value
    """The rating or answer in the output."""
    images: tuple[str, ...] = ()


def instruction_examples(
    engine: Engine, study: Study, *, every: bool = False, run: str | None = None, part: Part | None = None
) -> Iterator[Example]:
    """Yield the final comment of each trace, or `every` sample: oldest run first, in the order of the items.

    With `run` of this run alone, with `part` on items of this part of the split. Raises TiebreakError if there is no
    such peer review, or no split.
    """
    with reading(engine) as session:
        reviews = [one for one in peer_reviews.find_runs(session, study.id) if run in (None, one.name)]
        if part is not None:
            splits.get(session, study.id)
        parts = splits.parts(session, study.id) if part is not None else {}
        if not reviews:
            named = f" called {run!r}" if run else ""
            notes = [
                f"This study has no peer review{named}: only ReFeR's area chair gives examples for instruction tuning.",
                *runs.uninstalled_protocol_notes(session, study.id),
            ]
            raise TiebreakError(" ".join(notes))
        for review in reversed(reviews):
            try:
                settings = Settings.model_validate(review.settings)
            except ValidationError:  # an imported run may have any settings
                continue
            templates = study.templates(refer.NAME) | review.prompts
            for batch in traces.in_batches(session, traces.Filter(study.id, review.id)):
                for trace in batch:
                    if part is not None and parts.get(trace.item) != part:
                        continue
                    item = items.get(session, study.id, trace.item)
                    events = traces.events_with_prompts(session, trace.id)
                    yield from trace_examples(review.name, settings, templates, item, events, all_samples=every)


def trace_examples(
    run: str, settings: Settings, prompts: Templates, item: Item, events: Sequence[Event], *, all_samples: bool = False
) -> Iterator[Example]:
    """Yield the examples of one trace: its final comment on each criterion, or every readable sample."""
    verdict = next((event.verdict for event in events if isinstance(event, VerdictReached)), None)
    if verdict is None:
        return
    is_current = PROTOCOL.is_current(prompts)
    for criterion in criteria_of(settings):
        value = verdict_of_criterion(verdict, criterion.name).value
        if value is None:
            continue
        own = settings_of_criterion(settings, criterion.name)
        turns = [turn for turn in completed_turns(events) if turn.criterion in ("", criterion.name)]
        samples = [turn for turn in turns if turn.step == "chair"]
        final = refer.representative_sample(samples, value)
        ask = next(refer.flow(item, own, Random(0), prompts if is_current else PROTOCOL.prompts))[0]
        # Templates of version 0.1 cannot be filled any more, but the sent prompt is stored; a second one was longer.
        sent = [turn.prompt for turn in turns if turn.step == "peer" and turn.prompt]
        shared = {
            "instruction": ask.request() if is_current or not sent else min(sent, key=len),
            "item": item.id,
            "run": run,
            "criterion": own.criterion.name,
            "images": ask.images,
        }
        for index, turn in enumerate(samples):
            if turn.reading is not None and (all_samples or index == final):
                yield Example.model_validate({**shared, "output": turn.statement, "value": turn.reading})


def write_jsonl(examples: Iterable[Example], stream: TextIO) -> int:
    """Write one line for each example, in the given order, and return their number."""
    count = 0
    for example in examples:
        fields: Mapping[str, object] = example.model_dump(mode="json", exclude=set() if example.images else {"images"})
        stream.write(json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n")
        count += 1
    return count
