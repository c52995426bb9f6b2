"""A reply as plain text, the JSON in it, and the words of others in it.

A character of the plain text is at its position in the reply, so a span of the plain text is a span of the reply: each
step replaces characters one for one. Full-width and native digits, curly quotes and other signs become ASCII; reasoning
between tags, markup, LaTeX commands and quotations become spaces.

A judge may repeat the judged text, and that text may hold a line such as "Final answer: 1". It is no verdict.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from typing import Any

from core.answers import words
from core.answers.words import attributed, noted_as_others, readable, squash, states_of_others
from core.errors import UnreadableReply
from core.frozen import valid_texts

ATTEMPTS = 20
"""Maximum number of places in a reply at which JSON is tried: replies are untrusted."""
REPAIRS = 3
"""Maximum number of places at which JSON is repaired."""

_DECODER = json.JSONDecoder(strict=False)
_BEGINNING = re.compile(r"(?<![\w\\{\[(\"])(?:\{(?=\s*[\"'{}])|\[(?=\s*[\"'{\[])|\[(?=\s*\])(?<=^\[))")
_COMMA = re.compile(r",(\s*[}\]])")
_COMMENT = re.compile(r"(?<=[\s,{\[])//[^\n\"]*$|/\*[^*\"]{0,200}\*/", re.M)
_SMART = str.maketrans("“”„‘’", '"""' + "''")


@dataclass(frozen=True)
class Document:
    """A JSON object or list, and its position."""

    value: Any
    start: int
    end: int

    @property
    def is_object(self) -> bool:
        """It has named fields: a list of numbers may be prose."""
        return isinstance(self.value, Mapping) or (
            isinstance(self.value, list) and any(isinstance(one, Mapping) for one in self.value)
        )


def documents(text: str) -> list[Document]:
    """Return the JSON objects and lists of a text, in order; nested ones are not listed."""
    result: list[Document] = []
    done = repairs = 0
    for attempt, match in enumerate(_BEGINNING.finditer(text)):
        if attempt >= ATTEMPTS:
            break
        if match.start() < done:
            continue
        document = _decoded(text, match.start())
        if document is None and repairs < REPAIRS:
            document, repairs = _repaired(text, match.start()), repairs + 1
        if document:
            result.append(document)
            done = document.end
    return result


