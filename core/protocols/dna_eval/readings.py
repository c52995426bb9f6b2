"""What a reply says of aspects: a list of them, their weights, a row of scores; or why nobody can tell.

Nothing is guessed: a number that happens to stand in a sentence is not a weight, and one score too few is no score.
"""

import re
import unicodedata
from collections.abc import Sequence

from core.aspects import normalised
from core.problems import Unreadable

_RULE = " \t*_#`|-–—=~"
_DECORATION = " \t*_`\"'“”‘’"
_NUMBERED = re.compile(r"(?:(?:aspect|question)\s*)?\(?(\d{1,2})\s*[.):\]]\s*(\S.*)", re.I)
_BULLET = re.compile(r"^[-–—•*]\s+(\S.*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_BETWEEN = re.compile(r"[\s,;|/%$\[\]()'\"“”‘’*_`]*")
"""What may stand around the weights in a row of them; "$" is the key beside "%", and people do hit it."""
_AFTER = re.compile(r"^(?:.*?\S)\s*[:=–—-]\s*\(?([\d.]+)\s*%?\)?\W*$")
_SCORE = r"(\d+(?:\.\d+)?)(?:\s*/\s*(\d+(?:\.\d+)?))?"
_NAMED = re.compile(rf"(?:response|assistant|answer|r)\s*(\d+)\W*?[:=]\W*?{_SCORE}", re.I)


def aspects(reply: str, count: int) -> tuple[str, ...]:
    """The aspects of a numbered list (`1. ...`, `(1) ...`, `Aspect 1: ...`), a bulleted one, or one a line."""
    lines = _lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    plain = [line.strip(_DECORATION) for line in lines]
    numbered = [found[2] for line in plain if (found := _NUMBERED.fullmatch(line))]
    bulleted = [found[1] for line in lines if (found := _BULLET.match(line))]
    told = [line.strip(_DECORATION) for line in numbered or bulleted or plain]
    if len(told) != count:
        raise Unreadable(f"it names {len(told)} aspects, not {count}")
    if len({line.casefold() for line in told}) < count:
        raise Unreadable("it names the same aspect twice")
    return tuple(told)


def weights(reply: str, names: Sequence[str]) -> dict[str, float]:
    """Weights in percent that sum to 100, from one line with as many numbers as there are aspects, in their order.

    Also read: one line for each aspect that ends with its weight, in the order of the aspects. What does not sum to
    100 is brought to it; the reply keeps what was said.
    """
    lines = _lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    raw = row(lines[-1]) if len(lines) == 1 or len(row(lines[-1]) or ()) == len(names) else _by_line(lines)
    if not raw:
        raise Unreadable(f"there is no line with nothing but {len(names)} weights")
    if len(raw) != len(names):
        raise Unreadable(f"it gives {len(raw)} weights for {len(names)} aspects")
    try:
        return dict(zip(names, normalised(raw), strict=True))
    except ValueError as trouble:
        raise Unreadable(str(trouble)) from None


def row(line: str) -> tuple[float, ...] | None:
    """The numbers of a line that holds nothing else: `40% 30% 20% 10%`, `['40%', '60%']`; None for any other line."""
    text = unicodedata.normalize("NFKC", line)
    if any(not _BETWEEN.fullmatch(rest) for rest in _NUMBER.split(text)):
        return None
    return tuple(float(number) for number in _NUMBER.findall(text)) or None


def scores(reply: str, count: int, lowest: float, highest: float) -> tuple[float, ...]:
    """One score for each response: a last line with nothing but them, or `Response 1: 8` and so on, in order."""
    lines = _lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    found = _scored(lines[-1], count) or _scored(" ; ".join(lines[-count:]), count)
    if not found:
        raise Unreadable(f"the last line is not {count} scores")
    values = tuple(float(value) for value, _ in found)
    for value, out_of in found:
        if not lowest <= float(value) <= highest or (out_of and float(out_of) != highest):
            shown = f"{value}/{out_of}" if out_of else value
            raise Unreadable(f"{shown} is not a score from {lowest:g} to {highest:g}")
    return values


def _scored(text: str, count: int) -> list[tuple[str, str]] | None:
    """(score, out of what) of each response, where the text is nothing but that."""
    text = text.strip(_DECORATION + ".,;")
    named = _NAMED.findall(text)
    if [int(number) for number, _, _ in named] == list(range(1, count + 1)):
        return [(value, out_of) for _, value, out_of in named]
    plain = re.fullmatch(rf"[(\[]?{_SCORE}(?:[\s,;|]+{_SCORE}){{{count - 1}}}[)\]]?", text)
    return re.findall(_SCORE, text) if plain else None


def _by_line(lines: Sequence[str]) -> tuple[float, ...]:
    """`Accuracy: 40%` on each line; empty where a line is something else."""
    found = [_AFTER.match(line) for line in lines]
    return tuple(float(one[1]) for one in found if one) if all(found) else ()


def _lines(reply: str) -> list[str]:
    """Lines with something on them; a code fence or a rule is nothing."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip() for line in text.splitlines() if line.strip(_RULE)]
