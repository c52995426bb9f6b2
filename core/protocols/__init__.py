"""The protocols there are, each with what a form and an estimate need to know of it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from core.frozen import Frozen
from core.items import Item
from core.labels import Value
from core.protocols import (
    baselines,
    chateval,
    dna_baselines,
    dna_eval,
    metacritique,
    metacritique_baselines,
    refer,
    scaleeval,
)
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
    sees: bool = False
    """Whether it sends an item's images to its models."""


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
            name=chateval.NAME,
            title="ChatEval",
            sentence="Personas talk over what responses are worth: one by one, all at once, or with a summariser.",
            paper="Chan, Chen, Su, Yu, Xue, Zhang, Fu, Liu (2023), arXiv:2308.07201",
            settings=chateval.Settings,
            flow=chateval.flow,
            longest=chateval.longest,
            shortest=chateval.longest,
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
            sees=True,
        ),
        Protocol(
            name=dna_eval.NAME,
            title="DnA-Eval",
            sentence="Responses are scored aspect by aspect; the judge weighs the aspects, and the sum is computed.",
            paper="Li, Liu, Deng, Joty, Chen, Kan (2024), arXiv:2405.15329",
            settings=dna_eval.Settings,
            flow=dna_eval.flow,
            longest=dna_eval.longest,
            shortest=dna_eval.shortest,
            reply_words=dna_eval.words,
        ),
        Protocol(
            name=dna_baselines.NAME,
            title="DnA-Eval's baselines",
            sentence="One overall score for each response: directly, or after an explanation (chain of thought).",
            paper="Li, Liu, Deng, Joty, Chen, Kan (2024), arXiv:2405.15329, Section 4.1",
            settings=dna_baselines.Settings,
            flow=dna_baselines.flow,
            longest=dna_baselines.longest,
            shortest=dna_baselines.longest,
            reply_words=dna_baselines.words,
        ),
        Protocol(
            name=metacritique.NAME,
            title="MetaCritique",
            sentence="A critique is split in atomic units of information: are they true? Do they cover a reference?",
            paper="Sun, Li, Yuan, Yuan, Li, Liu (2024), arXiv:2401.04518",
            settings=metacritique.Settings,
            flow=metacritique.flow,
            longest=metacritique.longest,
            shortest=metacritique.shortest,
            reply_words=lambda settings: int(settings.words * 3 / 4),
        ),
        Protocol(
            name=metacritique_baselines.SINGLE,
            title="Critiques, one by one",
            sentence="A judge rates each critique from 1 to 7: MetaCritique's baseline “Single”.",
            paper="Sun et al. (2024), arXiv:2401.04518, Table 16",
            settings=metacritique_baselines.Single,
            flow=metacritique_baselines.single,
            longest=metacritique_baselines.longest,
            shortest=metacritique_baselines.longest,
            reply_words=lambda settings: 120,
        ),
        Protocol(
            name=metacritique_baselines.PAIRWISE,
            title="Critiques, two by two",
            sentence="A judge says which of two critiques is better, or neither: MetaCritique's baseline “Pairwise”.",
            paper="Sun et al. (2024), arXiv:2401.04518, Table 15",
            settings=metacritique_baselines.Pairwise,
            flow=metacritique_baselines.pairwise,
            longest=metacritique_baselines.longest,
            shortest=metacritique_baselines.longest,
            reply_words=lambda settings: 150,
        ),
        Protocol(
            name=metacritique_baselines.REFINEMENT,
            title="Critiques by what they mend",
            sentence="The answer is refined by each of two critiques, and a judge says which refined answer is better.",
            paper="Sun et al. (2024), arXiv:2401.04518, Section 4.6, Tables 17 and 18",
            settings=metacritique_baselines.Refinement,
            flow=metacritique_baselines.refinement,
            longest=metacritique_baselines.longest,
            shortest=metacritique_baselines.longest,
            reply_words=lambda settings: 120,
        ),
        Protocol(
            name=baselines.PAIR,
            title="One judge on a pair",
            sentence="One judge says which of two responses is better, or neither: what debates are measured against.",
            paper="Chern, Chern, Neubig, Liu (2024), arXiv:2401.16788, Section 4.2",
            settings=baselines.Pair,
            flow=baselines.pair,
            longest=baselines.longest,
            shortest=baselines.longest,
            reply_words=baselines.words,
        ),
        Protocol(
            name=baselines.SCORE,
            title="One judge that scores",
            sentence="One judge scores one response, at once or after an analysis; n samples are averaged.",
            paper="Liu et al. (2023), arXiv:2303.16634; Chiang and Lee (2023), arXiv:2310.05657",
            settings=baselines.Score,
            flow=baselines.score,
            longest=baselines.longest,
            shortest=baselines.longest,
            reply_words=baselines.words,
        ),
    ]
}


def seeded(seed: int, item: Item) -> Random:
    """The chance of one trace: the same run and the same item always draw the same."""
    return Random(f"{seed}:{item.id}")
