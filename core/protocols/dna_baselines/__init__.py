"""DnA-Eval's baselines: one overall score for each response."""

from pathlib import Path

from core.protocols import Protocol
from core.protocols.dna_baselines.protocol import NAME, flow, reply_words
from core.protocols.dna_baselines.settings import Settings

PROTOCOL = Protocol(
    name=NAME,
    title="DnA-Eval's baselines",
    description="One overall score for each response: directly, or after an explanation (chain of thought).",
    paper="Li, Liu, Deng, Joty, Chen, Kan (2024), arXiv:2405.15329, Section 4.1",
    settings=Settings,
    flow=flow,
    judges="pair",
    comparison=lambda settings: "several",
    reply_words=reply_words,
    folder=Path(__file__).parent,
    examples=("dna_baselines",),
    optional_blanks=("context", "reference", "rule", "criteria"),
    required_blanks=("responses",),
    view="pages.watch.parts.aspects",
)
