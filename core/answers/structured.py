"""JSON in a reply: the whole of it, in a fence, or somewhere between words."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.answers.words import squash

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
        return isinstance(self.value, Mapping) or (isinstance(self.value, list) and any(map(_is_object, self.value)))


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


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
    except (ValueError, RecursionError):
        return None
    return Document(value, start, end)


def _repaired(text: str, start: int) -> Document | None:
    """Return the value of JSON with Python literals, comments, curly quotes or trailing commas, after repairs."""
    end = text.rfind("}" if text[start] == "{" else "]") + 1
    piece = _COMMA.sub(r"\1", _COMMENT.sub("", text[start:end]))
    for repaired in (piece, _from_python(piece), piece.translate(_SMART)):
        try:
            return Document(_DECODER.decode(repaired), start, end)
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
