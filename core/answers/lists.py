"""The items of a list in a reply, without numbers, markup, announcements and courtesies."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import Any, Literal

from core.answers import words
from core.answers.answer import Answer, Reading
from core.answers.sentences import announcement
from core.answers.single import is_confidence
from core.answers.text import LONGEST, Document, Text, without_markup
from core.answers.words import readable, squash
from core.errors import UnreadableReply

ITEMS = 300
"""Maximum number of items: a longer list is degenerate output."""
Kind = Literal["numbered", "bulleted", "heading", "cell", "plain"]

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_RULE = re.compile(r"^[\s\-=*_|:+.#`~…]*$")
_NUMBERED = re.compile(
    r"^[\s>]*[#*_\"'`]*\s*(?:\[\d{1,3}\]|\(?\d{1,3}\\?(?:[.)\]:、]|,(?=\S))(?!\d)|[一二三四五六七八九十]{1,2}[,、.]|\(?[a-zA-Z][.)](?=\s)|[IVXivx]{1,5}[.)](?=\s))\s*(?=\S)"
)
_BULLETED = re.compile(r"^[\s>]*[-*+•·●▪◦–—・→➤▶✓✔✅][ \t]*(?:\[[ xX]?\][ \t]*)?(?<=[\s・•\]→])(?=\S)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+\S.*|\*\*[^*\n]{1,120}\*\*:?|__[^_\n]{1,120}__:?)\s*$")
_CELLS = re.compile(r"^\s*\|(.+?)\|?\s*$")


@dataclass(frozen=True)
class Item:
    """One line of a list, with its markup and its position in the reply's last part."""

    text: str
    kind: Kind
    indent: int
    start: int
    end: int
    cells: tuple[str, ...] = ()


def items(text: Text, noun: str) -> list[Item]:
    """Return the lines of a reply that may be items; `noun` is their name ("claim")."""
    lines: list[Item] = []
    start = 0
    for raw in text.raw.split("\n"):
        clean = text.clean[start : start + len(raw)]
        if clean.strip() and not _FENCE.match(clean) and not _RULE.match(clean):
            lines.append(_item(raw[:LONGEST], clean[:LONGEST], start, noun))
        elif "-" in clean and "|" in clean and [item.kind == "cell" for item in lines[-2:]] in ([True], [False, True]):
            lines.pop()  # the header above the rule of a table
        start += len(raw) + 1
        if len(lines) > ITEMS:
            raise UnreadableReply(f"it lists more than {ITEMS} lines")
    return lines


def without_frame(text: Text, lines: list[Item]) -> list[Item]:
    """Return the items without an introduction, and without the courtesies, notes and confidence lines after them."""
    remaining = list(lines)
    while remaining and _closes(text, remaining, lines):
        remaining.pop()
    headings = sum(item.kind == "heading" for item in remaining)
    titles = headings > 1 and len(marked(remaining)) in (0, headings)  # each with one definition below it, or none
    while remaining and _announces(text, remaining[0], len(remaining), titles):
        remaining.pop(0)
    return remaining


def marked(lines: list[Item]) -> list[Item]:
    """Return the numbered items, otherwise the bulleted ones, otherwise the rows of a table, if there are any."""
    of_each = ([item for item in lines if item.kind == kind] for kind in ("numbered", "bulleted", "cell"))
    return next(filter(None, of_each), [])


def plain(text: str) -> str:
    """Return an item without markup, and without quotes around all of it."""
    bare = without_markup(text).strip().rstrip(",").strip()
    quoted = re.fullmatch(r"\"[^\"]*\"|'[^']*'|“[^”]*”|‘[^’]*’", bare)
    return bare[1:-1].strip() if quoted else bare


