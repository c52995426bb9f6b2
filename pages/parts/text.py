"""Escapes text from models, files and people for display: its Markdown can only format."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from pages.parts.markdown import sanitize_markdown as sanitize_markdown

DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that would reverse the text after a name."""

FIRST_SIGN = re.compile(r"\\:(?=//|material/|streamlit\\:)|(?<=www)\.|(?<=[\w.+-])@(?=[\w-]+\.)", re.IGNORECASE)
"""The sign in escaped text without which `https://…`, `www.…` and `name@host.…` are no addresses, and
`:material/home:` and `:streamlit:` no icons."""


def escape_markdown(text: str) -> str:
    """Return a text on one line with all Markdown escaped, for a label or a heading.

    Characters of direction are shown as U+FFFD. An address is no link and a code no icon; both are copied unchanged.
    """
    line = DIRECTION.sub("\ufffd", " ".join(text.split()))
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|<>~$:])", r"\\\1", line)
    # Both are found in escaped text too, but not across an element: the sign gets one of its own.
    return FIRST_SIGN.sub(r":small[\g<0>]", escaped)


NARROW_GAP = 3
"""Characters that are shown rather than replaced by an ellipsis."""


def shorten_names(names: Iterable[str], length: int) -> dict[str, str]:
    """Return each name cut in its middle to `length` characters.

    Names that would become equal show their beginning and the places where they differ, and are complete if these
    are too many.
    """
    shortened = {name: _cut_middle(name, length) for name in names}
    for name, places in _differing_places(_with_equal_text(shortened)).items():
        shortened[name] = _cut_between(name, places, length)
    return shortened | {name: name for name in _with_equal_text(shortened)}


def _cut_middle(name: str, length: int) -> str:
    ends = length - 1 - length // 2
    return name if len(name) <= length else f"{name[: length // 2].rstrip()}…{name[-ends:].lstrip()}"


def _with_equal_text(shortened: Mapping[str, str]) -> list[str]:
    """Return the names whose short one is not the only one."""
    counts = Counter(shortened.values())
    return [name for name, short in shortened.items() if counts[short] > 1]


def _differing_places(names: Sequence[str]) -> dict[str, list[int]]:
    """Return name -> the number of characters that it shares with each other name at the beginning, each once."""
    ordered = sorted(names)
    shared = [_shared_beginning(*pair) for pair in pairwise(ordered)]
    # Sorted names share the least of what their neighbours in between share.
    return {
        name: sorted({*accumulate(shared[place:], min), *accumulate(shared[:place][::-1], min)})
        for place, name in enumerate(ordered)
    }


def _shared_beginning(one: str, other: str) -> int:
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def _cut_between(name: str, places: Sequence[int], length: int) -> str:
    """Return the beginning of a name and its characters around each place, in full if they need more than `length`."""
    beginning = length // (2 + sum(place >= length // 3 for place in places))
    places = [place for place in places if place >= beginning]
    if len(name) <= length:
        return name
    texts = (_show_places(name, beginning, places, width) for width in range(length, 0, -1))
    return next((text for text in texts if len(text) <= length), name)


def _show_places(name: str, beginning: int, places: Sequence[int], width: int) -> str:
    """Return the first `beginning` characters of a name and about `width` at each place, without what is between."""
    spans = [(0, beginning)]
    for place in places:
        start, end = place - width // 4, min(place - width // 4 + width, len(name))
        if start <= spans[-1][1] + NARROW_GAP:
            start = spans.pop()[0]
        spans.append((start, end))
    return "…".join(name[start:end] for start, end in spans) + "…" * (spans[-1][1] < len(name))


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts "annotator 2" before "annotator 10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def truncate(text: str, length: int = 80) -> str:
    """Return a text on one line, cut to `length` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
