"""A study of pairs with three annotators and judges with known biases."""

import random
from collections.abc import Iterator

from core.formats.records import ItemRecord, Record, RunRecord
from core.items import Item, Response
from tests.conftest import make_label
from tests.storage.reports.test_alignment import make_trace

SYSTEMS = ("gpt-3.5-turbo", "llama-2-13b")
MODELS = {"fair": "claude-3-opus", "own": "gpt-4o", "long": "mistral-large"}


def planted_records(items: int = 80, *, named: tuple[str, ...] = ("fair", "own", "long")) -> Iterator[Record]:
    """Yield pairs of two systems, in random order and of random lengths, with labels and three judges' verdicts.

    "own" chooses its own family's system on half of the pairs whatever people say, "long" the longer response.
    """
    rng = random.Random(7)
    judges = [{"name": name, "spec": {"model": MODELS[name]}} for name in named]
    yield RunRecord(name="r", protocol="scaleeval", criterion="helpfulness", settings={"judges": judges})
    for number in range(items):
        item, truth = f"i{number}", rng.choice((1, 2))
        systems = rng.sample(SYSTEMS, 2)
        lengths = rng.sample((3, 9), 2)
        responses = tuple(
            Response(text="word " * length, system=system) for length, system in zip(lengths, systems, strict=True)
        )
        yield ItemRecord(item=Item(id=item, prompt="?", responses=responses, scenario="math" if number % 2 else "code"))
        for name in ("ann", "ben", "cat"):
            yield make_label(truth if rng.random() < 0.9 else 3 - truth, name, item)
        own, longer = 1 + systems.index(SYSTEMS[0]), 1 + lengths.index(9)
        verdicts = {
            "fair": truth if rng.random() < 0.9 else 3 - truth,
            "own": own if rng.random() < 0.6 else truth,
            "long": longer if rng.random() < 0.6 else truth,
        }
        shown = rng.choice(((1, 2), (2, 1)))
        yield make_trace(item, *((name, "verdict", verdicts[name]) for name in named), shown=shown)