def joined(lines: list[Item]) -> list[Item]:
    """Return the marked items, each with the indented lines that continue it."""
    whole: list[Item] = []
    for item in lines:
        if item.kind != "plain":
            whole.append(item)
        elif whole and item.indent > whole[-1].indent and whole[-1].kind != "cell":
            whole[-1] = replace(whole[-1], text=f"{whole[-1].text.rstrip()} {item.text.strip()}", end=item.end)
    return whole


def _item(raw: str, clean: str, start: int, noun: str) -> Item:
    indent = len(clean) - len(clean.lstrip())
    cells = tuple(cell.strip() for cell in raw.strip().strip("|").split("|"))
    kind: Kind = "heading" if _HEADING.match(clean) else "plain"
    body, called = raw.strip(), _called(noun)
    if (row := _CELLS.match(clean)) and (len(cells) > 1 or clean.strip().endswith("|")):
        kind, body = "cell", row[1]
    elif match := called.match(clean) or _NUMBERED.match(clean):
        kind, body = "numbered", raw[match.end() :]
        if (opened := re.search(r"[*_]{2}", match[0])) and body.count(opened[0]) % 2:
            body = opened[0] + body
    elif match := _BULLETED.match(clean):
        inner = called.match(clean[match.end() :])
        kind, body = "bulleted", raw[match.end() + (inner.end() if inner else 0) :]
    return Item(body, kind, indent, start + indent, start + len(clean), cells if kind == "cell" else ())


@lru_cache(maxsize=64)
def _called(noun: str) -> re.Pattern[str]:
    """Read `**Claim 3:**`, `AIU 3.`"""
    nouns = words.any_of("claim") if noun == "claim" else rf"(?<!\w){re.escape(noun)}(?!\w)"
    return re.compile(rf"^[\s>#*_\"'-]*(?:{nouns}|#)\s*#?\d{{1,3}}\s*[*_]*\s*[:.)\-–][*_]*\s*(?=\S)", re.I)


def _closes(text: Text, remaining: list[Item], lines: list[Item]) -> bool:
    """Return whether the last line is a courtesy, a note or the like; between plain lines, only after a blank one."""
    item, before = remaining[-1], remaining[-2] if len(remaining) > 1 else None
    if item.kind in ("numbered", "bulleted", "cell"):
        return False
    line = plain(item.text)
    if words.starts("courtesy", line) or words.starts("total", line):
        apart = before is None or text.raw[before.end : item.start].count("\n") > 1
        return apart or bool(marked(lines))
    aside = before is not None and line.startswith("(") and line.endswith(")")
    return is_confidence(text, line) or aside or not re.search(r"\w", line)


def _announces(text: Text, item: Item, left: int, titles: bool) -> bool:
    """Return whether a line introduces the list: `Sure! Here are the claims:`, `**Claims**`."""
    if item.kind in ("numbered", "bulleted", "cell"):
        return False
    line = plain(item.text)
    if line.endswith((":", "：")) and not (titles and item.kind == "heading"):
        return True
    if item.kind == "heading" and item.text.lstrip().startswith("#"):
        return not titles
    start = words.starts("preamble", line)
    if start is None or left < 2:
        return False
    rest = line[start.end() :]
    short = len(rest.split()) < 3 and len(line.split()) < 4
    return short or line.endswith("!") or words.find("preamble", rest) is not None


# Lines of a reply to a request for a list that are no items: reasons, framing, errors of a provider, cut JSON.

