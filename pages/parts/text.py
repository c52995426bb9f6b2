"""Escapes text from models, files and people for display: its Markdown can format and do nothing else."""

import re

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_FORMULA = re.compile(
    r"(\$\$.+?\$\$|(?<![\w$])\$(?=[^\s\d$])[^$\n]{1,200}?(?<=[^\s\\])\$(?![\w$])|"
    r"(?<![\w$])\$\d[^$\n]{0,200}?[=^_\\][^$\n]{0,200}?(?<=[^\s\\])\$(?![\w$]))",
    re.DOTALL,
)
_LIST_MARKER = r"(?:\d{1,9}[.)]|[-*+>])"
_NESTED_LIST = re.compile(
    rf"^([ \t]*{_LIST_MARKER}[ \t]+)((?:{_LIST_MARKER}[ \t]+)*{_LIST_MARKER})(?=[ \t]|$)", re.MULTILINE
)
"""Several list markers in a row, as weak models repeat them; unescaped, each would open another nested list."""
_DIRECTIVE = re.compile(r":(?=[a-zA-Z_/+-]+[\w/+-]*[:\[])")


def sanitize_markdown(text: str) -> str:
    """Return Markdown in which HTML is text, a dollar sign is text unless it encloses a formula, and no image loads.

    Single line breaks are preserved. Streamlit's directives (":red[...]", ":smile:") become text.
    """
    return "".join(
        part if index % 2 else _sanitize_prose(part)
        for index, part in enumerate(_CODE.split(text.replace("\r\n", "\n")))
    )


def _sanitize_prose(text: str) -> str:
    """Sanitize text outside of code."""
    return "".join(part if index % 2 else _sanitize_words(part) for index, part in enumerate(_FORMULA.split(text)))


def _sanitize_words(text: str) -> str:
    """Sanitize text outside of code and formulas."""
    text = text.replace("$", r"\$").replace("![", r"!\[")
    text = re.sub(r"<(?=[a-zA-Z/!?])", r"\\<", text)
    text = _NESTED_LIST.sub(lambda match: match[1] + re.sub(r"([-.)*+>])", r"\\\1", match[2]), text)
    text = _DIRECTIVE.sub(r"\\:", text)
    return re.sub(r"(?<!\n)\n(?!\n)", "  \n", text)


def escape_markdown(text: str) -> str:
    """Return a text on one line with all Markdown escaped, for a label or a heading."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~$:])", r"\\\1", " ".join(text.split()))


def truncate(text: str, length: int = 80) -> str:
    """Return a text on one line, cut to `length` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
