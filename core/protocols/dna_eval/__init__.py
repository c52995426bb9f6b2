"""DnA-Eval: responses are scored aspect by aspect and the weighted sum is computed."""

from pathlib import Path

from core.protocols import Protocol
from core.protocols.dna_eval.protocol import NAME, flow, reply_words
from core.protocols.dna_eval.settings import Settings

# Blanks of raw templates for single responses, and for single aspects with their scores.
EACH_RESPONSE = tuple(f"response_{number}" for number in range(1, 11))
EACH_ASPECT = tuple(f"{noun}_{number}" for noun in ("aspect", "scores") for number in range(1, 11))

PROTOCOL = Protocol(
    name=NAME,
    title="DnA-Eval",
    description="Responses are scored aspect by aspect; the judge weights the aspects, and the sum is computed.",
    paper="Li, Liu, Deng, Joty, Chen, Kan (2024), arXiv:2405.15329",
    settings=Settings,
    flow=flow,
    judges="pair",
    comparison=lambda settings: "several",
    reply_words=reply_words,
    folder=Path(__file__).parent,
    examples=("dna_eval", "dna_eval-llmbar", "dna_eval-local"),
    sample=True,
    optional_blanks=("context", "reference", "rule", "aspects_proposed", *EACH_RESPONSE, *EACH_ASPECT),
    required_blanks=("responses", "aspect", "aspects", "scores"),
    artifact="aspects",
    view="pages.watch.parts.aspects",
)