_ABOUT = (
    r"(?:reason(?:ing|s)?|explanation|rationale|why|evidence|source|justification|support(?:ing text)?|"
    r"basis|quote|quotation|"
    r"comment|remark|note|begründung|grund|erklärung|quelle|beleg|raison|explication|justification|razón|explicación|"
    r"justificación|motivo|razão|explicação|justificativa|ragione|motivazione|spiegazione|理由|原因|解释|依据|説明|根拠|이유|설명|"
    r"причина|обоснование|объяснение)"
)
_REASON = re.compile(rf"\W*(?P<label>{_ABOUT})(?:\W{{0,3}}[:：]|\s[-–—]\s)", re.I)
_REMARK = re.compile(rf"\s*[(\[]\s*{_ABOUT}\s*[:：][^()\[\]]*[)\]]\s*[.。]?\s*$", re.I)
FRAME = 12
"""Maximum number of words of such a line."""
_COUNTED = re.compile(r"\W*(?:\d+ (?:claims|statements|aius)\b|(?:in )?total\W*\d[\d.]*\W*$)", re.I)
_ERROR = re.compile(
    r"^\W*(?:(?:\w+ )?error\b(?!s?\s+(?:of|in|bars?))|traceback\b|(?:\w+\.)*\w*(?:Error|Exception)\b\s*[:(]|"
    r"\d{3}[:\s-]+[A-Z]\w+|(?:bad|invalid) (?:gateway|request|api|model)|gateway time-?out|time-?out\b|upstream\b|"
    r"(?:the )?request (?:timed out|timeout|failed)|service (?:temporarily )?unavailable|<!?(?:html|doctype)|quota\b|"
    r"an? (?:\w+ )?error (?:has )?occurred(?:\W*$| while| when| during|:)|something went wrong|(?:your |the )?api key|"
    r"connection (?:reset|refused|error|aborted|closed)|(?:no|empty|null) response\b|(?:this model's )?maximum context|"
    r"the (?:server|model|service|request|engine) (?:is|was|had|has|could|did|cannot)\s+(?:currently |not |an? )?"
    r"(?:overloaded|loading|unavailable|busy|blocked|complete|completed|be \w+ed|error|internal|not found|failed)|"
    r"your (?:request|prompt|account) (?:was|has|is|could)|(?:you )?exceeded your|insufficient (?:quota|credits)|"
    r"(?:not (?:found|authenticated|authorized)|unauthorized|forbidden)\W*$|model not found)|"
    r"\bhttp(?:/\d\S*)?\s+\d{3}\b|\b(?:status code|internal (?:server )?error|returned (?:an? )?error|rate[- ]limit|"
    r"token (?:rate )?limit|too many requests|(?:try|retry) (?:again|later|in)|contact support|request id|"
    r"do(?:es)? not exist or|have access to (?:it|this model)|context (?:length|window) (?:is )?exceeded)\b",
    re.I,
)
"""An error of a provider or of a server."""
_OPENED = re.compile(r"^[ \t]*(?:```\w*[ \t]*\n\s*)?(?:\{\s*(?:[\"'][\w -]{1,40}[\"']\s*:|$)|\[\s*(?:[\"'{]|$))", re.M)


def answered_items(text: Text, noun: str) -> list[Item]:
    """Return `items`; raises UnreadableReply for a refusal, an error of a provider, and JSON that is cut."""
    lines = items(text, noun)
    begins = next((unit.text for unit in text.units), "")
    if words.find("refusal", begins[:120]) and not marked(lines):
        raise UnreadableReply("it declines to answer")
    first = plain(lines[0].text) if lines and not marked(lines) else ""
    error = _ERROR.search(first)
    if error and (len(lines) == 1 or not re.search(r"\w", first[: error.start()])):
        raise UnreadableReply("it is an error message")
    opened = _OPENED.search(text.raw)
    if opened and not any(document.end > opened.start() for document in text.documents):
        raise UnreadableReply("its JSON is incomplete")
    return lines


def list_text(reply: str, plural: str) -> Text:
    """Return a reply to a request for a list; raises UnreadableReply if it is too long."""
    text = Text(reply, lists=True)
    if text.offset:
        raise UnreadableReply(f"it is too long for a list of {plural}")
    return text


def own_documents(text: Text) -> Iterator[Document]:
    """Yield the JSON that is not the words of others, the last first."""
    return (one for one in reversed(text.documents) if not text.is_foreign(one.start, one.end, "json"))


