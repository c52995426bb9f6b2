"""How the traces of each protocol are drawn: the item is above, what the judges did is below.

A view is a module with a function `show` of the trace, its item, the events so far, the run's settings, and whether
more is to come. It is called again whenever events arrive, so it draws from its arguments alone.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from core.items import Item
from core.trace import Event
from storage.traces import Trace

VIEWS: dict[str, str] = {
    "scaleeval": "pages.parts.debate",
    "chateval": "pages.parts.persona_talk",
    "single-judge": "pages.parts.single_judge",
    "single-score": "pages.parts.single_judge",
    "refer": "pages.parts.peer_review",
    "metacritique": "pages.parts.critique",
    "metacritique-single": "pages.parts.critique_comparisons",
    "metacritique-pairwise": "pages.parts.critique_comparisons",
    "metacritique-refinement": "pages.parts.critique_comparisons",
    "dna_eval": "pages.parts.aspects",
    "dna_baselines": "pages.parts.aspects",
}
"""Protocol -> module; imported when it is drawn, since charts cost a second."""


def show(
    trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], *, live: bool
) -> None:
    """Draw a trace as its protocol wants it; a protocol without a view of its own is told as a talk."""
    view = import_module(VIEWS.get(trace.protocol, "pages.parts.debate"))
    view.show(trace, item, events, settings, live)
