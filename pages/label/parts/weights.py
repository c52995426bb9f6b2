"""The field of the weights desk: a slider for each aspect, always 100 together, and ratings of the aspects."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.aspects import Weights
from core.protocols.dna_eval.settings import QUALITIES
from pages.label.parts import desk
from pages.parts.values import aspect_letter

HELP = {
    "relevance": "1: they have nothing to do with the question. 5: they go to the heart of it.",
    "clarity": "1: nobody could apply them twice alike. 5: everybody would look for the same thing.",
    "comprehensiveness": "1: one thing said several times, others missing. 5: what matters is covered, each once.",
}
"""The ends of each scale, after Appendix D.3 in our words."""
_component = desk.component("weights", own="weights")


def field(aspects: Sequence[str], judges: Mapping[str, Weights]) -> desk.Own:
    """The sliders; with marks for the judges' weights, which are handed in only after one's own."""
    data: dict[str, Any] = {
        "aspects": [{"letter": aspect_letter(place), "name": name} for place, name in enumerate(aspects)],
        "qualities": [{"name": name, "help": HELP[name]} for name in QUALITIES],
        "judges": [{"name": name, "weights": dict(weights)} for name, weights in judges.items()],
    }
    return desk.Own(_component, data)
