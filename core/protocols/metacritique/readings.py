"""What a reply of MetaCritique's asks says, or why nobody can tell; nothing is guessed.

The released code of MetaCritique counts a reply that it cannot read as false. Here such a reply is no judgement.
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
_DOUBT = re.compile(
    r"\b(?:not|cannot|if|whether|neither|nor|either|unless|part(?:ly|ially)|most(?:ly)?|may|might|could|perhaps|"
    r"probably|possibly|unclear|unknown|undetermined)\b|n['’]t\b",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:[-–—•*+]|\(?[0-9]{1,3}[.):]|\(?[a-z][.)])\s+")
_HEADING = re.compile(r"(?:(?:here|these|below)\b.*|claims?|aius?|output|list(?: of claims)?|the claims\b.*):", re.I)
_NONE = re.compile(r"\W*(?:none|no claims?|\(none\))\W*", re.I)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BRACKETS = re.compile(r"\[\[\s*([^\[\]]{0,40}?)\s*\]\]")
_CHOICES = {"A": 1, "B": 2, "C": 0}


def truth(reply: str) -> bool:
    """Whether the claim is true, by the last sentence (Tables 10 and 11: "Therefore, the claim is true").

    Accepted: `Therefore, the claim is false.`, `True`, `**Verdict: true**`.
    Refused: no verdict at the end, both words, a verdict in doubt ("the claim is not true", "partially true").
    """
    lines = _lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    found = _said(lines[-1])
    if not found:
        raise Unreadable("the last sentence does not say that the claim is true, or that it is false")
    before = _said(lines[-2]) if len(lines) > 1 else set()
    if len(found | before) > 1:
        raise Unreadable("it ends with both true and false")
    return found == {"true"}


def claims(reply: str) -> str:
    """The AIUs of a critique, one a line, without numbers or bullets (Table 9); empty where it says "none"."""
    lines = [_BULLET.sub("", line).strip() for line in _lines(reply) if not _FENCE.match(line)]
    if not lines:
        raise Unreadable("the reply is empty")
    if len(lines) == 1 and _NONE.fullmatch(lines[0]):
        return ""
    kept = [line for place, line in enumerate(lines) if line and not (place == 0 and _HEADING.fullmatch(line))]
    if not kept:
        raise Unreadable("it announces claims and lists none")
    return "\n".join(kept)


def words(reply: str) -> str:
    """A text that was asked for: a reference answer, a critique, a refined answer."""
    if not reply.strip():
        raise Unreadable("the reply is empty")
    return reply.strip()


def rating(reply: str, low: int = 1, high: int = 7) -> int:
    """The whole number in double brackets (Table 16: "[[score]]")."""
    found = _bracketed(reply)
    if not found.isascii() or not found.isdecimal():
        raise Unreadable(f"“[[{found}]]” is not a whole number")
    if not low <= int(found) <= high:
        raise Unreadable(f"it rates {int(found)}, which is not from {low} to {high}")
    return int(found)


def letter(reply: str) -> int:
    """Which of two is better (Tables 15 and 18): [[A]] is 1, [[B]] is 2, [[C]] is a tie, 0."""
    found = _bracketed(reply).upper()
    if found not in _CHOICES:
        raise Unreadable(f"“[[{found}]]” is not one of [[A]], [[B]] or [[C]]")
    return _CHOICES[found]


def _bracketed(reply: str) -> str:
    """What stands in double brackets, once or always the same."""
    found: list[str] = list(dict.fromkeys(_BRACKETS.findall(unicodedata.normalize("NFKC", reply))))
    if not found:
        raise Unreadable("there is nothing in double brackets")
    if len(found) > 1:
        raise Unreadable(f"it gives both [[{found[0]}]] and [[{found[1]}]]")
    return found[0]


def _lines(reply: str) -> list[str]:
    """Lines with something on them."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip() for line in text.splitlines() if line.strip(_DECORATION + "-–—=")]


def _said(line: str) -> set[str]:
    """What the line's last sentence concludes; nothing when it is in doubt."""
    if bare := _BARE.fullmatch(line.strip(_DECORATION)):
        return {bare[1].lower()}
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z*\"“])", line)[-1]
    if _DOUBT.search(sentence):
        return set()
    return {word.lower() for word in _SENTENCE.findall(sentence)}
