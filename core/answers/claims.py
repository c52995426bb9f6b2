"""A list of claims, which may be empty."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from core.answers.answer import Answer, Reading
from core.answers.lists import Item, declines, items, joined, marked, plain, without_frame
from core.answers.remarks import is_cut, is_error, without_reason, without_remarks
from core.answers.signs import readable, squash
from core.answers.text import Text
from core.errors import UnreadableReply

NONE = "none"
_LABEL = re.compile(r"^\W*(?:claims?|aius?|output|answer|list)\W*:\s*(?=\S)", re.I)
_ADDRESS = re.compile(r"\W*(?:I|I'(?:m|d|ll|ve)|We|Let's|Let us|Let me|Please|Your?|You've|Error \d+:?)\s", re.I)
_CATEGORY = re.compile(r"^\s*(?:\*\*|__)[^*_:\n]{2,40}(?::\s*(?:\*\*|__)|(?:\*\*|__)\s*:)\s*")
_NONE_CHECKABLE = re.compile(
    r"\W*none of (?:the|its|these|this)\b.{0,40}\b(?:can|could) be (?:checked|verified|tested|extracted)\W*$", re.I
)
_NO_CLAIMS = re.compile(r"\b(?:no|not|any|zero)\b.{0,40}\b(?:claims?|statements?|aius?)\b", re.I)


@dataclass(frozen=True)
class Claims(Answer[tuple[str, ...]]):
    """Claims, one per line, each one line of text; `noun` is their name in the prompt."""

    noun: str = "claim"

    key = "claims"

    def shortest(self) -> tuple[str, ...]:
        return ()

    def longest(self) -> tuple[str, ...]:
        return tuple(f"This is a {self.noun} of about ten words, and it is number {number}." for number in range(1, 9))

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[tuple[str, ...]]:
        text = Text(reply, self.words, lists=True)
        if text.offset:
            raise UnreadableReply(f"it is too long for a list of {self.noun}s")
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

    def _encoded(self, value: tuple[str, ...]) -> list[str]:
        return list(value)

    def _shape(self) -> str:
        return '["...", "..."]'

    def _described(self) -> str:
        return f"a list of {self.noun}s, [] if there is none"

    def _structured(self, text: Text) -> Reading[tuple[str, ...]] | None:
        for document in reversed(text.documents):
            if text.is_foreign(document.start, document.end, "json"):
                continue
            texts = _texts(document.value)
            if (
                texts is None
                and not text.raw[: document.start].strip(" \n`json")
                and isinstance(document.value, Mapping)
            ):
                raise UnreadableReply(f"its JSON holds no list of {self.noun}s")
            if texts is not None:
                texts = () if len(texts) == 1 and self._is_nothing(texts[0]) else texts
                return Reading(texts, "json", text.span(document.start, document.end))
        return None

    def _listed(self, text: Text) -> Reading[tuple[str, ...]]:
        everything = items(text, self.noun)
        if declines(text, everything):
            raise UnreadableReply("it declines to answer")
        if is_error(everything):
            raise UnreadableReply("it is an error message")
        if is_cut(text):
            raise UnreadableReply("its JSON is incomplete")
        if self._is_none_explained(everything):
            return Reading((), "list", text.span(everything[0].start, everything[0].end))
        lines = without_remarks(_after_label(without_frame(text, everything)))
        if not lines:
            raise UnreadableReply(
                f"it holds no {self.noun}" if not everything else f"it announces {self.noun}s and lists none"
            )
        if self._none(text, lines):
            return Reading((), "list", text.span(lines[0].start, lines[-1].end))
        single = _without_parents(list(joined(lines))) if marked(lines) else self._plain(lines, text)
        claims = [(claim, item) for item in single if re.search(r"[^\W\d]", claim := without_reason(self._claim(item)))]
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
            if len(sentences) > 1:
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
        match = self.words.starts("nothing", line)
        return match is not None and not squash(line[match.end() :])

    def _is_none_explained(self, lines: list[Item]) -> bool:
        """Return whether the first line is `none` and the others, which are no list, explain it."""
        return len(lines) > 1 and not marked(lines) and self._is_nothing(plain(_LABEL.sub("", lines[0].text)))

    def _none(self, text: Text, lines: list[Item]) -> bool:
        """Return whether the text states that there are none: `none`, `The critique makes no claims.`"""
        line = readable(plain(_LABEL.sub("", lines[0].text)))
        if len(lines) > 1:
            return False
        if _NONE_CHECKABLE.match(line):
            return True
        first = re.split(
            r"[.!;:](?:\s|$)|[。：；]|\s(?:because|since|as|weil|da|car|porque|perché)\s|\s[-–—(]\s?|,\s",
            line,
            maxsplit=1,
        )[0]
        match = self.words.starts("nothing", first)
        if re.search(rf"[:,]\s*{NONE}\W*$", line):
            return True
        bare = match is not None and not squash(first[match.end() :])
        rest = squash(self.words.without("claim", first[match.end() :])) if match and not first.isascii() else None
        if rest is not None and self.words.find("claim", first) and len(rest.split()) < 2 and len(rest) < 16:
            return True
        return bare or (
            bool(_NO_CLAIMS.search(first))
            and len(first) < 120
            and self.words.find("claim", first.replace("claims", "claim").replace("statements", "statement"))
            is not None
            and _says_none(first)
        )


def _says_none(sentence: str) -> bool:
    """Return whether the text states that there are none: `It contains no checkable claims`."""
    return bool(
        re.match(
            r"\W*(?:there(?:'s| are| is| were)|(?:the|this) (?:critique|text|comment|reference text)|it|no\b|"
            r"i (?:find|found|see))",
            sentence,
            re.I,
        )
    )


def _texts(value: Any) -> tuple[str, ...] | None:
    """Return the texts of a structured answer: a list, a list of objects, or numbered fields."""
    if isinstance(value, list):
        texts = [_text(element) for element in value]
        return (
            tuple(" ".join(text.split()) for text in texts if text and text.strip())
            if all(text is not None for text in texts)
            else None
        )
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
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        texts = [inner for inner in value.values() if isinstance(inner, str)]
        return max(texts, key=len) if texts else None
    return None


def _after_label(lines: list[Item]) -> list[Item]:
    """Return the lines below the last "claims:" on a line of its own."""
    for place in range(len(lines) - 2, -1, -1):
        if re.fullmatch(r"\W*(?:claims|aius|output)\W*:\W*", lines[place].text, re.I):
            return lines[place + 1 :]
    return lines


def _without_parents(lines: list[Item]) -> list[Item]:
    """Return the items without those that end with a colon, which introduce the items below them."""
    remaining = []
    for item, following in zip_longest(lines, lines[1:]):
        parent = plain(item.text).endswith((":", "：")) and following is not None
        if item.kind != "heading" and not parent:
            remaining.append(item)
    return remaining