def without_remarks(lines: list[Item]) -> list[Item]:
    """Return the lines without reasons below items, and without a frame around lines that are no marked list."""
    kept: list[Item] = []
    labels = [match["label"].lower() if (match := _REASON.match(plain(item.text))) else "" for item in lines]
    for place, (item, label) in enumerate(zip(lines, labels, strict=True)):
        is_marked = item.kind in ("numbered", "cell")
        repeated = item.kind != "bulleted" or labels.count(label) > 1 or item.indent > lines[place - 1].indent
        if not (label and kept and repeated and not is_marked):
            kept.append(item)
    if marked(kept):
        return kept
    while len(kept) > 1 and _is_frame(plain(kept[0].text)):
        kept.pop(0)
    while len(kept) > 1 and _is_frame(plain(kept[-1].text)):
        kept.pop()
    return kept


def _is_frame(line: str) -> bool:
    """Return whether a line introduces or closes a list: `The critique makes two claims.`, `Total: 2 claims`."""
    if len(line.split()) > FRAME or not words.has(line, "claims"):
        return _COUNTED.match(line) is not None
    start = words.starts("preamble", line) or words.starts("total", line)
    listed = start is not None and words.has(line[start.end() :], "claims")
    return listed or words.starts("framing", line) is not None or _COUNTED.match(line) is not None


# A list of claims, which may be empty.

NONE = "none"
_LABEL = re.compile(r"^\W*(?:claims?|aius?|output|answer|list)\W*:\s*(?=\S)", re.I)
_ADDRESS = re.compile(r"\W*(?:I|I'(?:m|d|ll|ve)|We|Let's|Let us|Let me|Please|Your?|You've|Error \d+:?)\s", re.I)
_CATEGORY = re.compile(r"^\s*(?:\*\*|__)[^*_:\n]{2,40}(?::\s*(?:\*\*|__)|(?:\*\*|__)\s*:)\s*")
_NONE_CHECKABLE = re.compile(
    r"\W*none of (?:the|its|these|this)\b.{0,40}\b(?:can|could) be (?:checked|verified|tested|extracted)\W*$", re.I
)
_SAYS_NONE = re.compile(
    r"\W*(?:there(?:'s| are| is| were)|(?:the|this) (?:critique|text|comment|reference text)|it|no\b|"
    r"i (?:find|found|see))",
    re.I,
)
"""`It contains no checkable claims`"""
_NO_CLAIMS = re.compile(r"\b(?:no|not|any|zero)\b.{0,40}\b(?:claims?|statements?|aius?)\b", re.I)


