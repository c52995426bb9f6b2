"""ReFeR: peers review a response independently, then an area chair decides."""

from pathlib import Path

from core.protocols import Protocol
from core.protocols.refer.protocol import NAME, flow
from core.protocols.refer.settings import Settings

PROTOCOL = Protocol(
    name=NAME,
    title="ReFeR",
    description="Peers review one response independently, then an area chair that sees their reviews decides.",
    paper="Narsupalli, Chandra, Muppirala, Gupta, Goyal (2024), arXiv:2407.12877",
    settings=Settings,
    flow=flow,
    judges="score",
    reply_words=lambda settings: 100,
    folder=Path(__file__).parent,
    examples=("refer", "refer-local", "refer-reasoning"),
    sample=True,
    scales=lambda settings: {(settings.kind, settings.criterion.name): settings.scale},
    sends_images=True,
    optional_blanks=("context", "reference"),
    required_blanks=("response", "reviews"),
    artifact="peer reviews",
    view="pages.watch.parts.peer_review",
    form="pages.setup.parts.refer_form:render",
)
