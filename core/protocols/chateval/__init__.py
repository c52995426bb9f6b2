"""ChatEval: personas discuss responses and score them or vote."""

from pathlib import Path

from core.protocols import Protocol, for_each_criterion
from core.protocols.chateval.protocol import flow, turns_in_history
from core.protocols.chateval.settings import Settings
from core.protocols.chateval.verdicts import NAME

PROTOCOL = Protocol(
    name=NAME,
    title="ChatEval",
    description="Personas discuss responses one by one, simultaneously, or with a summariser, and score or vote.",
    paper="Chan, Chen, Su, Yu, Xue, Zhang, Fu, Liu (2023), arXiv:2308.07201",
    settings=Settings,
    flow=for_each_criterion(flow),
    judges="pair",
    comparison=lambda settings: "" if settings.outcome in ("rating", "step") else "two",
    reply_words=lambda settings: int(settings.words),
    folder=Path(__file__).parent,
    examples=("chateval", "chateval-local"),
    sample=True,
    sends_images=True,
    optional_blanks=("context", "reference", "persona"),
    required_blanks=("answer_1", "answer_2", "response"),
    raw_prompts={"quote": "persona turn text"},
    history=turns_in_history,
    view="pages.watch.parts.persona_talk",
    form="pages.setup.parts.default_form:CHATEVAL.render",
)
