"""Readers of MetaCritique's replies. They raise Unreadable with the reason; nothing is guessed.

The released code of MetaCritique counts a reply that it cannot parse as false. Here such a reply is no judgement.
"""

import re
import unicodedata

from core.problems import Unreadable

_BRACKETS = re.compile(r"\[\[\s*([^\[\]]{0,40}?)\s*\]\]")
_CHOICES = {"A": 1, "B": 2, "C": 0}


def read_text(reply: str) -> str:
    """Return the whole text: a reference answer, a critique, a refined answer."""
    if not reply.strip():
        raise Unreadable("the reply is empty")
    return reply.strip()


def read_rating(reply: str, low: int = 1, high: int = 7) -> int:
    """Return the whole number in double brackets (Table 16: "[[score]]")."""
    text = _bracketed_text(reply)
    if not text.isascii() or not text.isdecimal():
        raise Unreadable(f"“[[{text}]]” is not a whole number")
    if not low <= int(text) <= high:
        raise Unreadable(f"it rates {int(text)}, which is not from {low} to {high}")
    return int(text)


def read_letter(reply: str) -> int:
    """Return which of two is better (Tables 15 and 18): [[A]] is 1, [[B]] is 2, [[C]] is a tie, 0."""
    text = _bracketed_text(reply).upper()
    if text not in _CHOICES:
        raise Unreadable(f"“[[{text}]]” is not one of [[A]], [[B]] or [[C]]")
    return _CHOICES[text]


def _bracketed_text(reply: str) -> str:
    """Return the text in double brackets; it may occur several times where it is always the same."""
    texts: list[str] = list(dict.fromkeys(_BRACKETS.findall(unicodedata.normalize("NFKC", reply))))
    if not texts:
        raise Unreadable("there is nothing in double brackets")
    if len(texts) > 1:
        raise Unreadable(f"it gives both [[{texts[0]}]] and [[{texts[1]}]]")
    return texts[0]
