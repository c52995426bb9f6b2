"""Escapes text from models, files and people for display: its Markdown can only format."""

import re
from collections import Counter
from collections.abc import Sequence

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


def shorten_names(names: Sequence[str], length: int) -> dict[str, str]:
    """Return each name cut in its middle to `length` characters, or in full where two would become equal."""
    ends = length - 1 - length // 2
    shortened = {
        name: name if len(name) <= length else f"{name[: length // 2].rstrip()}…{name[-ends:].lstrip()}"
        for name in names
    }
    counts = Counter(shortened.values())
    return {name: short if counts[short] == 1 else name for name, short in shortened.items()}


def truncate(text: str, length: int = 80) -> str:
    """Return a text on one line, cut to `length` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
