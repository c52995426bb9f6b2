"""Calls of a planned run whose replies are stored already: they will be reused and cost nothing.

The flows are run on stored replies as far as these go. What follows a reply that is not stored, or that could not be
read, is not known.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import Engine

from core.answers import Format
from core.attempts import first_request, make_turn
from core.errors import TiebreakError
from core.items import Item
from core.llm.call_keys import DrawCounter, call_keys
from core.llm.client import Reply
from core.llm.images import image_url, media_folder
from core.protocols.flows import start_flow
from core.trace import Ask, Flow, Turn
from storage import calls
from storage.database import batches, reading
from storage.worker.run_request import RunRequest

FORMATS: tuple[Format, ...] = ("json", "text")
"""Which one a model accepts is not known before the call."""
KEYS_IN_QUERY = 500


@dataclass(frozen=True)
class PaidCalls:
    """The calls of some traces that are stored, and those of the first round that are not."""

    calls: int
    dollars: float
    """What they cost when they were made, as far as it is known."""
    first_keys: tuple[str, ...]
    """The keys of the calls of the first round that are not stored, in one of the formats. Two runs that share a call
    have the same key."""


@dataclass
class _Walk:
    """One trace, as far as its replies are stored."""

    flow: Flow
    asks: Sequence[Ask]
    counter: DrawCounter = field(default_factory=DrawCounter)
    requests: list[dict[str, Ask]] = field(default_factory=list)
    """Key -> request of each ask of the round, by format."""


def find_paid(engine: Engine, request: RunRequest, traces: Sequence[tuple[Item, str]]) -> PaidCalls:
    """Return the stored calls of the (item, part) traces of a planned run."""
    folder = media_folder(request.study.name)
    walks = list(_start(request, traces))
    count, dollars, first_keys = 0, 0.0, None
    while walks:
        for walk in walks:
            walk.requests = [
                _requests(ask, draw, request.repeat, folder)
                for ask, draw in zip(walk.asks, walk.counter.draws(walk.asks), strict=True)
            ]
        stored = (
            {}
            if request.fresh
            else _find(engine, request.study.id, [key for walk in walks for r in walk.requests for key in r])
        )
        if first_keys is None:
            missing = [r for walk in walks for r in walk.requests if r and not stored.keys() & r.keys()]
            first_keys = tuple(list(requests)[-1] for requests in missing)
        found = [reply for walk in walks for reply in _replies(walk, stored)]
        count += len(found)
        dollars += sum(reply.usage.dollars or 0.0 for _, reply in found)
        walks = [walk for walk in walks if _advance(walk, stored)]
    return PaidCalls(count, dollars, first_keys or ())


def _start(request: RunRequest, traces: Iterable[tuple[Item, str]]) -> Iterator[_Walk]:
    for item, part in traces:
        flow = start_flow(
            request.protocol, item, request.settings, seed=request.seed, templates=request.prompts, part=part
        )
        yield _Walk(flow, next(flow))


def _requests(ask: Ask, draw: int, repeat: int, folder: Path) -> dict[str, Ask]:
    """Return key -> request for each format; none if an image cannot be read."""
    try:
        images = tuple(image_url(folder, image) for image in ask.images)
    except TiebreakError:
        return {}
    structured = ask.answer is not None and ask.answer.structured
    formats = FORMATS if structured and ask.spec.answer_format != "text" else FORMATS[1:]
    sent = [replace(first_request(ask, format), images=images, draws=(draw,)) for format in formats]
    return {call_keys(one, repeat)[0]: one for one in sent}


def _find(engine: Engine, study_id: int, keys: Sequence[str]) -> dict[str, Reply]:
    found: dict[str, Reply] = {}
    with reading(engine) as session:
        for batch in batches(keys, KEYS_IN_QUERY):
            found |= calls.find(session, batch, study_id)
    return found


def _replies(walk: _Walk, stored: dict[str, Reply]) -> list[tuple[Ask, Reply]]:
    """Return (request, reply) of the asks of a round whose replies are stored."""
    found = (next((key for key in requests if key in stored), None) for requests in walk.requests)
    return [(requests[key], stored[key]) for key, requests in zip(found, walk.requests, strict=True) if key is not None]


def _advance(walk: _Walk, stored: dict[str, Reply]) -> bool:
    """Send the stored replies of a round to the flow; return False if one is missing or unread, or at the end."""
    turns: list[Turn] = [make_turn(ask, reply) for ask, reply in _replies(walk, stored)]
    if len(turns) < len(walk.asks) or any(turn.problem for turn in turns):
        return False
    try:
        walk.asks = walk.flow.send(turns)
    except StopIteration:
        return False
    return True
