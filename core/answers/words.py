"""The words that parsers know, by concept and language: `words.toml`, which a study extends.

A phrase matches whole words, in any case. Scripts that are written without spaces match anywhere in a line.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

# Signs and digits of any script as ASCII, character by character.


def _table() -> dict[int, str]:
    """Return the characters that have one plain counterpart."""
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in "！？；"}
    digits = (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50)
    table |= {start + digit: str(digit) for start in digits for digit in range(10)}
    table |= {ord("①") + digit: str(digit + 1) for digit in range(9)}
    for plain, signs in {
        '"': "“”„‟«»「」『』″❝❞",
        "'": "‘’‚‛′´",
        "-": "−‐‑‒﹣",
        ",": "、،﹐",
        ":": "∶꞉﹕",
        "%": "٪﹪",
        "[": "【〔［",
        "]": "】〕］",
        "<": "〈《",
        ">": "〉》",
        "i": "İ",
        "~": "～〜∼",
        " ": (
            "\u00a0\u2002\u2003\u2007\u2009\u200a\u200b\u200c\u200d\u202f\u2060\u3000\ufeff\ufe0f\u20e3"
            "\r\t\v\f\u200e\u200f"
        ),
        "\n": "\u2028\u2029\x85",
    }.items():
        table |= {ord(sign): plain for sign in signs}
    return table


_PLAIN = _table()


def readable(text: str) -> str:
    """Return a text of the same length with plain signs and digits."""
    return text.translate(_PLAIN)


def squash(text: str) -> str:
    """Return only the words, in lower case, for comparing names."""
    return " ".join(re.findall(r"\w+", readable(text).replace("_", " ").lower()))


FILE = Path(__file__).with_name("words.toml")


class Words:
    """Phrases by concept, such as `words["answer"]`; equal tables share their compiled patterns."""

    def __init__(self, phrases: Mapping[str, Sequence[str]]) -> None:
        self._phrases = {
            concept: tuple(dict.fromkeys(readable(phrase).lower() for phrase in parsed))
            for concept, parsed in phrases.items()
        }
        self._key = tuple(sorted(self._phrases.items()))
        self._hash = hash(self._key)

    def __getitem__(self, concept: str) -> tuple[str, ...]:
        return self._phrases[concept]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Words) and (self is other or self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def extended(self, **more: Sequence[str]) -> "Words":
        """Return the table with more phrases: `WORDS.extended(answer=["erantzuna"], true=["egia"])`."""
        if unknown := sorted(more.keys() - self._phrases.keys()):
            raise ValueError(f"there is no list of words called {unknown[0]!r}: {', '.join(sorted(self._phrases))}")
        return Words(self._phrases | {concept: (*self[concept], *phrases) for concept, phrases in more.items()})

    def any(self, *concepts: str) -> str:
        """Return a regular expression for any phrase of these concepts."""
        return alternatives(tuple(phrase for concept in concepts for phrase in self[concept]))

    def find(self, concept: str, text: str) -> re.Match[str] | None:
        """Return the first match of a phrase of `concept`."""
        return _compiled(self[concept], False).search(text.lower())

    def finditer(self, concept: str, text: str) -> Iterator[re.Match[str]]:
        """Yield every occurrence of a phrase of `concept`."""
        return _compiled(self[concept], False).finditer(text.lower())

    def without(self, concept: str, text: str) -> str:
        """Return the text in lower case, with spaces for the phrases of `concept`."""
        return _compiled(self[concept], False).sub(lambda match: " " * len(match[0]), text.lower())

    def starts(self, concept: str, text: str) -> re.Match[str] | None:
        """Return the phrase of `concept` that `text` begins with, after any marks."""
        return _compiled(self[concept], True).match(text.lower())


@lru_cache(maxsize=512)
def alternatives(phrases: tuple[str, ...]) -> str:
    """Return a regular expression for the longest of the phrases, at word boundaries if the script has them."""
    forms = list(dict.fromkeys(" ".join(phrase.split()) for phrase in phrases))
    if not forms:
        return r"(?!)"
    anywhere = [form for form in forms if _UNSPACED.search(form) or not _LETTER.search(form)]
    spaced = [form for form in forms if form not in set(anywhere)]
    parts = [rf"(?<!\w){_branches(spaced)}(?!\w)"] if spaced else []
    return rf"(?:{'|'.join([*parts, *([_branches(anywhere)] if anywhere else [])])})"


def _branches(forms: Iterable[str]) -> str:
    """Return a regular expression for any of the forms that merges common prefixes: many times faster than a list."""
    tree: dict[str, Any] = {}
    for form in forms:
        branch = tree
        for character in form:
            branch = branch.setdefault(character, {})
        branch[""] = {}
    return _expression(tree)


def _expression(tree: Mapping[str, Any]) -> str:
    parts = [
        (r"\s+" if character == " " else re.escape(character)) + _expression(branch)
        for character, branch in tree.items()
        if character
    ]
    if not parts:
        return ""
    if "" in tree:
        return f"(?:{'|'.join(parts)})?"
    return f"(?:{'|'.join(parts)})" if len(parts) > 1 else parts[0]


_LETTER = re.compile(r"[^\W\d_]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@lru_cache(maxsize=512)
def _compiled(phrases: tuple[str, ...], start: bool) -> re.Pattern[str]:
    return re.compile((r"[^\w\n]*" if start else "") + alternatives(phrases))


def _phrases(tables: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    return {concept: list(_split(languages.values())) for concept, languages in tables.items()}


def _split(lists: Iterable[str]) -> Iterable[str]:
    return (phrase.strip() for text in lists for phrase in text.replace("\n", " ").split("|") if phrase.strip())


WORDS = Words(_phrases(tomllib.loads(FILE.read_text(encoding="utf-8"))))
