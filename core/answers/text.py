"""A reply as plain text with every character at its position, so a span of the plain text is a span of the reply.

Each step replaces characters one for one: full-width and native digits, curly quotes and other signs become ASCII;
reasoning between tags, markup, LaTeX commands and quotations become spaces.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from core.answers.quotations import cut_reasoning, introduces_others, is_repeated, quotations, quoted_blocks, undecided
from core.answers.structured import Document, documents
from core.answers.words import Words, readable
from core.errors import UnreadableReply

WINDOW = 12_000
"""Number of characters, from the end, that are parsed: answers are at the end, and replies are untrusted."""
LONGEST = 800
"""Maximum number of characters of a sentence, from its end."""
LONGEST_LINE = 2_000
"""Maximum number of characters of a line, from its end."""
MOST = 300
"""Maximum number of lines, and of sentences: the first one and the last ones."""


_TAGS = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|explanation"
_REASONING = re.compile(
    rf"(?P<open>^[ ]*(?:<(?:{_TAGS})>|\[think\]|◁think▷))|(?P<close></(?:{_TAGS})>|\[/think\]|◁/think▷)", re.I | re.M
)
_CHANNEL = re.compile(r"<\|channel\|> ?final\b[^<\n]{0,40}<\|message\|>", re.I)
_TOKENS = r"<\|[\w ]{1,30}\|>|</?s>|\[/?INST\]|<(?:end_of_turn|eos|bos)>"
_MARKS = re.compile(
    rf"""
      {_TOKENS} | </?[a-zA-Z][\w-]{{0,20}}\ ?/?>
    | \\(?:boxed|text|textbf|textit|mathrm|mathbf|left|right|displaystyle|quad|fbox)(?![a-zA-Z]) | \\[()\[\]$%,;!.*_\#&]
    | [*_$\#{{}}`\\] | ~~
    | ^\ *[-+•·●▪◦–—>]\ (?!\d)
    | [\U0001F000-\U0001FAFF\u2600-\u2604\u2607-\u27BF\u2B00-\u2B4F\u2B51-\u2BFF]  # emoji, but no stars
    """,
    re.X | re.M,
)
_END = re.compile(
    r"(?<!^\w)(?<!^\d\d)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?!(?<=\bNo)\.\s\d)[.!?;][\"')\]]*(?=\s)|[。！？；।][\"')\]]*"
)
_QUOTE = re.compile(r"\"([^\"\n]{6,400})\"|(?<!\w)'([^'\n]{6,400})'(?!\w)")
_INTRODUCED = re.compile(r"(?:[:=]|\b(?:is|are|ist|est|es|choose|be))\s*$")
_MARKUP = re.compile(
    rf"{_TOKENS}|\*\*|__|~~|^\s*`(?=[^`]*`\s*$)|(?<=[^`])`\s*$|</?[a-zA-Z][\w-]{{0,20}} ?/?>|(?<!\w)[*_]|[*_](?!\w)"
)
_NOTHING = " \n`-*_#.|\"'"
_EDGES = " \t-=|:+.>'\"()[],;!?。"


@dataclass(frozen=True)
class Unit:
    """A sentence or a line, and where it begins in the plain text."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Text:
    """The last part of a reply, plain; raises UnreadableReply if nothing but reasoning is there."""

    def __init__(self, reply: str, words: Words, shown: Sequence[str] = (), *, lists: bool = False) -> None:
        whole = _blanked(reply, _reasoning(reply))
        if not readable(whole[:WINDOW] + whole[-WINDOW:]).strip(_NOTHING):
            raise UnreadableReply("it ends within its reasoning, before an answer" if reply.strip() else "it is empty")
        whole = _blanked(whole, quoted_blocks(whole, words, shown, lists=lists))
        whole = _blanked(whole, cut_reasoning(whole))
        self.words, self.shown = words, tuple(shown)
        self.offset = max(0, len(whole) - WINDOW)
        self.raw = whole[self.offset :]
        """The model's own characters, for texts that are values; reasoning is blank."""
        self.documents = documents(self.raw) or _long_document(whole, self.offset)
        """The JSON in the reply; its content is not prose, so only `raw` has it."""
        objects = [(max(0, document.start), document.end) for document in self.documents if document.is_object]
        self.clean = readable(_blanked(self.raw, objects))
        """`raw` with plain signs and digits; markup is still there."""

    @cached_property
    def plain(self) -> str:
        """`clean` with markup blank as well."""
        return _MARKS.sub(_blank, self.clean)

    @cached_property
    def own(self) -> str:
        """`clean` with quoted answers blank as well, for marks."""
        return _blanked_within(self.clean, self._quotations)

    @cached_property
    def spoken(self) -> str:
        """`plain` with quotations of others blank as well."""
        plain = _blanked_within(self.plain, self._quotations)
        return _QUOTE.sub(self._unquoted, _without_block_quotes(plain, self.clean))

    @cached_property
    def _quotations(self) -> list[tuple[int, int]]:
        return list(quotations(self.clean, self.words))

    def is_foreign(self, start: int, end: int, rule: str) -> bool:
        """Return whether an answer at this place is the words of others: announced as such, or repeated from a text
        that the judge was shown.

        A line in the first or last place of the reply is the judge's own, unless it states that it gives no verdict.
        """
        begin = self.clean.rfind("\n", 0, max(0, start)) + 1
        before, stated = self.clean[begin : max(0, start)], self.raw[max(0, start) : end]
        head = "" if rule == "json" else stated.partition("\n")[0].rpartition(":")[0]
        if introduces_others(before + head, self.words) or (rule == "json" and self._within_a_line(before, end)):
            return True
        within = re.search(r"[^\W_]", before) is not None
        repeated = is_repeated(stated, self.shown)
        if (within or repeated or rule in ("json", "sentence")) and self._is_undecided:
            return True
        return repeated and (within or not self._is_at_an_end(start, end))

    @cached_property
    def _is_undecided(self) -> bool:
        return undecided(self.spoken)

    def _within_a_line(self, before: str, end: int) -> bool:
        """Return whether words stand before and after JSON in its line."""
        after = self.clean[end:].partition("\n")[0]
        return bool(re.search(r"[^\W\d_]|[\"'`]\s*$", before) and re.search(r"[^\W\d_]", after))

    def _is_at_an_end(self, start: int, end: int) -> bool:
        """Return whether a place is in the first or in the last line that is no courtesy."""
        lines = [line for line in self.lines if not self.words.starts("courtesy", line.text)]
        return not lines or start < lines[0].end or all(line.start < end for line in lines)

    @cached_property
    def lines(self) -> tuple[Unit, ...]:
        """The lines of `spoken` with a letter or a digit."""
        return _edges(tuple(_lines(self.spoken)))

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The sentences of those lines."""
        return _edges(tuple(unit for line in self.lines for unit in _sentences(line)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return a span of `plain` as a span of the reply."""
        return start + self.offset, end + self.offset

    def _unquoted(self, quote: re.Match[str]) -> str:
        if len((quote[1] or quote[2]).split()) < 3:
            return quote[0]
        text = quote.string
        begin = text.rfind("\n", max(0, quote.start() - LONGEST), quote.start()) + 1
        before = text[max(begin, quote.start() - 200) : quote.start()].strip(" -")
        end = text.find("\n", quote.end(), quote.end() + LONGEST)
        after = text[quote.end() : end if end >= 0 else quote.end() + 200]
        stated = _INTRODUCED.search(before) and len(before) < 60 and not self.words.find("reported", before)
        if stated or (not before and not after.strip(_EDGES)):
            return quote[0]
        return _blank(quote)


def shorten(text: str, longest: int = 40) -> str:
    """Return a quotation for a message."""
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else f"{plain[:longest]}…"


def without_reasoning(reply: str) -> str:
    """Return a reply without the text between reasoning tags, or before a closing tag without its opening tag."""
    return _blanked(reply, _reasoning(readable(reply)), blank="")


def without_markup(text: str) -> str:
    """Return a text without Markdown, HTML and the tokens that end a turn."""
    return _MARKUP.sub("", text).strip()


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _reasoning(text: str) -> list[tuple[int, int]]:
    """Return the text between reasoning tags, before an unopened closing tag, or after an unclosed opening tag."""
    channels = list(_CHANNEL.finditer(text))
    spans = [(0, channels[-1].end())] if channels else []
    opened = None
    for tag in _REASONING.finditer(text, spans[0][1] if spans else 0):
        if tag["open"]:
            opened = tag.start() if opened is None else opened
            continue
        if opened is None:
            spans = [(0, tag.end())]
        else:
            spans.append((opened, tag.end()))
        opened = None
    if opened is not None:
        spans.append((opened, len(text)))
    return spans


def _blanked(text: str, spans: list[tuple[int, int]], blank: str = " ") -> str:
    """Return the text with spaces in place of each span, which ends a line."""
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], blank * (end - start - 1), "\n"]
        done = end
    return "".join([*pieces, text[done:]])


