"""Readers of MetaCritique's replies. They raise Unreadable with the reason; nothing is guessed.

The released code of MetaCritique counts a reply that it cannot parse as false. Here such a reply is no judgement.
"""

import re
import unicodedata

from core.problems import Unreadable

_DECORATION = " \t*_#>`~|\"'“”‘’«»()[]{}.,!:;"
_VERDICT = r"(?:(?:final\s+)?(?:verdict|answer|conclusion|label|result|judge?ment|output)\s*[:=–-]\s*)?"
_BARE = re.compile(rf"{_VERDICT}\W*(true|false)", re.I)
_SENTENCE = re.compile(
    r"\b(?:claim|statement)(?:\s+\S+){0,3}?\s+is\s+(?:(?:therefore|thus|hence|clearly|also|indeed)\s+)?[\"'*_“]*"
    r"(true|false)\b",
    re.I,
)
_QUALIFIER = re.compile(
    r"\b(?:not|cannot|if|whether|neither|nor|either|unless|part(?:ly|ially)|most(?:ly)?|may|might|could|perhaps|"
    r"probably|possibly|unclear|unknown|undetermined)\b|n['’]t\b",
    re.I,
)
"""Words that negate or qualify a conclusion: "partially true" is neither true nor false."""
_BULLET = re.compile(r"^\s*(?:[-–—•*+]|\(?[0-9]{1,3}[.):]|\(?[a-z][.)])\s+")
_HEADING = re.compile(r"(?:(?:here|these|below)\b.*|claims?|aius?|output|list(?: of claims)?|the claims\b.*):", re.I)
_NONE = re.compile(r"\W*(?:none|no claims?|\(none\))\W*", re.I)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BRACKETS = re.compile(r"\[\[\s*([^\[\]]{0,40}?)\s*\]\]")
_CHOICES = {"A": 1, "B": 2, "C": 0}


def read_truth(reply: str) -> bool:
    """Return whether the claim is true, by the last sentence (Tables 10 and 11: "Therefore, the claim is true").

    Accepted: `Therefore, the claim is false.`, `True`, `**Verdict: true**`.
    Refused: no conclusion at the end, both words, a qualified conclusion ("the claim is not true", "partially true").
    """
    lines = _content_lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    last = _concluded_values(lines[-1])
    if not last:
        raise Unreadable("the last sentence does not say that the claim is true, or that it is false")
    previous = _concluded_values(lines[-2]) if len(lines) > 1 else set()
    if len(last | previous) > 1:
        raise Unreadable("it ends with both true and false")
    return last == {"true"}


def read_claims(reply: str) -> str:
    """Return the AIUs of a critique, one a line, without numbers or bullets (Table 9); empty where it says "none"."""
    lines = [_BULLET.sub("", line).strip() for line in _content_lines(reply) if not _FENCE.match(line)]
    if not lines:
        raise Unreadable("the reply is empty")
    if len(lines) == 1 and _NONE.fullmatch(lines[0]):
        return ""
    claims = [line for index, line in enumerate(lines) if line and not (index == 0 and _HEADING.fullmatch(line))]
    if not claims:
        raise Unreadable("it announces claims and lists none")
    return "\n".join(claims)


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


def _content_lines(reply: str) -> list[str]:
    """Return the lines with content."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip() for line in text.splitlines() if line.strip(_DECORATION + "-–—=")]


def _concluded_values(line: str) -> set[str]:
    """Return what the line's last sentence concludes; empty where it is qualified."""
    if bare := _BARE.fullmatch(line.strip(_DECORATION)):
        return {bare[1].lower()}
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z*\"“])", line)[-1]
    if _QUALIFIER.search(sentence):
        return set()
    return {word.lower() for word in _SENTENCE.findall(sentence)}
