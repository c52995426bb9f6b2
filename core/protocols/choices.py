"""The choice between two responses: the reader of a reply's last line, its grammar, and its description.

The reader returns a value or raises Unreadable with the reason; nothing is guessed. A digit somewhere in a reply is not
a verdict: the released code of ScaleEval used the last integer anywhere, and so read ratings of the rubric as choices.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator

from core.labels import Value
from core.problems import Unreadable

PREFERENCES = (1, 2, 0)
"""Response 1, response 2, neither."""

MAX_LINE_LENGTH = 2000
"""Characters of a line that are parsed, counted from its end: replies are untrusted and may be one endless line."""

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
_QUALIFIER = re.compile(
    r"\b(?:not|cannot|if|whether|although|though|but|however|unless|while|rat(?:e|ed|ing))\b|n['’]t\b", re.I
)
"""Words that negate or qualify a sentence, or that refer to the rubric's levels instead of a choice."""


def read_choice(reply: str, options: Collection[int] = PREFERENCES) -> int:
    """Return the option alone on the last line (ScaleEval, Table 6), or the one that the last sentence names.

    Accepted: `1`, `**2**`, `"0"`, `Submission 1`, `Submission 1 is better: "1"`, `Therefore, I choose "1".`
    Refused with Unreadable: no option, one that is not offered, two different ones, the list of options repeated.
    """
    lines = _content_lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    if _repeats_options(lines, options):
        raise Unreadable("it ends with the list of options instead of a choice")
    # The line before the last is read too: a reply that says "Submission 1 is better" and then "2" contradicts itself.
    previous = {name for line in lines[-2:-1] for name in _named_options(line)} & set(map(str, options))
    last = set(_named_options(lines[-1]))
    return _single_option(last | previous if last else last, options)


def in_item_order(shown: tuple[int, ...]) -> Callable[[int], int]:
    """Return a function from the place of a response to its number in the item; 0 is neither."""
    return lambda place: (0, *shown)[place]


def describe_choice(value: Value) -> str:
    """Return `response 1`, `response 2` or `neither`."""
    return "neither" if value == 0 else f"response {value}"


def _single_option(named: set[str], options: Collection[int]) -> int:
    if not named:
        raise Unreadable(f"the last line is not one of {_join_options(options)}")
    if len(named) > 1:
        raise Unreadable(f"it ends with both {' and '.join(sorted(named))}")
    value = int(named.pop())
    if value not in options:
        raise Unreadable(f"it ends with {value}, which is not one of {_join_options(options)}")
    return value


def _content_lines(reply: str) -> list[str]:
    """Return the lines with content, without code fences and rules."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip()[-MAX_LINE_LENGTH:] for line in text.splitlines() if line.strip(_RULE)]


def _bare_option(line: str) -> str | None:
    match = _BARE.fullmatch(_BULLET.sub("", line).strip(_DECORATION))
    return match[1] if match else None


def _named_options(line: str) -> Iterator[str]:
    """Yield each number that the line's last sentence gives as a choice; none where the sentence is qualified."""
    if bare := _bare_option(line):
        yield bare
        return
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)[-1]
    if _QUALIFIER.search(sentence):
        return
    for pattern in (_QUOTED, _CLOSING, _BETTER):
        yield from pattern.findall(sentence)
    if _NEITHER.search(sentence):
        yield "0"


def _repeats_options(lines: list[str], options: Collection[int]) -> bool:
    """Return whether the last lines name every option once: the question was repeated, not answered."""
    ending = [set(_named_options(line)) for line in lines[-len(options) :]]
    return len(ending) > 1 and all(len(named) == 1 for named in ending) and set.union(*ending) == set(map(str, options))


def _join_options(options: Collection[int]) -> str:
    *most, last = map(str, options)
    return f"{', '.join(most)} or {last}"
