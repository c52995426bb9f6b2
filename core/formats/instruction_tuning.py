"""The area chair's analyses as instruction-tuning data, one JSON object per line (ReFeR, Appendix J).

They train a smaller model to judge alone as the chair judged with its peers: the instruction is a peer's prompt, the
output is the chair's analysis and rating. Unreadable samples are left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import TextIO

from core.frozen import Frozen
from core.items import Item
from core.labels import Value
from core.protocols import criteria_of
from core.protocols.refer import PROTOCOL
from core.protocols.refer import protocol as refer
from core.protocols.refer.settings import Settings
from core.protocols.several_criteria import settings_of_criterion
from core.templates import Templates
from core.trace import Event, Turn, VerdictReached, completed_turns
from core.verdicts import verdict_of_criterion


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


def trace_examples(
    run: str, settings: Settings, prompts: Templates, item: Item, events: Sequence[Event], *, all_samples: bool = False
) -> Iterator[Example]:
    """Yield the examples of one trace: its final comment on each criterion, or every readable sample."""
    verdict = next((event.verdict for event in events if isinstance(event, VerdictReached)), None)
    if verdict is None:
        return
    for criterion in criteria_of(settings):
        own = settings_of_criterion(settings, criterion.name)
        turns = [turn for turn in completed_turns(events) if turn.criterion in ("", criterion.name)]
        value = verdict_of_criterion(verdict, criterion.name).value
        yield from _criterion_examples(run, own, prompts, item, turns, value, all_samples=all_samples)


def _criterion_examples(
    run: str,
    settings: Settings,
    prompts: Templates,
    item: Item,
    turns: Sequence[Turn],
    value: Value | None,
    *,
    all_samples: bool,
) -> Iterator[Example]:
    samples = [turn for turn in turns if turn.step == "chair"]
    if value is None:
        return
    final = refer.representative_sample(samples, value)
    is_current = PROTOCOL.is_current(prompts)
    ask = next(refer.flow(item, settings, Random(0), prompts if is_current else PROTOCOL.prompts))[0]
    # Templates of version 0.1 cannot be filled any more, but the sent prompt is stored; a second attempt was longer.
    sent = [turn.prompt for turn in turns if turn.step == "peer" and turn.prompt]
    instruction = ask.request() if is_current or not sent else min(sent, key=len)
    for index, turn in enumerate(samples):
        if turn.reading is not None and (all_samples or index == final):
            yield _example(turn, turn.reading, instruction, run, settings, item, ask.images)


def _example(
    turn: Turn,
    value: Value,
    prompt: str,
    run: str,
    settings: Settings,
    item: Item,
    images: tuple[str, ...],
) -> Example:
    return Example(
        instruction=prompt,
        output=turn.statement,
        item=item.id,
        run=run,
        criterion=settings.criterion.name,
        value=value,
        images=images,
    )


def write_jsonl(examples: Iterable[Example], stream: TextIO) -> int:
    """Write one line for each example, in the given order, and return their number."""
    count = 0
    for example in examples:
        fields: Mapping[str, object] = example.model_dump(mode="json", exclude=set() if example.images else {"images"})
        stream.write(json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n")
        count += 1
    return count
