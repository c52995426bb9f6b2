"""Lines above an answer that make it an example, the answer to a condition, or another person's."""

import re
from bisect import bisect_right
from functools import lru_cache

from core.answers.text import Text
from core.answers.words import Words

LONGEST_HEADING = 80
"""Maximum number of characters of such a line."""
DEPTH = 3
"""Maximum number of headings above a line that are read: `Example:`, `Final answer:`, `1`."""

_OWN = re.compile(r"(?<!\w)(?:i|we|ich|wir|je|nous|yo|eu|io)(?!\w)", re.I)
_FORCED = re.compile(
    r"(?<!\w)(?:must|have to|had to|forced|pressed|anything|choose|pick|decide|wählen|entscheiden|choisir|elegir|"
    r"escolher|scegliere)(?!\w)",
    re.I,
)
"""`If I must choose:` introduces a choice."""


def introduced(text: Text, start: int) -> bool:
    """Return whether a heading directly above the line at `start` takes the answer there from the reply's author."""
    starts = [line.start for line in text.lines]
    place = bisect_right(starts, start) - 1
    for above in reversed(text.lines[max(0, place - DEPTH) : max(0, place)]):
        heading = above.text.rstrip()
        if len(heading) > LONGEST_HEADING:
            return False
        if _is_foreign(heading, text.words):
            return True
        if not heading.endswith(":"):
            return False
    return False


def is_forced(condition: str) -> bool:
    """Return whether a condition announces a choice nevertheless: `if I must choose`."""
    return _FORCED.search(condition) is not None


def _is_foreign(heading: str, words: Words) -> bool:
    if heading.endswith(":") and words.find("example", re.split(r"[.!?]\s", heading)[-1]):
        return True
    if heading.endswith(":") and words.starts("supposition", heading):
        return not is_forced(heading)
    return _speech(words).search(heading.lower()) is not None and not _OWN.search(heading)


@lru_cache(maxsize=16)
def _speech(words: Words) -> re.Pattern[str]:
    """Match the end of `Speaker A gave`, `The author wrote the following:`."""
    these = r"(?:\s+(?:the following|these|this|his|her|their|as))?(?:\s+[^\W\d]+)?"
    return re.compile(
        rf"(?<!\w)(?!(?:as|is|was|were|be|been|what|how|{words.any('response')})\s)\w+\s+{words.any('speech')}(?:\s*:|{these}\s*:)?$"
    )