def _blanked_within(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text with spaces in place of each span of a line."""
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], " " * (end - start)]
        done = end
    return "".join([*pieces, text[done:]])


def _without_block_quotes(plain: str, clean: str) -> str:
    """Blank lines that begin with ">", which are another person's words unless nothing follows them."""
    if ">" not in clean:
        return plain
    own = [match.start() for match in re.finditer(r"^(?! *>)[^\n\w]*\w", clean, re.M)]
    spans = [match.span() for match in re.finditer(r"^ *>.*$", clean, re.M) if own and match.start() < own[-1]]
    return _blanked(plain, spans)


def _long_document(text: str, offset: int) -> list[Document]:
    """Return the JSON that a long reply begins with; its position is relative to the parsed part."""
    result = documents(text) if offset and text.lstrip().startswith(("{", "```")) else []
    return [
        Document(document.value, document.start - offset, document.end - offset)
        for document in result[:1]
        if document.end > offset
    ]


def _edges(units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    return units if len(units) <= MOST else (units[0], *units[1 - MOST :])


def _lines(text: str) -> Iterator[Unit]:
    start = 0
    for line in text.split("\n"):
        if line.strip(_EDGES):
            text = line.strip()[-LONGEST_LINE:]
            yield Unit(text, start + len(line.rstrip()) - len(text))
        start += len(line) + 1


def _sentences(line: Unit) -> Iterator[Unit]:
    start = 0
    for end in [*(match.end() for match in _END.finditer(line.text)), len(line.text)]:
        piece = line.text[start:end]
        if piece.strip(_EDGES):
            text = piece.strip()[-LONGEST:]
            yield Unit(text, line.start + end - len(piece) + len(piece.rstrip()) - len(text))
        start = end
