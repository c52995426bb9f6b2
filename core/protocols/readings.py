"""What a reply says, or why nobody can tell: a reading returns a value or raises Unreadable with the reason.

Nothing is guessed. A digit that happens to stand somewhere in a reply is not a verdict (the released code of ScaleEval
took the last integer anywhere, and so read ratings of the rubric as choices).
"""

import re
import unicodedata
from collections.abc import Collection, Iterator

from core.problems import Unreadable

PREFERENCES = (1, 2, 0)
"""Response 1, response 2, neither."""

LONGEST = 2000
"""Letters of a line that are looked at, from its end: replies are untrusted, and may be one endless line."""

_DECORATION = " \t*_#>`~|\"'“”‘’«»()[]{}.,!:;"
_RULE = _DECORATION + "-–—="
_BULLET = re.compile(r"^[-–—•]\s+")
_NOUN = r"(?:submission|response|answer|option|choice)"
_NUMBER = r"([0-9]{1,4})"
_BARE = re.compile(rf"(?:{_NOUN}\s*)?{_NUMBER}", re.I)
_QUOTED = re.compile(r"[\"'“‘`*]\s*([0-9]{1,4})\s*[\"'”’`*.]")
_CLOSING = re.compile(r"\b(?:choice|chosen option|answer|evaluation|decision|verdict|vote):\s*([0-9]{1,4})\W*$", re.I)
_BETTER = re.compile(rf"\b{_NOUN}\s+{_NUMBER}[\"'”’*]*\s+is\s+(?:the\s+)?better\b", re.I)
_NEITHER = re.compile(rf"\bneither(?:\s+{_NOUN})?\s+is\s+(?:significantly\s+)?better\b|^\W*(?:neither|tie)\W*$", re.I)
_DOUBT = re.compile(
    r"\b(?:not|cannot|if|whether|although|though|but|however|unless|while|rat(?:e|ed|ing))\b|n['’]t\b", re.I
)
"""Words that turn a sentence around, or speak of the rubric's levels instead of a choice."""


def choice(reply: str, options: Collection[int] = PREFERENCES) -> int:
    """The option that stands alone on the last line (ScaleEval, Table 6), or that the last sentence names plainly.

    Accepted: `1`, `**2**`, `"0"`, `Submission 1`, `Submission 1 is better: "1"`, `Therefore, I choose "1".`
    Refused: no option, one that is not offered, two different ones, the menu of options repeated.
    """
    lines = _lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    if _is_menu(lines, options):
        raise Unreadable("it ends with the list of options instead of a choice")
    before = {name for line in lines[-2:-1] for name in _named(line)} & set(map(str, options))
    found = set(_named(lines[-1]))
    return _only(found | before if found else found, options)


def _only(found: set[str], options: Collection[int]) -> int:
    if not found:
        raise Unreadable(f"the last line is not one of {_listed(options)}")
    if len(found) > 1:
        raise Unreadable(f"it ends with both {' and '.join(sorted(found))}")
    value = int(found.pop())
    if value not in options:
        raise Unreadable(f"it ends with {value}, which is not one of {_listed(options)}")
    return value


def _lines(reply: str) -> list[str]:
    """Lines with something on them; a code fence or a rule is nothing."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip()[-LONGEST:] for line in text.splitlines() if line.strip(_RULE)]


def _bare(line: str) -> str | None:
    found = _BARE.fullmatch(_BULLET.sub("", line).strip(_DECORATION))
    return found[1] if found else None


def _named(line: str) -> Iterator[str]:
    """Each number that the line's last sentence gives as its choice; nothing when it is in doubt."""
    if bare := _bare(line):
        yield bare
        return
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)[-1]
    if _DOUBT.search(sentence):
        return
    for pattern in (_QUOTED, _CLOSING, _BETTER):
        yield from pattern.findall(sentence)
    if _NEITHER.search(sentence):
        yield "0"


def _is_menu(lines: list[str], options: Collection[int]) -> bool:
    """The last lines name every option once: the question was repeated, not answered."""
    ending = [set(_named(line)) for line in lines[-len(options) :]]
    return len(ending) > 1 and all(len(named) == 1 for named in ending) and set.union(*ending) == set(map(str, options))


def _listed(options: Collection[int]) -> str:
    *most, last = map(str, options)
    return f"{', '.join(most)} or {last}"
