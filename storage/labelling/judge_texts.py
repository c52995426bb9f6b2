"""Texts of judges: their first sentence, the responses that they refer to, and the passages that they quote."""

import re
from collections.abc import Iterator, Sequence

from rapidfuzz import fuzz

from core.items import Item
from storage.labelling.work import Json

REFERENCE = re.compile(
    r"\b(?:submission|response|assistant|answer|candidate|critique)\s+(?:#|no\.\s*)?([12AB])\b", re.IGNORECASE
)
QUOTATION = re.compile(r"“([^”]{8,300})”|\"([^\"]{8,300})\"|«([^»]{8,300})»")
"""Minimum length of a quotation; a shorter one may occur by chance."""
SIMILAR = 90.0
"""The minimum similarity, in percent, of a quotation and the quoted passage."""
REASON_LENGTH = 200


def first_sentence(text: str) -> str:
    """Return the beginning of a text: its first line up to the end of the first sentence with content."""
    line = text.split("\n", 1)[0]
    end = next((match.end() for match in re.finditer(r"[.!?](?=\s|$)", line) if match.end() > 20), len(line))
    return line[: min(end, REASON_LENGTH)]


def find_references(text: str, shown: Sequence[int], responses: int, block: str = "response") -> Iterator[Json]:
    """Yield the places where a judge wrote "Submission 1" and the like, with the block of the referenced text.

    `shown` has the number of the response at each place of the prompt.
    """
    order = tuple(shown) or tuple(range(1, responses + 1))
    for match in REFERENCE.finditer(text) if len(order) > 1 else ():
        place = {"1": 0, "A": 0, "2": 1, "B": 1}[match[1].upper()]
        if place < len(order):
            yield {"start": match.start(), "end": match.end(), "column": f"{block}-{order[place]}"}


def find_quotations(text: str, item: Item) -> Iterator[Json]:
    """Yield the passages of the responses that a judge quotes, allowing a few different characters."""
    for match in QUOTATION.finditer(text):
        quotation = next(group for group in match.groups() if group)
        passages = [_locate(quotation, number, response.text) for number, response in enumerate(item.responses, 1)]
        located = [passage for passage in passages if passage is not None]
        if located:
            yield max(located, key=lambda pair: pair[0])[1]


def _locate(quotation: str, number: int, text: str) -> tuple[float, Json] | None:
    """Return the similarity and the place of a quotation in a response; None if it does not occur."""
    exact = text.find(quotation)
    if exact >= 0:
        return 101.0, {"block": f"response-{number}", "start": exact, "end": exact + len(quotation)}
    if len(text) < len(quotation):  # the alignment would find the text in the quotation
        return None
    alignment = fuzz.partial_ratio_alignment(quotation, text, score_cutoff=SIMILAR)
    if alignment is None:
        return None
    return alignment.score, {"block": f"response-{number}", "start": alignment.dest_start, "end": alignment.dest_end}
