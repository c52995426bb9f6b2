"""ChatEval: personas discuss and score responses."""

from pathlib import Path

from core.protocols.chateval.protocol import NAME, Settings, flow, longest
from core.protocols.protocol import Protocol

PROTOCOL = Protocol(
    name=NAME,
    title="ChatEval",
    description="Personas discuss responses one by one, simultaneously, or with a summariser, and score or vote.",
    paper="Chan, Chen, Su, Yu, Xue, Zhang, Fu, Liu (2023), arXiv:2308.07201",
    settings=Settings,
    flow=flow,
    judges="pair",
    longest=longest,
    shortest=longest,
    reply_words=lambda settings: int(settings.words),
    folder=Path(__file__).parent,
    examples=("chateval", "chateval-local"),
    sample=True,
    view="pages.watch.parts.persona_talk",
    form="pages.setup.parts.chateval_form:render",
)
