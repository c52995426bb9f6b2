"""ScaleEval: judges debate which of two responses is better; an annotator decides if they disagree."""

from pathlib import Path

from core.protocols import Protocol, for_each_criterion
from core.protocols.scaleeval.protocol import NAME, flow, turns_in_history
from core.protocols.scaleeval.settings import Settings

REPLY = "submission_1 submission_2 criteria discussion number speakers words"
# How a raw reply quotes a turn: of this round, of the first opinions, of an earlier round of discussion.
QUOTE = "number round text"


PROTOCOL = Protocol(
    name=NAME,
    title="ScaleEval",
    description="Judges debate which of two responses is better; if they disagree, an annotator decides.",
    paper="Chern, Chern, Neubig, Liu (2024), arXiv:2401.16788",
    settings=Settings,
    flow=for_each_criterion(flow),
    judges="pair",
    comparison=lambda settings: "" if settings.outcome == "step" else "two",
    reply_words=lambda settings: int(settings.words),
    folder=Path(__file__).parent,
    examples=("scaleeval", "scaleeval-local"),
    sample=True,
    optional_blanks=("context", "reference"),
    required_blanks=("submission_1", "submission_2", "response", "discussion"),
    raw_prompts={
        "reply_later": f"question context reference {REPLY}",
        "quote": QUOTE,
        "quote_initial": QUOTE,
        "quote_previous": QUOTE,
    },
    history=turns_in_history,
    form="pages.setup.parts.default_form:SCALEEVAL.render",
)