@dataclass(frozen=True)
class Claims(Answer[tuple[str, ...]]):
    """Claims, one per line, each one line of text; `noun` is their name in the prompt."""

    noun: str = "claim"

    key = "claims"
    rules = ("json", "list")

    def ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        long = f"This is a {self.noun} of about ten words, and it is number"
        return (), tuple(f"{long} {number}." for number in range(1, 9))

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[tuple[str, ...]]:
        text = list_text(reply, f"{self.noun}s")
        return self._structured(text) or self._listed(text)

    def _text_instruction(self) -> str:
        return (
            f"Write each {self.noun} on a line of its own, numbered 1., 2., 3. and so on, and write nothing else. "
            f'If there is no {self.noun}, write only "{NONE}".'
        )

    def _written(self, value: tuple[str, ...]) -> str:
        return "\n".join(f"{number}. {claim}" for number, claim in enumerate(value, 1)) or NONE

    def _field(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "description": f"One text for each {self.noun}."}

    def _shape(self) -> str:
        return '["...", "..."]'

    def _described(self) -> str:
        return f"a list of {self.noun}s, [] if there is none"

    def _structured(self, text: Text) -> Reading[tuple[str, ...]] | None:
        for document in own_documents(text):
            texts = _texts(document.value)
            if texts is not None:
                texts = () if len(texts) == 1 and self._is_nothing(texts[0]) else texts
                return Reading(texts, "json", text.span(document.start, document.end))
            if isinstance(document.value, Mapping) and not text.raw[: document.start].strip(" \n`json"):
                raise UnreadableReply(f"its JSON holds no list of {self.noun}s")
        return None

    def _listed(self, text: Text) -> Reading[tuple[str, ...]]:
        everything = answered_items(text, self.noun)
        first = everything[0] if len(everything) > 1 and not marked(everything) else None
        if first and self._is_nothing(plain(_LABEL.sub("", first.text))):  # the other lines explain it
            return Reading((), "list", text.span(first.start, first.end))
        lines = without_remarks(_after_label(without_frame(text, everything)))
        if not lines:
            announced = f"it announces {self.noun}s and lists none"
            raise UnreadableReply(announced if everything else f"it holds no {self.noun}")
        if self._none(text, lines):
            return Reading((), "list", text.span(lines[0].start, lines[-1].end))
        single = _without_parents(joined(lines)) if marked(lines) else self._plain(lines, text)
        claims = [
            (claim, item) for item in single if re.search(r"[^\W\d]", claim := _REMARK.sub("", self._claim(item)))
        ]
        if not claims:
            raise UnreadableReply(f"it holds no {self.noun}")
        return Reading(tuple(claim for claim, _ in claims), "list", text.span(claims[0][1].start, claims[-1][1].end))

    def _plain(self, lines: list[Item], text: Text) -> list[Item]:
        """Read lines without numbers or bullets, one claim each; a paragraph is not a claim."""
        if len(lines) == 1:
            sentences = [unit for unit in text.units if lines[0].start <= unit.start < lines[0].end]
            if lines[0].text.rstrip().endswith(("?", "？")):
                raise UnreadableReply("it asks a question")
            if lines[0].text.isascii() and len(lines[0].text.split()) < 3:
                raise UnreadableReply(f"it holds no {self.noun}")
            if _ADDRESS.match(lines[0].text):
                raise UnreadableReply(f"it speaks to the reader, and lists no {self.noun}")
            pairs = pairwise(sentences)  # `The answer asks "Who wrote it?" at the end.` is one sentence
            if any(one.text[-1:] not in "\"'" or not after.text[0].islower() for one, after in pairs):
                raise UnreadableReply(f"it is a paragraph, not one {self.noun} a line")
        return [item for item in lines if not plain(item.text).endswith((":", "："))]

    def _claim(self, item: Item) -> str:
        if item.cells:
            cells = [cell for cell in item.cells if not re.fullmatch(r"\W*\d*\W*", cell)]
            return plain(max(cells, key=len, default=""))
        if (category := _CATEGORY.match(item.text)) and len(item.text[category.end() :].split()) > 2:
            return plain(item.text[category.end() :])
        return plain(_LABEL.sub("", item.text) if item.kind == "plain" else item.text)

    def _is_nothing(self, line: str) -> bool:
        match = words.starts("nothing", line)
        return match is not None and not squash(line[match.end() :])

    def _none(self, text: Text, lines: list[Item]) -> bool:
        """Return whether the text states that there are none: `none`, `The critique makes no claims.`"""
        line = readable(plain(_LABEL.sub("", lines[0].text)))
        if len(lines) > 1:
            return False
        if _NONE_CHECKABLE.match(line) or re.search(rf"[:,]\s*{NONE}\W*$", line):
            return True
        first = re.split(
            r"[.!;:](?:\s|$)|[。：；]|\s(?:because|since|as|weil|da|car|porque|perché)\s|\s[-–—(]\s?|,\s",
            line,
            maxsplit=1,
        )[0]
        match = words.starts("nothing", first)
        bare = match is not None and not squash(first[match.end() :])
        rest = squash(words.without("claim", first[match.end() :])) if match and not first.isascii() else None
        if rest is not None and words.find("claim", first) and len(rest.split()) < 2 and len(rest) < 16:
            return True
        return bare or (len(first) < 120 and bool(_NO_CLAIMS.search(first) and _SAYS_NONE.match(first)))


