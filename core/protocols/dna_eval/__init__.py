"""DnA-Eval: responses are scored aspect by aspect and the weighted sum is computed."""

from pathlib import Path

from core.protocols.dna_eval.protocol import NAME, Settings, flow, longest, shortest, words
from core.protocols.protocol import Protocol

PROTOCOL = Protocol(
    name=NAME,
    title="DnA-Eval",
    description="Responses are scored aspect by aspect; the judge weights the aspects, and the sum is computed.",
    paper="Li, Liu, Deng, Joty, Chen, Kan (2024), arXiv:2405.15329",
    settings=Settings,
    flow=flow,
    judges="pair",
    longest=longest,
    shortest=shortest,
    reply_words=words,
    folder=Path(__file__).parent,
    examples=("dna_eval", "dna_eval-local"),
    sample=True,
    artifact="aspects",
    view="pages.watch.parts.aspects",
)
