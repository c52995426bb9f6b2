"""Text from models, files and people is untrusted: it is shown as markdown that can format, and do nothing else."""

import re

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_MATHS = re.compile(
    r"(\$\$.+?\$\$|(?<![\w$])\$(?=[^\s\d$])[^$\n]{1,200}?(?<=[^\s\\])\$(?![\w$])|"
    r"(?<![\w$])\$\d[^$\n]{0,200}?[=^_\\][^$\n]{0,200}?(?<=[^\s\\])\$(?![\w$]))",
    re.DOTALL,
)
_MARKER = r"(?:\d{1,9}[.)]|[-*+>])"
_NESTED = re.compile(rf"^([ \t]*{_MARKER}[ \t]+)((?:{_MARKER}[ \t]+)*{_MARKER})(?=[ \t]|$)", re.MULTILINE)
"""A list in a list in a list on one line: a model that babbles, not a table of contents."""
_DIRECTIVE = re.compile(r":(?=[a-zA-Z_/+-]+[\w/+-]*[:\[])")


def safe(text: str) -> str:
    """Markdown in which HTML is text, a dollar is money unless it brackets a formula, and no picture is fetched.

    Single line breaks stay. Streamlit's own marks (":red[...]", ":smile:") are text.
    """
    return "".join(
        part if index % 2 else _prose(part) for index, part in enumerate(_CODE.split(text.replace("\r\n", "\n")))
    )


def _prose(text: str) -> str:
    """Everything that is not code."""
    return "".join(part if index % 2 else _words(part) for index, part in enumerate(_MATHS.split(text)))


def _words(text: str) -> str:
    """Everything that is neither code nor a formula."""
    text = text.replace("$", r"\$").replace("![", r"!\[")
    text = re.sub(r"<(?=[a-zA-Z/!?])", r"\\<", text)
    text = _NESTED.sub(lambda found: found[1] + re.sub(r"([-.)*+>])", r"\\\1", found[2]), text)
    text = _DIRECTIVE.sub(r"\\:", text)
    return re.sub(r"(?<!\n)\n(?!\n)", "  \n", text)


def plain(text: str) -> str:
    """For a label or a heading: one line in which nothing is formatted."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~$:])", r"\\\1", " ".join(text.split()))


def short(text: str, length: int = 80) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