def _texts(value: Any) -> tuple[str, ...] | None:
    """Return the texts of a structured answer: a list, a list of objects, or numbered fields."""
    if isinstance(value, list):
        texts = [_text(element) for element in value]
        whole = tuple(" ".join(text.split()) for text in texts if text and text.strip())
        return None if None in texts else whole
    if not isinstance(value, Mapping):
        return None
    for key, inner in value.items():
        if isinstance(inner, list) and squash(str(key)) not in ("reasoning", "notes"):
            return _texts(inner)
    numbered = [inner for key, inner in value.items() if re.fullmatch(r"\D*\d{1,3}", str(key))]
    if numbered and all(isinstance(entry, str) for entry in numbered):
        return tuple(map(str.strip, numbered))
    nested = [inner for inner in value.values() if isinstance(inner, Mapping)]
    return _texts(nested[0]) if len(nested) == 1 else None


def _text(value: Any) -> str | None:
    texts = [inner for inner in value.values() if isinstance(inner, str)] if isinstance(value, Mapping) else [value]
    return max(texts, key=len, default=None) if all(isinstance(text, str) for text in texts) else None


def _after_label(lines: list[Item]) -> list[Item]:
    """Return the lines below the last "claims:" on a line of its own."""
    heads = (re.fullmatch(r"\W*(?:claims|aius|output)\W*:\W*", item.text, re.I) for item in lines[:-1])
    return lines[max((place for place, head in enumerate(heads, 1) if head), default=0) :]


def _without_parents(lines: list[Item]) -> list[Item]:
    """Return the items without those that end with a colon, which introduce the items below them."""
    return [
        item
        for item in lines
        if item.kind != "heading" and not (item is not lines[-1] and plain(item.text).endswith((":", "：")))
    ]


# A list of aspects: names, each with a definition or without.

Named = tuple[str, str]

_BOLD = re.compile(r"^\s*(\*\*|__|\*|`)(?P<name>[^*`\n]{1,200}?)\s*[:：]?\s*\1\s*[:：–—-]?\s*(?P<definition>.*)$", re.S)
_SPLIT = re.compile(r"^(?P<name>[^?？:：]{1,80}?)\s*(?:[:：]|\s[-–—]\s|\s=\s)\s*(?P<definition>\S.*)$", re.S)
_ASIDE = re.compile(r"^(?P<name>[^()?？]{2,60}?)\s*\((?P<definition>[^()]*[?？])\)\W*$")
_NAMES = ("name", "aspect", "title", "criterion", "label", "dimension")
_FIELD = re.compile(r"^(?:name|aspect|criterion|definition|description)\s*:\s*(?=\S)", re.I)
"""`- name: Accuracy`, and `definition: Is it right?` on the line below."""
_SEPARATOR = re.compile(r"\s*[,;、，；]\s*(?:and\s+)?|\s+and\s+")
_INLINE = re.compile(r"(?:^|[\s;,])\(?\d{1,2}[.)]\s*")


