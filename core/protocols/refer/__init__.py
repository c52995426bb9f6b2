"""ReFeR: peers review a response independently, then an area chair decides."""

from pathlib import Path

from core.protocols import Protocol, Scales, criteria_of, for_each_criterion, settings_of_criterion
from core.protocols.refer.protocol import NAME, flow
from core.protocols.refer.settings import Settings


def scales(settings: Settings) -> Scales:
    """Return the scale of each criterion, or of the answer to a reasoning task."""
    own = (settings_of_criterion(settings, criterion.name) for criterion in criteria_of(settings))
    return {(one.kind, one.criterion.name): one.scale for one in own}


PROTOCOL = Protocol(
    name=NAME,
    title="ReFeR",
    description="Peers review one response independently, then an area chair that sees their reviews decides.",
    paper="Narsupalli, Chandra, Muppirala, Gupta, Goyal (2024), arXiv:2407.12877",
    settings=Settings,
    flow=for_each_criterion(flow),
    judges="score",
    reply_words=lambda settings: 100,
    folder=Path(__file__).parent,
    examples=("refer", "refer-local", "refer-reasoning"),
    sample=True,
    scales=scales,
    sends_images=True,
    optional_blanks=("context", "reference", "criterion"),
    required_blanks=("response", "reviews"),
    artifact="peer reviews",
    view="pages.watch.parts.peer_review",
    form="pages.setup.parts.default_form:REFER.render",
)
