"""A seeded split of items into a development and a held-out part, stratified by scenario.

Items that belong together stay together, so nothing of a held-out item is seen during development: items of one group
(a document or dialogue), with the same context, or with the same prompt and context. An item never changes its part.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

from core.items import Item

Part = Literal["development", "held-out"]
PARTS: tuple[Part, ...] = get_args(Part)


def assign_parts(items: Sequence[Item], existing: Mapping[str, Part], *, share: float, seed: int) -> dict[str, Part]:
    """Return item id -> part of the items that have none in `existing`.

    `share` is that of held-out items. In each scenario, and overall, their number differs from it by less than the
    size of the largest set of connected items. A new item that connects items of both parts is in neither.
    """
    parts: dict[str, Part] = {}
    new: list[list[Item]] = []
    for connected in connected_items(items):
        known = {existing[item.id] for item in connected if item.id in existing}
        if not known:
            new.append(connected)
        elif len(known) == 1:
            parts |= dict.fromkeys((item.id for item in connected if item.id not in existing), next(iter(known)))
    seen, held = len(existing) + len(parts), sum(part == "held-out" for part in [*existing.values(), *parts.values()])
    for connected in sorted(new, key=lambda connected: _random_order(connected, seed)):
        seen += len(connected)
        is_held_out = share * seen - held >= len(connected) / 2
        held += len(connected) * is_held_out
        parts |= dict.fromkeys((item.id for item in connected), PARTS[is_held_out])
    return parts


def connected_items(items: Sequence[Item]) -> list[list[Item]]:
    """Return the sets of items that belong together, directly or through others."""
    parent = list(range(len(items)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first_with: dict[tuple[str, str], int] = {}
    for place, item in enumerate(items):
        for link in _links(item):
            parent[root(place)] = root(first_with.setdefault(link, place))
    connected: dict[int, list[Item]] = defaultdict(list)
    for place, item in enumerate(items):
        connected[root(place)].append(item)
    return list(connected.values())


def set_names(items: Sequence[Item]) -> dict[str, str]:
    """Return item id -> the name of its set of connected items."""
    return {item.id: connected[0].id for connected in connected_items(items) for item in connected}


def _links(item: Item) -> Iterator[tuple[str, str]]:
    """Yield what an item has in common with the items that it belongs to."""
    prompt, context = (" ".join((text or "").casefold().split()) for text in (item.prompt, item.context))
    if item.group:
        yield "group", item.group
    if context:
        yield "context", context
    elif prompt:
        yield "prompt", prompt


def _random_order(connected: Sequence[Item], seed: int) -> tuple[str, bytes]:
    """Return a key that sorts by scenario, and randomly within one, whatever the order of the items is."""
    names = sorted(item.id for item in connected)
    scenario = min(item.scenario or "" for item in connected)
    return scenario, hashlib.sha256(f"{seed}:{names[0]}".encode(errors="replace")).digest()
