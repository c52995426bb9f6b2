"""The area chair's analyses as instruction-tuning data, one example a line of JSON (ReFeR, Appendix J).

A smaller model is taught to judge alone as the chair judged with its peers: the instruction is a peer's prompt, the
output the chair's analysis and rating. Samples that could not be read teach nothing and are left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import TextIO

from core.frozen import Frozen
from core.items import Item
from core.labels import Value
from core.protocols.refer import protocol as refer
from core.templates import Templates
from core.trace import Event, Turn, VerdictReached, turns


class Example(Frozen):
    """One line. `instruction`, `input` and `output` are what training programs read; the rest says where it is from."""

    instruction: str
    input: str = ""
    """Empty: the instruction holds all that is judged."""
    output: str
    item: str
    run: str
    criterion: str
    value: Value
    """What the output rates or answers."""
    images: tuple[str, ...] = ()


def examples(
    run: str, settings: refer.Settings, prompts: Templates, item: Item, events: Sequence[Event], *, every: bool = False
) -> Iterator[Example]:
    """What one trace teaches: its final comment, or every sample that could be read."""
    verdict = next((event.verdict for event in events if isinstance(event, VerdictReached)), None)
    samples = [turn for turn in turns(events) if turn.step == "chair"]
    if verdict is None or verdict.value is None:
        return
    final = refer.shown(samples, verdict.value)
    ask = next(refer.flow(item, settings, Random(0), prompts))[0]
    for number, turn in enumerate(samples):
        if turn.reading is not None and (every or number == final):
            yield _example(turn, turn.reading, ask.prompt, run, settings, item, ask.images)


def _example(
    turn: Turn,
    value: Value,
    prompt: str,
    run: str,
    settings: refer.Settings,
    item: Item,
    images: tuple[str, ...],
) -> Example:
    return Example(
        instruction=prompt,
        output=turn.reply.strip(),
        item=item.id,
        run=run,
        criterion=settings.criterion.name,
        value=value,
        images=images,
    )


def write(found: Iterable[Example], stream: TextIO) -> int:
    """One line an example, in the order given; how many they were."""
    count = 0
    for example in found:
        fields: Mapping[str, object] = example.model_dump(mode="json", exclude=set() if example.images else {"images"})
        stream.write(json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n")
        count += 1
    return count
