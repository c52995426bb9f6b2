"""Text without NUL and without half of a surrogate pair, which databases, servers and files refuse.

Models and people can send both. Each such character is replaced by the Unicode replacement character where a text is
decoded, so that what is stored, shown, hashed and sent is one text.
"""

from typing import Any

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def valid_text(text: str) -> str:
    """Return the text with the replacement character for each NUL and each half of a surrogate pair."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", REPLACEMENT)


def valid_texts(value: Any) -> Any:
    """Return JSON-like data with valid texts, those in names too."""
    match value:
        case str():
            return valid_text(value)
        case dict():
            return {valid_texts(name): valid_texts(inner) for name, inner in value.items()}
        case list() | tuple():
            return [valid_texts(inner) for inner in value]
    return value
