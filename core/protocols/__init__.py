"""The protocols there are, each with what a form and an estimate need to know of it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from core.frozen import Frozen
from core.items import Item
from core.labels import Value
from core.protocols import refer, scaleeval
from core.templates import Templates
from core.trace import Ask, Flow


@dataclass(frozen=True)
class Protocol:
    """A published method, described."""

    name: str
    title: str
    sentence: str
    paper: str
    settings: type[Frozen]
    """The class of its settings; its fields carry their own help texts."""
    flow: Callable[[Item, Any, Random, Templates], Flow]
    longest: Callable[[Any, Ask], Value]
    """(settings, ask) -> the reading that keeps the flow going longest: the upper end of an estimate."""
    shortest: Callable[[Any, Ask], Value]
    """(settings, ask) -> the reading that ends the flow soonest."""
    reply_words: Callable[[Any], int]
    """settings -> about how many words a reply has."""


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in [
        Protocol(
            name=scaleeval.NAME,
            title="ScaleEval",
            sentence="Judges debate which of two responses is better; where they cannot agree, a person decides.",
            paper="Chern, Chern, Neubig, Liu (2024), arXiv:2401.16788",
            settings=scaleeval.Settings,
            flow=scaleeval.flow,
            longest=scaleeval.longest,
            shortest=scaleeval.shortest,
            reply_words=lambda settings: int(settings.words),
        ),
        Protocol(
            name=refer.NAME,
            title="ReFeR",
            sentence="Peers review one response alone, then an area chair who knows their scores decides.",
            paper="Narsupalli, Chandra, Muppirala, Gupta, Goyal (2024), arXiv:2407.12877",
            settings=refer.Settings,
            flow=refer.flow,
            longest=refer.longest,
            shortest=refer.longest,
            reply_words=lambda settings: 100,
        ),
    ]
}


def seeded(seed: int, item: Item) -> Random:
    """The chance of one trace: the same run and the same item always draw the same."""
    return Random(f"{seed}:{item.id}")
