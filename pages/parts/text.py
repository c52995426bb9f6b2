"""Escapes text from models, files and people for display: its Markdown can only format."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode

# Renders untrusted Markdown as Markdown that can format and do nothing else.
#
# A CommonMark parser reads the text, and the parts of its tree that are allowed are written again with every other
# character escaped. The result of the browser's parser cannot contain HTML, an image or a directive, however the two
# parsers differ on the original text.

# A dollar sign that encloses a formula; any other is money.
FORMULA = re.compile(
    r"\$\$(?P<display>[^$]+?)\$\$|(?<![\w$])\$(?P<text>(?=[^\s\d$])[^$\n]{1,200}?(?<=[^\s\\]))\$(?![\w$])|"
    r"(?<![\w$])\$(?P<number>\d[^$\n]{0,200}?[=^_\\][^$\n]{0,200}?(?<=[^\s\\]))\$(?![\w$])"
)
_UNSAFE_FORMULA = re.compile(r"!\[|\]\(|<[a-zA-Z/!?]|\n\s*\n")
_DISPLAY_FORMULA = re.compile(r" {0,3}\$\$(?P<content>[^$]+?)\$\$[ \t]*(?=\n|\Z)")
_LIST_MARKER = r"(?:\d{1,9}[.)]|[-*+>])"
# Several list markers in a row, as weak models repeat them; each would open another nested list.
_NESTED_LIST = re.compile(
    rf"^([ \t]*{_LIST_MARKER}[ \t]+)((?:{_LIST_MARKER}[ \t]+)*{_LIST_MARKER})(?=[ \t]|$)", re.MULTILINE
)
# Deeper quotations than any text has: the parser would drop their content.
_DEEP_QUOTE = re.compile(r"^[ \t]*(?=(?:>[ \t]?){10})", re.MULTILINE)
_BLOCK_START = re.compile(r"[-*+>#|`~$=]|\d{1,9}[.)]\s")
_PUNCTUATION = re.compile(r"([\\`*_\[\]{}<>&$:~|!])")
_LINE_START = re.compile(r"^([ \t]*)(?:(\d{1,9})([.)])|([#+=-]))", re.MULTILINE)
# Private characters that mark the ends of a highlighted passage while the text is parsed.
_MARKS = ("\ue000", "\ue001")
# The attribute of an image that is shown: its address on this server.
ROUTE = "route"
# A longer text is shown without formatting: parsing it would take seconds.
MOST_CHARACTERS = 200_000


def sanitize_markdown(
    text: str, marked: tuple[int, int] | None = None, image_route: Callable[[str], str | None] | None = None
) -> str:
    """Return Markdown that is safe to display; single line breaks are preserved.

    `marked` is the span of a passage that is highlighted if it is inside one paragraph. `image_route` returns the
    address on this server of an image that is shown, or None; without it every image is shown as text.
    """
    text = re.sub(f"[{''.join(_MARKS)}]", "\ufffd", text)
    if marked is not None:
        start, end = _strip(text, *marked)
        text = f"{text[:start]}{_MARKS[0]}{text[start:end]}{_MARKS[1]}{text[end:]}"
    text = text.replace("\r\n", "\n")
    if len(text) > MOST_CHARACTERS:
        return "\n\n".join(_escape_lines(paragraph) for paragraph in text.split("\n\n"))
    text = _DEEP_QUOTE.sub(r"\\", text)
    text = _NESTED_LIST.sub(lambda match: match[1] + re.sub(r"([-.)*+>])", r"\\\1", match[2]), text)
    tree = SyntaxTreeNode(_parser().parse(text))
    if image_route is not None:
        for node in tree.walk():
            if node.type == "image" and (route := image_route(str(node.attrs.get("src", "")))):
                node.attrs[ROUTE] = route
    return _blocks(tree.children)


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends; an empty one if it opens a block."""
    passage = text[start:end]
    start, end = end - len(passage.lstrip()), start + len(passage.rstrip())
    line = text[text.rfind("\n", 0, start) + 1 : end]
    is_block = not line[: len(line) - (end - start)].strip() and _BLOCK_START.match(passage.lstrip())
    return (0, 0) if is_block or start > end else (start, end)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 50}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "formula", _parse_formula)
    parser.block.ruler.before("fence", "display_formula", _parse_display_formula, {"alt": ["paragraph"]})
    return parser


