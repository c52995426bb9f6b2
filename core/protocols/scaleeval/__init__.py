"""ScaleEval: judges debate which of two responses is better; a person decides where they disagree."""

from pathlib import Path

from core.protocols.protocol import Protocol
from core.protocols.scaleeval.protocol import NAME, Settings, flow, longest, shortest

PROTOCOL = Protocol(
    name=NAME,
    title="ScaleEval",
    description="Judges debate which of two responses is better; where they do not agree, a person decides.",
    paper="Chern, Chern, Neubig, Liu (2024), arXiv:2401.16788",
    settings=Settings,
    flow=flow,
    judges="pair",
    longest=longest,
    shortest=shortest,
    reply_words=lambda settings: int(settings.words),
    folder=Path(__file__).parent,
    examples=("scaleeval", "scaleeval-local"),
    sample=True,
    form="pages.setup.parts.scaleeval_form:render",
)
