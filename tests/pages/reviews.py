"""Records of peer reviews that several tests of pages use."""

from core.formats.records import Record
from tests.core.protocols.reviews import make_item, make_settings, reviews_script, run_scripted
from tests.pages.visits import recorded


def option_review(answers: str = "BAB", reference: str = "B") -> list[Record]:
    """Return one recorded run on a question with options: answers of peers a, b and c, and the chair's B."""
    settings = make_settings(verdict="option")
    item = make_item(id="sum", reference=reference, responses=())
    script = reviews_script(["B"], "Answer", **dict(zip("abc", answers, strict=True)))
    return recorded(item, "refer", settings, run_scripted(script, settings, item).events)