@dataclass(frozen=True)
class Aspects(Answer[dict[str, str]]):
    """Names of aspects with their definitions, "" if there is none; exactly `count` of them if it is given.

    With `definitions`, the model is asked for "Name: definition" lines.
    """

    count: int | None = None
    definitions: bool = False

    key = "aspects"
    rules = ("json", "list")

    def ends(self) -> tuple[dict[str, str], dict[str, str]]:
        short = {f"Aspect {chr(65 + place)}": "" for place in range(self.count or 1)}
        definition = "Does the response do well in this regard?" if self.definitions else ""
        return short, {f"Quality {chr(65 + place)} of the response": definition for place in range(self.count or 10)}

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[dict[str, str]]:
        text = list_text(reply, "aspects")
        lines, rule, start, end = self._structured(text) or self._listed(text)
        tail = end if rule == "json" else start
        if any(announcement(unit.text) for unit in text.units if unit.start >= tail):
            raise UnreadableReply("it takes its answer back and gives no other")
        return Reading(self._checked(lines), rule, text.span(start, end))

    def _text_instruction(self) -> str:
        form = (
            "a short name, a colon and a definition of one sentence" if self.definitions else "the name of one aspect"
        )
        number = f"{self.count} lines" if self.count else "one line for each aspect"
        return f"Write {number}, numbered 1., 2., 3. and so on, and nothing else. Each line is {form}."

    def _written(self, value: Mapping[str, str]) -> str:
        lines = (f"{name}: {definition}" if definition else name for name, definition in value.items())
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))

    def _field(self) -> dict[str, Any]:
        text = {"type": "string"}
        named: dict[str, Any] = {
            "type": "object",
            "properties": {"name": text, "definition": text},
            "required": ["name", "definition"],
            "additionalProperties": False,
        }
        number = f"Exactly {self.count} aspects." if self.count else "The aspects."
        return {"type": "array", "items": named if self.definitions else text, "description": number}

    def _encoded(self, value: Mapping[str, str]) -> list[Any]:
        if self.definitions:
            return [{"name": name, "definition": definition} for name, definition in value.items()]
        return list(value)

    def _shape(self) -> str:
        example = '{"name": "...", "definition": "..."}' if self.definitions else '"..."'
        return f"[{example}, ...]"

    def _described(self) -> str:
        return f"a list of {self.count or 'the'} aspects"

    def _checked(self, lines: list[Named]) -> dict[str, str]:
        named = [(name, definition) for name, definition in lines if re.search(r"[^\W\d]", name)]
        if not named:
            raise UnreadableReply("it names no aspects")
        if self.count and len(named) != self.count:
            raise UnreadableReply(f"its number of aspects is {len(named)}, not {self.count}")
        if len({squash(name) for name, _ in named}) < len(named):
            raise UnreadableReply("it names the same aspect twice")
        return dict(named)

    def _structured(self, text: Text) -> tuple[list[Named], str, int, int] | None:
        for document in own_documents(text):
            if (lines := _named(document.value)) is not None:
                return lines, "json", document.start, document.end
        return None

    def _listed(self, text: Text) -> tuple[list[Named], str, int, int]:
        lines = without_frame(text, answered_items(text, "aspect"))
        if not lines:
            raise UnreadableReply("it names no aspects")
        named = (self._inline(lines) if len(lines) == 1 else None) or _grouped(lines)
        return named, "list", lines[0].start, lines[-1].end

    def _inline(self, lines: list[Item]) -> list[Named] | None:
        """Read `Accuracy, Clarity, Depth`, `1. accuracy; 2. clarity`."""
        line = re.sub(r"^\W*(?:aspects?|criteria)\W*:\s*", "", plain(lines[0].text), flags=re.I)
        for pattern in (_INLINE, _SEPARATOR):
            pieces = [piece.strip(" .;,") for piece in pattern.split(line) if piece and piece.strip(" .;,")]
            if len(pieces) == (self.count or 0) > 1 and all(len(piece.split()) < 5 for piece in pieces):
                return [(piece, "") for piece in pieces]
        return None


