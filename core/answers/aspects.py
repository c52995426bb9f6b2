"""A list of aspects: names, each with a definition or without."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from core.answers.answer import Answer, Reading
from core.answers.lists import Item, declines, items, marked, plain, without_frame
from core.answers.remarks import is_cut, is_error
from core.answers.sentences import announcement
from core.answers.signs import squash
from core.answers.text import Text, without_markup
from core.errors import UnreadableReply

Named = tuple[str, str]

_BOLD = re.compile(r"^\s*(\*\*|__|\*|`)(?P<name>[^*`\n]{1,200}?)\s*[:：]?\s*\1\s*[:：–—-]?\s*(?P<definition>.*)$", re.S)
_SPLIT = re.compile(r"^(?P<name>[^?？:：]{1,80}?)\s*(?:[:：]|\s[-–—]\s|\s=\s)\s*(?P<definition>\S.*)$", re.S)
_ASIDE = re.compile(r"^(?P<name>[^()?？]{2,60}?)\s*\((?P<definition>[^()]*[?？])\)\W*$")
_NAMES = ("name", "aspect", "title", "criterion", "label", "dimension")
_FIELD = re.compile(
    r"(?:(?P<name>name|aspect|criterion)|definition|description|explanation)\s*:\s*(?P<text>\S.*)", re.I
)
_INLINE = re.compile(r"(?:^|[\s;,])\(?\d{1,2}[.)]\s*")


@dataclass(frozen=True)
class Aspects(Answer[dict[str, str]]):
    """Names of aspects with their definitions, "" if there is none; exactly `count` of them if it is given.

    With `definitions`, the model is asked for "Name: definition" lines.
    """

    count: int | None = None
    definitions: bool = False

    key = "aspects"

    def shortest(self) -> dict[str, str]:
        return {f"Aspect {chr(65 + place)}": "" for place in range(self.count or 1)}

    def longest(self) -> dict[str, str]:
        definition = "Does the response do well in this regard?" if self.definitions else ""
        return {f"Quality {chr(65 + place)} of the response": definition for place in range(self.count or 10)}

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[dict[str, str]]:
        text = Text(reply, self.words, lists=True)
        if text.offset:
            raise UnreadableReply("it is too long for a list of aspects")
        lines, rule, start, end = self._structured(text) or self._listed(text)
        tail = end if rule == "json" else start
        if any(announcement(unit.text, self.words) for unit in text.units if unit.start >= tail):
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
            raise UnreadableReply(f"it names {len(named)} aspects, not {self.count}")
        if len({squash(name) for name, _ in named}) < len(named):
            raise UnreadableReply("it names the same aspect twice")
        return dict(named)

    def _structured(self, text: Text) -> tuple[list[Named], str, int, int] | None:
        for document in reversed(text.documents):
            lines = _named(document.value)
            if lines is not None and not text.is_foreign(document.start, document.end, "json"):
                return lines, "json", document.start, document.end
        return None

    def _listed(self, text: Text) -> tuple[list[Named], str, int, int]:
        everything = items(text, "aspect")
        if declines(text, everything):
            raise UnreadableReply("it declines to answer")
        if is_error(everything) or is_cut(text):
            raise UnreadableReply("it is an error message" if is_error(everything) else "its JSON is incomplete")
        lines = without_frame(text, everything)
        if not lines:
            raise UnreadableReply("it names no aspects")
        inline = self._inline(lines) if len(lines) == 1 else None
        named = inline or _fields(lines) or _grouped(lines)
        return named, "list", lines[0].start, lines[-1].end

    def _inline(self, lines: list[Item]) -> list[Named] | None:
        """Read `Accuracy, Clarity, Depth`, `1. accuracy; 2. clarity`."""
        line = re.sub(r"^\W*(?:aspects?|criteria)\W*:\s*", "", plain(lines[0].text), flags=re.I)
        for pattern in (_INLINE, re.compile(r"\s*[,;、，；]\s*(?:and\s+)?|\s+and\s+")):
            pieces = [piece.strip(" .;,") for piece in pattern.split(line) if piece and piece.strip(" .;,")]
            if len(pieces) == (self.count or 0) > 1 and all(len(piece.split()) < 5 for piece in pieces):
                return [(piece, "") for piece in pieces]
        return None


def _fields(lines: list[Item]) -> list[Named] | None:
    """Read `- name: Accuracy`, and `definition: Is it right?` on the line below."""
    fields = [_FIELD.match(plain(item.text)) for item in lines]
    if len(fields) < 2 or not all(fields):
        return None
    named: list[Named] = []
    for field in fields:
        if field and field["name"]:
            named.append((_name(field["text"]), ""))
        elif field and named:
            named[-1] = (named[-1][0], _definition(field["text"]))
    return named


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
    named = []
    for item, following in zip_longest(tops, tops[1:]):
        name, definition = _split(item.text)
        below = [
            line
            for line in lines
            if item.end <= line.start
            and (
                following.start > line.start
                if following
                else line.kind != "plain"
                or line.indent > item.indent
                or item.kind == "heading"
                or (item is not tops[0] and _below(lines, tops))
            )
        ]
        if not definition and below:
            definition = plain(below[0].text)
        named.append((name, definition))
    return named


def _below(lines: list[Item], tops: list[Item]) -> bool:
    """Return whether the first item has lines below it."""
    return len(tops) > 1 and any(tops[0].end <= line.start < tops[1].start for line in lines)


def _cells(item: Item) -> Named:
    cells = [plain(cell) for cell in item.cells if re.search(r"[^\W\d]", cell)]
    return (cells[0], cells[1] if len(cells) > 1 else "") if cells else ("", "")


def _split(text: str) -> Named:
    """Return a name and its definition."""
    text = re.sub(r"^\s*#+\s*", "", text)
    if (match := _BOLD.match(text)) and not match["name"].rstrip().endswith(("?", "？")):
        inner = _SPLIT.match(match["name"]) if not match["definition"].strip() else None
        if inner is None:
            return _name(match["name"]), _definition(match["definition"])
        match = inner
        return _name(match["name"]), _definition(match["definition"])
    bare = plain(text)
    match = _SPLIT.match(bare) or _ASIDE.match(bare)
    if match and len(match["name"].split()) <= 7:
        return _name(match["name"]), _definition(match["definition"])
    return _name(bare), ""


def _name(text: str) -> str:
    name = plain(text).strip(' :：-–—"')
    return name if len(name.split()) > 6 else name.rstrip(".。")


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
    if len(value) == 1 and texts and squash(str(next(iter(value)))) not in _NAMES:
        return _name(str(next(iter(value)))), _definition(texts[0])
    name = next((value[key] for key in value if squash(str(key)) in _NAMES), None)
    if not isinstance(name, str):
        name = texts[0] if texts else None
    rest = [text for text in texts if text != name]
    return (_name(name), _definition(rest[0]) if rest else "") if name else None
