"""DnA-Eval's baselines: one overall score for each response."""

from pathlib import Path

from core.protocols.dna_baselines.protocol import NAME, Settings, flow, longest, words
from core.protocols.protocol import Protocol

PROTOCOL = Protocol(
    name=NAME,
    title="DnA-Eval's baselines",
    description="One overall score for each response: directly, or after an explanation (chain of thought).",
    paper="Li, Liu, Deng, Joty, Chen, Kan (2024), arXiv:2405.15329, Section 4.1",
    settings=Settings,
    flow=flow,
    judges="pair",
    longest=longest,
    shortest=longest,
    reply_words=words,
    folder=Path(__file__).parent,
    examples=("dna_baselines",),
    view="pages.watch.parts.aspects",
)
