"""The flows of a run: one for each item, or one for each pair of an item's responses."""

from typing import Any

from core.errors import TiebreakError
from core.items import Item, Pairs, pair_item
from core.protocols import Protocol, trace_rng
from core.templates import Templates
from core.trace import Flow, Verdict


def trace_parts(protocol: Protocol, settings: Any, item: Item, pairs: Pairs | None = None) -> list[str]:
    """Return the part of each trace of an item in a run: "" for one trace on the item, or the pairs of its responses.

    Without `pairs`, a protocol that compares exactly two responses is run on all pairs, and one that compares several
    on all of them at once. Raises TiebreakError for `pairs` if nothing is compared.
    """
    comparison = protocol.compares(settings)
    if pairs is not None and not comparison:
        raise TiebreakError(f"{protocol.title} compares no responses with these settings, so it has no pairs.")
    if pairs is None and comparison != "two":
        return [""]
    return (pairs or Pairs()).parts(item)


def start_flow(
    protocol: Protocol, item: Item, settings: Any, *, seed: int, templates: Templates, part: str = ""
) -> Flow:
    """Return the flow of one trace. If `part` is a pair, it is on those two responses of the item alone.

    What it concludes about the pair is then stored under that part.
    """
    flow = protocol.flow(pair_item(item, part), settings, trace_rng(seed, item, part), templates)
    return _with_part(flow, part) if part else flow


def _with_part(flow: Flow, part: str) -> Flow:
    verdict: Verdict = yield from flow
    opinions = tuple(
        opinion.model_copy(update={"part": part}) if opinion.kind == "preference" and not opinion.part else opinion
        for opinion in verdict.opinions
    )
    return verdict.model_copy(update={"opinions": opinions})