def fields(value: Any, depth: int = 4) -> Iterator[tuple[str, Any]]:
    """Yield every key of an object and of the objects inside it, with its value."""
    if isinstance(value, Mapping) and depth:
        for key, inner in value.items():
            yield str(key), inner
            yield from fields(inner, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value[:50]:
            yield from fields(inner, depth - 1)


def pairs(value: Any, depth: int = 4) -> list[tuple[str, Any]]:
    """Return key and number of an object; name and weight of each object in a list."""
    if not depth:
        return []
    if isinstance(value, list):
        return [pair for element in value[:50] for pair in pairs(element, depth - 1)]
    if not isinstance(value, Mapping):
        return []
    texts = [element for element in value.values() if isinstance(element, str) and not re.match(r"\s*[\d.]", element)]
    numbers = [
        element
        for key, element in value.items()
        if squash(str(key)) in ("weight", "percentage", "percent", "importance", "value", "score", "rating")
    ]
    if texts and len(numbers) == 1:
        return [(texts[0], numbers[0])]
    inner = [
        pair
        for key, element in value.items()
        if isinstance(element, Mapping | list)
        for pair in _named_also(str(key), element, pairs(element, depth - 1))
    ]
    return [(str(key), element) for key, element in value.items() if isinstance(element, int | float | str)] + inner


def _named_also(key: str, value: Any, named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the pairs in the field `key`; the number of an object with one also under `key`, because either can be
    the name: `{"clarity": {"points": 4}}` and `{"weights": {"clarity": 4}}`."""
    is_one = isinstance(value, Mapping) and len(pairs(value, 1)) == 1
    return [*named, *((key, number) for _, number in named)] if is_one else named


def listed_numbers(value: Any, count: int) -> list[float] | None:
    """Return the numbers of an object's only list of `count` numbers."""
    if not isinstance(value, Mapping):
        return None
    lists = [element for element in value.values() if isinstance(element, list) and len(element) == count]
    plain = [
        numbers for numbers in lists if all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
    ]
    return plain[0] if len(plain) == 1 else None


def _decoded(text: str, start: int) -> Document | None:
    """Return the value that begins at `start`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return Document(_valid(value, text), start, end)
    except (ValueError, RecursionError):
        return None


def _valid(value: Any, text: str) -> Any:
    """Return decoded JSON with valid texts: an escape sequence can state a character that nothing stores."""
    return valid_texts(value) if "\\u" in text else value


def _repaired(text: str, start: int) -> Document | None:
    """Return the value of JSON with Python literals, comments, curly quotes or trailing commas, after repairs."""
    end = text.rfind("}" if text[start] == "{" else "]") + 1
    piece = _COMMA.sub(r"\1", _COMMENT.sub("", text[start:end]))
    for repaired in (piece, _from_python(piece), piece.translate(_SMART)):
        try:
            return Document(_valid(_DECODER.decode(repaired), repaired), start, end)
        except (ValueError, RecursionError):
            continue
    return None


def _from_python(text: str) -> str:
    """Single quotes around keys and values become double ones, `True` becomes `true`."""
    text = text.replace("\\'", "\\u0027").replace('"', "'")
    quoted = re.sub(r"(?<=[{\[,:])(\s*)'|'(?=\s*[,:}\]])", r'\1"', text)
    return re.sub(
        r"\b(True|False|None)\b", lambda word: {"True": "true", "False": "false"}.get(word[0], "null"), quoted
    )


Span = tuple[int, int]
SEARCHED = 50_000
"""Number of characters, from the end, that are searched for quoted blocks: replies are untrusted."""
BLOCKS = 40
"""Maximum number of blocks that may be the reply's own, from the end."""
COPIED = 4
"""Minimum number of words of a line that is not repeated by chance."""
FAR = 7
"""Maximum number of words between "contains" and what it contains."""

_FENCE = re.compile(r"^[ \t]*(?P<sign>```|~~~)[^\n`]*\n(?P<body>.*?)(?:^[ \t]*(?P=sign)[ \t]*$|\Z)", re.M | re.S)
_BLOCK_QUOTE = re.compile(r"(?:^[ ]{0,3}>[^\n]*(?:\n|\Z))+", re.M)
_ELEMENT = re.compile(r"<(blockquote|quote|pre|code|cite|q)>(?P<body>.{1,4000}?)</\1>", re.I | re.S)
_BRACKETED = re.compile(r"\[quote\](?P<body>.{1,4000}?)\[/quote\]", re.I | re.S)
_TRIPLE = re.compile(r"(\"{3}|'{3})(?P<body>.{1,4000}?)\1", re.S)
_ECHO = re.compile(
    r"<((?:submission|response|assistant|critique|question|prompt|answer|context|reference|claim)[\w-]{0,20})>"
    r"(?P<body>[^<>]*\n[^<>]*|[^<>]{60,})</\1>",
    re.I,
)
"""Material as the prompt has it; `<response_1>7</response_1>` is an answer."""
_ITEM = re.compile(r"^[ ]{0,3}(?:\d{1,2}[.)]|[-*•])\s+\S", re.M)
_BLOCKS = (_FENCE, _BLOCK_QUOTE, _ELEMENT, _BRACKETED, _TRIPLE, _ECHO)

_UNDECIDED = (
    r"(?<!\w)(?:i|we)(?:'m|\s+am|\s+are)?\s+(?:\w+\s+){0,2}?(?&unable)\s+(?:\w+ly\s+)?(?:(?&decide)|"
    r"(?:give|provide|make|assign|offer|state|reach|write|name|come\s+to|arrive\s+at)\s+(?:\w+\s+){0,3}?"
    r"(?:(?&answer|rating|weight|claim)|aspects?|list|critique|summary|text|number|letter))|"
    r"(?:can(?:no|'|\s+no)t|could\s+not)\s+(?:be\s+(?:decided|judged|rated|told)|tell|decide|judge)\b|(?&undecided)"
)
"""The judge states that it gives no verdict."""
_MINE = r"(?&self)|\b(?:here(?:'s|\s+is|\s+are)|final|verdict|output|result|conclusion)\b|^\W*claims\b"
_FOUND = re.compile(
    r"\b(?:see|finds?|found|notice[sd]?|discover(?:ed)?)\s+(?:this|these|the\s+(?:following|lines?|words?|text|sentence))\b",
    re.I,
)
_DISOWNED = re.compile(
    r"\b(?:ignor|disregard|inject|manipulat|embedded|instruction\s+(?:in|inside|within|from)|not\s+(?:my|mine|a\s+verdict)|"
    r"quot(?:e|ed|ation|ing)\b|verbatim|excerpt|part\s+of\s+(?:the|what)|taken\s+from|from\s+(?:the\s+)?(?:\w+\s+)?(?:response|text|submission|answer|"
    r"critique|prompt)|appears?\s+in|stands?\s+in|above\s+(?:is|was|line|text|block)|prompt\s+injection|zitat|zitiert|ignorier|"
    r"ignore|citation|cita\b|citat)",
    re.I,
)
_REASONS = (
    r"reasoning|reason|reasons|explanation|rationale|analysis|thought|thoughts|thinking|justification|comment|comments|"
    r"notes?|critique|evaluation|feedback|evidence|chain_of_thought|cot"
)
_OPENED = re.compile(rf"\{{\s*(?:\"[\w -]{{1,40}}\"\s*:\s*[^{{}}\n]{{0,80}}?,\s*)?\"(?:{_REASONS})\"\s*:\s*\"", re.I)
_CLOSED = re.compile(r"(?<!\\)\"\s*(?:(?P<field>,\s*\"[\w -]{1,40}\"\s*:)|\})")


def undecided(text: str) -> bool:
    """Return whether the reply's author says that there is no verdict."""
    return words.pattern(_UNDECIDED).search(readable(text).lower()) is not None


def introduces_others(line: str) -> bool:
    """Return whether the last clause of a line announces the words of others: `Response 1 ends with:`."""
    if attributed(line):
        return True
    clause = re.split(r"[.!?;,。，](?:\s+|$)|[。，]", line.rstrip(" \t:=\"'`*_([{<>|-–—")[-200:])[-1]
    verb = words.find("says", clause) or words.find("reported", clause)
    if verb is None or len(clause[verb.end() :].split()) > FAR:
        return False
    return words.has(clause, "judged", "somebody") or not words.pattern(_MINE).search(clause.lower())


def copies_others(above: str, shown: Sequence[str]) -> bool:
    """Return whether the line above a repeated one is repeated as well, or announces it: `I find this in the text:`."""
    if len(above.split()) >= COPIED and is_repeated(above, shown):
        return True
    if not above.rstrip().endswith(":"):
        return False
    verb = words.find("says", above) or words.find("reported", above)
    return _FOUND.search(above) is not None or (verb is not None and not words.pattern(_MINE).search(above.lower()))


def quoted_blocks(text: str, shown: Sequence[str] = (), *, lists: bool = False) -> list[Span]:
    """Return the fenced and quoted blocks with the words of others; those in which the reply states its answer are not.

    With `lists` a block is a list that the reply was asked for: only an author who declines quotes it.
    """
    found = _found(text)
    if not found:
        return []
    own = _without(text, found)
    if not re.search(r"[^\W\d_]", own):
        return []
    refuses = undecided(own)
    if lists:  # the block holds the list, unless the list is elsewhere
        return found if refuses or _ITEM.search(own) else []
    return [span for span in found if refuses or span not in found[-BLOCKS:] or _is_foreign(own, span, text, shown)]


def _found(text: str) -> list[Span]:
    if not any(sign in text for sign in ("```", "~~~", ">", '"""', "'''", "[quote]", "[QUOTE]")):
        return []
    begin = max(0, len(text) - SEARCHED)
    spans = sorted(match.span() for pattern in _BLOCKS for match in pattern.finditer(text, begin))
    merged: list[Span] = []
    for start, end in spans:
        if not merged or start >= merged[-1][1]:
            merged.append((start, end))
    return merged


def _is_foreign(own: str, span: Span, text: str, shown: Sequence[str]) -> bool:
    before, after = own[: span[0]].rstrip(), own[span[1] :]
    line = before[before.rfind("\n") + 1 :]
    if introduces_others(line.rstrip(" .")) or text[span[0] : span[0] + 3] in ('"""', "'''"):
        return True
    first = next(filter(None, map(str.strip, after.split("\n"))), "")
    if not re.search(r"[^\W\d_]", first) or words.starts("courtesy", first):
        return False
    disowned = _DISOWNED.search(after) is not None or noted_as_others(first)
    return disowned or is_repeated(text[span[0] : span[1]], shown)


def cut_reasoning(text: str) -> list[Span]:
    """Return the reasoning of JSON that is cut or broken: what stands in it is no field of the answer."""
    opened = list(islice(_OPENED.finditer(text), ATTEMPTS))
    decoded = documents(text) if opened else []
    spans: list[Span] = []
    for match in opened:
        inside = any(document.start <= match.start() < document.end for document in decoded)
        if not inside and not (spans and match.start() < spans[-1][1]):
            spans.append((match.end(), _end_of_string(text, match.end())))
    return spans


def _end_of_string(text: str, start: int) -> int:
    """Return where broken JSON closes a string: before its last further field, or before its closing brace."""
    depth, done, fields, braces = 0, start, -1, -1
    for end in _CLOSED.finditer(text, start):
        depth += text.count("{", done, end.start()) - text.count("}", done, end.start())
        done = end.start()
        if depth <= 0 and end["field"]:
            fields = done
        elif depth <= 0:
            braces = done
    return fields if fields >= 0 else braces if braces >= 0 else len(text)


_MARK = (
    r"\\boxed|\[\[|</?\w+>|[:：=]|\b(?:is|are|ist|est|es|é|è)\b|\d\s*/\s*\d|"
    r"\b(?:rate|score|give|deserves?|choose|prefer)\b"
)
_QUOTES = re.compile(
    r"[\"'`](?P<d>\{[^\n]{1,400}?\})[\"'`]|\"(?P<a>[^\"\n]{2,400})\"|(?<!\w)'(?P<b>[^'\n]{2,400})'(?!\w)|(?<!`)`(?P<c>[^`\n]{2,400})`(?!`)"
)
_CHOOSES = re.compile(
    r"\b(?:i|we)(?:'d|'ll|\s+would|\s+will|\s+therefore|\s+thus)*\s+(?:choose|pick|select|vote|answer|say|rate|give|go\s+with)"
    r"(?:\s+\w+){0,3}$",
    re.I,
)
"""`I would choose "Neither is better: 0"`"""
_LABELLED = re.compile(_MARK, re.I)
_BLOCK_EDGES = " \t-=|:+.>'\"()[],;!?。*_#`"


def quotations(plain: str) -> Iterator[Span]:
    """Yield quotations of three words, or with a label or mark of an answer, unless they are the reply's own statement.

    `plain` is the reply with plain signs. Own is a quotation alone on its line, or one that the author announces.
    """
    for match in _QUOTES.finditer(plain):
        inner = match["a"] or match["b"] or match["c"] or match["d"]
        if not _LABELLED.search(inner) and len(inner.split()) < 3:
            continue
        begin = max(plain.rfind("\n", 0, match.start()) + 1, match.start() - 200)  # a line has any length
        end = plain.find("\n", match.end())
        before = plain[begin : match.start()].strip(_BLOCK_EDGES)
        after = plain[match.end() : end if end >= 0 else len(plain)].strip(_BLOCK_EDGES)
        if not before and not after:
            continue
        if _CHOOSES.search(before):
            continue
        announced = before and re.search(r"[:=]\s*[*_]*$", plain[begin : match.start()].rstrip()) and len(before) < 60
        if announced and not after and not introduces_others(before):
            continue
        yield match.span()


@lru_cache(maxsize=32)
def _squashed(shown: tuple[str, ...]) -> str:
    return f" {' | '.join(map(squash, shown))} "


def is_repeated(fragment: str, shown: Sequence[str]) -> bool:
    """Return whether a fragment of a reply with at least two words, or a mark, stands literally in a shown text."""
    if not shown:
        return False
    plain = squash(fragment)
    if len(plain.split()) > 1:
        return f" {plain} " in _squashed(tuple(shown))
    return bool(re.search(r"\[\[|\\boxed|<\w", fragment)) and any(fragment.strip() in text for text in shown)


def _without(text: str, spans: Sequence[Span]) -> str:
    """Return the text with spaces in place of the characters of each span; lines stay."""
    return _replaced(text, spans, lambda piece: re.sub(r"[^\n]", " ", piece))


def _replaced(text: str, spans: Sequence[Span], by: Callable[[str], str]) -> str:
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], by(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


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

    def __init__(self, reply: str, shown: Sequence[str] = (), *, lists: bool = False) -> None:
        whole = _blanked(reply, _reasoning(reply))
        if not readable(whole[:WINDOW] + whole[-WINDOW:]).strip(_NOTHING):
            raise UnreadableReply("it ends within its reasoning, before an answer" if reply.strip() else "it is empty")
        whole = _blanked(whole, quoted_blocks(whole, shown, lists=lists))
        whole = _blanked(whole, cut_reasoning(whole))
        self.shown = tuple(shown)
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
        return _without(self.clean, self._quotations)

    @cached_property
    def spoken(self) -> str:
        """`plain` with quotations of others blank as well."""
        plain = _without(self.plain, self._quotations)
        return _without_block_quotes(plain, self.clean)

    @cached_property
    def _quotations(self) -> list[tuple[int, int]]:
        return list(quotations(self.clean))

    def is_foreign(self, start: int, end: int, rule: str) -> bool:
        """Return whether an answer at this place is the words of others: announced as such, or repeated from a text
        that the judge was shown.

        A line in the first or last place of the reply is the judge's own, unless it states that it gives no verdict.
        """
        begin = self.clean.rfind("\n", 0, max(0, start)) + 1
        before, stated = self.clean[begin : max(0, start)], self.raw[max(0, start) : end]
        line, after = stated.partition("\n")[0], self.clean[end:].partition("\n")[0]
        head = "" if rule == "json" else line.rpartition(":")[0]
        if introduces_others(before + head) or (rule == "json" and _is_within(before, after)):
            return True
        if states_of_others(before + line) or noted_as_others(after):
            return True
        within = re.search(r"[^\W_]", before) is not None
        repeated = is_repeated(stated, self.shown)
        if (within or repeated or rule in ("json", "sentence")) and self._is_undecided:
            return True
        return repeated and (within or not self._is_at_an_end(start, end) or self._is_copied(begin))

    def _is_copied(self, begin: int) -> bool:
        """Return whether the line above the one at `begin` shows that this one is copied from a shown text."""
        above = next((line.text for line in reversed(self.lines) if line.start < begin), "")
        return copies_others(above, self.shown)

    @cached_property
    def _is_undecided(self) -> bool:
        return undecided(self.spoken)

    def _is_at_an_end(self, start: int, end: int) -> bool:
        """Return whether a place is in the first or in the last line that is no courtesy."""
        lines = [line for line in self.lines if not words.starts("courtesy", line.text)]
        return not lines or start < lines[0].end or all(line.start < end for line in lines)

    @cached_property
    def lines(self) -> tuple[Unit, ...]:
        """The lines of `spoken` with a letter or a digit."""
        lines = re.finditer(r"[^\n]+", self.spoken)
        return _units(((line[0], line.start()) for line in lines), LONGEST_LINE)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The sentences of those lines."""
        return _units((piece for line in self.lines for piece in _sentences(line)), LONGEST)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return a span of `plain` as a span of the reply."""
        return start + self.offset, end + self.offset


def _is_within(before: str, after: str) -> bool:
    """Return whether words stand before and after JSON in its line."""
    return bool(re.search(r"[^\W\d_]|[\"'`]\s*$", before) and re.search(r"[^\W\d_]", after))


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


def _blanked(text: str, spans: list[Span], blank: str = " ") -> str:
    """Return the text with spaces in place of each span, which ends a line."""
    return _replaced(text, spans, lambda piece: blank * (len(piece) - 1) + "\n")


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


def _units(pieces: Iterable[tuple[str, int]], longest: int) -> tuple[Unit, ...]:
    """Return the pieces with a letter or a digit, up to their maximum length and number; each has its position."""
    units = []
    for piece, start in pieces:
        if piece.strip(_EDGES):
            text = piece.strip()[-longest:]
            units.append(Unit(text, start + len(piece.rstrip()) - len(text)))
    return tuple(units if len(units) <= MOST else [units[0], *units[1 - MOST :]])


def _sentences(line: Unit) -> Iterator[tuple[str, int]]:
    ends = [0, *(match.end() for match in _END.finditer(line.text)), len(line.text)]
    return ((line.text[start:end], line.start + start) for start, end in pairwise(ends))
