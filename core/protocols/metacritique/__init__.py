"""MetaCritique: precision, recall and F1 of a critique from its atomic information units."""

from pathlib import Path

from core.protocols import Protocol
from core.protocols.metacritique.protocol import NAME, flow
from core.protocols.metacritique.settings import Settings

PROTOCOL = Protocol(
    name=NAME,
    title="MetaCritique",
    description="A critique is split into atomic information units: are they true, and do they cover a reference?",
    paper="Sun, Li, Yuan, Yuan, Li, Liu (2024), arXiv:2401.04518",
    settings=Settings,
    flow=flow,
    judges="critique",
    reply_words=lambda settings: int(settings.words * 3 / 4),
    folder=Path(__file__).parent,
    examples=("metacritique", "metacritique-local"),
    sample=True,
    optional_blanks=("question", "response", "context", "reference"),
    required_blanks=("critique", "response", "claim", "reference_text"),
    artifact="aius",
    view="pages.watch.parts.critique",
)