def _parse_formula(state: StateInline, silent: bool) -> bool:
    match = FORMULA.match(state.src, state.pos) if state.src[state.pos] == "$" else None
    if match is None or _UNSAFE_FORMULA.search(match[0]) or match.end() > state.posMax:
        return False
    if not silent:
        state.push("formula", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _parse_display_formula(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read `$$ … $$` over several lines, in which lines may begin like lists."""
    if state.level or state.sCount[first] - state.blkIndent >= 4:
        return False
    match = _DISPLAY_FORMULA.match(state.src, state.bMarks[first])
    if match is None or _UNSAFE_FORMULA.search(match[0]):
        return False
    end = first + match[0].count("\n") + 1
    if end > last:
        return False
    if not silent:
        state.push("display_formula", "", 0).content = match["content"].strip()
        state.line = end
    return True


def _blocks(nodes: Iterable[SyntaxTreeNode], separator: str = "\n\n") -> str:
    return separator.join(filter(None, (_block(node) for node in nodes)))


def _block(node: SyntaxTreeNode) -> str:
    """Return a block as Markdown; every type that is not listed is shown as text."""
    render = _BLOCKS.get(node.type)
    return render(node) if render else _escape_lines(node.content)


def _heading(node: SyntaxTreeNode) -> str:
    return f"{'#' * int(node.tag[1])} {_inline_of(node)}".replace("\n", " ")


def _quotation(node: SyntaxTreeNode) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _blocks(node.children).split("\n"))


def _list(node: SyntaxTreeNode) -> str:
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
    items, is_tight = [], True
    for number, item in enumerate(node.children, start=first):
        marker = f"{number}. " if node.type == "ordered_list" else "- "
        is_tight = is_tight and all(child.hidden for child in item.children if child.type == "paragraph")
        body = _blocks(item.children, "\n" if is_tight else "\n\n")
        items.append(marker + body.replace("\n", "\n" + " " * len(marker)))
    return ("\n" if is_tight else "\n\n").join(items)


def _fence(node: SyntaxTreeNode) -> str:
    content = _without_marks(node.content)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", content)), default=0))
    language = re.match(r"[\w+#.-]*", node.info)
    return f"{fence}{language[0] if language else ''}\n{content.rstrip(chr(10))}\n{fence}"


def _table(node: SyntaxTreeNode) -> str:
    rows = [row for part in node.children for row in part.children]
    lines = ["| " + " | ".join(_cell(cell) for cell in row.children) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0].children), *lines[1:]])


def _cell(node: SyntaxTreeNode) -> str:
    """Return a cell; a bar in code or in a formula would end it."""
    return re.sub(r"(?<!\\)\|", r"\\|", _inline_of(node).replace("\n", " "))


def _inline_of(node: SyntaxTreeNode) -> str:
    """Return the inline content of a block, with the passage highlighted if it breaks no mark."""
    line = "".join(_inline(child) for inline in node.children for child in inline.children)
    start, end = line.find(_MARKS[0]), line.find(_MARKS[1])
    if 0 <= start < end and not re.search(r"(?<!\\)[*~`$\[\]\n]", line[start:end]):
        passage = line[start + 1 : end]
        lead, stripped = passage[: len(passage) - len(passage.lstrip())], passage.strip()
        if stripped:
            trail = passage[len(passage.rstrip()) :]
            line = f"{line[:start]}{lead}:orange-background[{stripped}]{trail}{line[end + 1 :]}"
    return _escape_line_starts(_without_marks(line))


def _inline(node: SyntaxTreeNode) -> str:
    """Return an inline element as Markdown; every type that is not listed is shown as text."""
    inner = "".join(map(_inline, node.children)) if node.children else ""
    render = _INLINE.get(node.type)
    return render(node, inner) if render else escape_punctuation(node.content)


_BLOCKS: dict[str, Callable[[SyntaxTreeNode], str]] = {
    "paragraph": _inline_of,
    "heading": _heading,
    "bullet_list": _list,
    "ordered_list": _list,
    "blockquote": _quotation,
    "fence": _fence,
    "code_block": _fence,
    "hr": lambda _: "---",
    "table": _table,
    "display_formula": lambda node: f"$$\n{_without_marks(node.content)}\n$$",
}


def _link(node: SyntaxTreeNode, inner: str) -> str:
    address = str(node.attrs.get("href", ""))
    if urlsplit(address).scheme not in ("http", "https", "mailto") or re.search(r"[<>\s\\]", address):
        return inner
    return f"[{inner}](<{address}>)"


def _image(node: SyntaxTreeNode, _: str) -> str:
    if ROUTE in node.attrs:
        return f"![{escape_punctuation(_without_marks(node.content))}](<{node.attrs[ROUTE]}>)"
    return escape_punctuation(f"![{node.content}]({node.attrs.get('src', '')})")


def _code(node: SyntaxTreeNode, _: str) -> str:
    content = _without_marks(node.content)
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", content)), default=0))
    space = " " if content.startswith("`") or content.endswith("`") else ""
    return f"{ticks}{space}{content}{space}{ticks}"


_INLINE: dict[str, Callable[[SyntaxTreeNode, str], str]] = {
    "text": lambda node, _: escape_punctuation(node.content),
    "softbreak": lambda *_: "  \n",
    "hardbreak": lambda *_: "  \n",
    "strong": lambda _, inner: f"**{inner}**",
    "em": lambda _, inner: f"*{inner}*",
    "s": lambda _, inner: f"~~{inner}~~",
    "code_inline": _code,
    "formula": lambda node, _: _without_marks(node.content),
    "link": _link,
    "image": _image,
}


def escape_punctuation(text: str) -> str:
    """Return text in which no character has a meaning in Markdown, except at the start of a line."""
    return _PUNCTUATION.sub(r"\\\1", text)


def _escape_line_starts(text: str) -> str:
    """Return inline Markdown in which no line begins a list, a heading or a rule."""
    return _LINE_START.sub(lambda match: f"{match[1]}{match[2] or ''}\\{match[3] or match[4]}", text)


def _escape_lines(text: str) -> str:
    lines = (escape_punctuation(_without_marks(line.strip())) for line in text.split("\n"))
    return _escape_line_starts("  \n".join(lines))


def _without_marks(text: str) -> str:
    return text.replace(_MARKS[0], "").replace(_MARKS[1], "")


# Characters that would reverse the text after a name.
DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")

# The sign in escaped text without which `https://…`, `www.…` and `name@host.…` are no addresses, and
# `:material/home:` and `:streamlit:` no icons.
FIRST_SIGN = re.compile(r"\\:(?=//|material/|streamlit\\:)|(?<=www)\.|(?<=[\w.+-])@(?=[\w-]+\.)", re.IGNORECASE)


def escape_markdown(text: str) -> str:
    """Return a text on one line with all Markdown escaped, for a label or a heading.

    Characters of direction are shown as U+FFFD. An address is no link and a code no icon; both are copied unchanged.
    """
    line = DIRECTION.sub("\ufffd", " ".join(text.split()))
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|<>~$:])", r"\\\1", line)
    # Both are found in escaped text too, but not across an element: the sign gets one of its own.
    return FIRST_SIGN.sub(r":small[\g<0>]", escaped)


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts "annotator 2" before "annotator 10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def truncate(text: str, length: int = 80) -> str:
    """Return a text on one line, cut to `length` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