def _grouped(lines: list[Item]) -> list[Named]:
    """Return the items of the outermost list; the lines below an item are its definition."""
    tops = marked(lines)
    headings = [item for item in lines if item.kind == "heading"]
    if (not tops or tops[0].kind == "bulleted") and len(headings) > 1 and lines[0] is headings[0]:
        tops = headings
    if not tops:
        return [_split(item.text) for item in lines]
    outer = min(item.indent for item in tops)
    tops = [item for item in tops if item.indent <= outer + 1]
    if tops[0].kind == "cell":
        return [_cells(item) for item in tops]
    named: list[Named] = []
    nested, sections = False, lines[0].kind == "heading"
    for item, following in zip_longest(tops, tops[1:]):
        below = [line for line in lines if item.end <= line.start and (not following or line.start < following.start)]
        below = [line for line in below if line.kind != "heading" or not (sections or line.text.startswith("#"))]
        if not following and not nested and item.kind != "heading":  # a plain line below the last item may be a remark
            below = [line for line in below if line.kind != "plain" or line.indent > item.indent]
        nested = nested or (item is tops[0] and bool(below))
        name, definition = _split(item.text)
        named.append((name, definition or (_FIELD.sub("", plain(below[0].text)) if below else "")))
    return named


def _cells(item: Item) -> Named:
    name, definition, *_ = [*(plain(cell) for cell in item.cells if re.search(r"[^\W\d]", cell)), "", ""]
    return name, definition


def _split(text: str) -> Named:
    """Return a name and its definition."""
    text = _FIELD.sub("", re.sub(r"^\s*#+\s*", "", text))
    bare = plain(text)
    if (match := _BOLD.match(text)) and not match["name"].rstrip().endswith(("?", "？")):
        match = (None if match["definition"].strip() else _SPLIT.match(match["name"])) or match
    elif (match := _SPLIT.match(bare) or _ASIDE.match(bare)) and len(match["name"].split()) > 7:
        match = None
    return (_name(match["name"]), _definition(match["definition"])) if match else (_name(bare), "")


def _name(text: str) -> str:
    return plain(text).strip(' :：-–—"').rstrip(".。")


def _definition(text: str) -> str:
    bare = without_markup(text).strip()
    return bare[1:-1].strip() if re.fullmatch(r"\([^()]*\)", bare) else bare


def _named(value: Any) -> list[Named] | None:
    """Return the aspects of a structured answer: names, objects with a name, or an object from name to definition."""
    if isinstance(value, list):
        named = [_one(inner) for inner in value]
        return [aspect for aspect in named if aspect] if all(named) else None
    if not isinstance(value, Mapping):
        return None
    for key, inner in value.items():
        if squash(str(key)) in ("aspects", "criteria", "questions") and isinstance(inner, list | Mapping):
            return _named(inner) or []
    fields = {str(key): inner for key, inner in value.items() if squash(str(key)) != "reasoning"}
    if fields and all(isinstance(inner, str) for inner in fields.values()):
        numbered = all(re.fullmatch(r"\D*\d{1,2}", key) for key in fields)
        return [_split(inner) if numbered else (_name(key), _definition(inner)) for key, inner in fields.items()]
    if fields and all(isinstance(inner, Mapping) for inner in fields.values()):
        return _keyed(fields)
    lists = [inner for inner in fields.values() if isinstance(inner, list)]
    return _named(lists[0]) if len(lists) == 1 else None


def _keyed(fields: Mapping[str, Any]) -> list[Named] | None:
    """Read `{"1": {"name": ..., "definition": ...}}`, `{"Accuracy": {"definition": ...}}`."""
    named = []
    for key, inner in fields.items():
        aspect = _one(inner) if re.fullmatch(r"\D*\d{1,2}", key) else None
        texts = [text for text in inner.values() if isinstance(text, str)]
        named.append(aspect or (_name(key), _definition(texts[0]) if texts else ""))
    return named


def _one(value: Any) -> Named | None:
    if isinstance(value, str):
        return _split(value)
    if not isinstance(value, Mapping):
        return None
    texts = [inner for inner in value.values() if isinstance(inner, str)]
    names = [inner for key, inner in value.items() if squash(str(key)) in _NAMES]
    if len(value) == 1 and texts and not names:
        return _name(str(next(iter(value)))), _definition(texts[0])
    name = names[0] if names and isinstance(names[0], str) else texts[0] if texts else None
    rest = [text for text in texts if text != name]
    return (_name(name), _definition(rest[0]) if rest else "") if name else None
