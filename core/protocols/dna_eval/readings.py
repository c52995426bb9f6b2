"""Readers of aspects, of their weights and of a row of scores, and the grammars of such replies.

Readers raise Unreadable with the reason. Nothing is guessed: a number inside a sentence is not a weight, and a row with
a missing score is not read. The grammars are llama.cpp's GBNF, for the local model alone.
"""

import re
import unicodedata
from collections.abc import Sequence

from core.aspects import normalize_weights
from core.problems import Unreadable

_RULE = " \t*_#`|-–—=~"
_DECORATION = " \t*_`\"'“”‘’"
_NUMBERED = re.compile(r"(?:(?:aspect|question)\s*)?\(?(\d{1,2})\s*[.):\]]\s*(\S.*)", re.I)
_BULLET = re.compile(r"^[-–—•*]\s+(\S.*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_BETWEEN = re.compile(r"[\s,;|/%$\[\]()'\"“”‘’*_`]*")
"""What may stand between the weights of a row; "$" is next to "%" on a keyboard, and annotators type it by mistake."""
_AFTER = re.compile(r"^(?:.*?\S)\s*[:=–—-]\s*\(?([\d.]+)\s*%?\)?\W*$")
_SCORE = r"(\d+(?:\.\d+)?)(?:\s*/\s*(\d+(?:\.\d+)?))?"
_NAMED = re.compile(rf"(?:response|assistant|answer|r)\s*(\d+)\W*?[:=]\W*?{_SCORE}", re.I)
_REASONS = r'[^\n]{40,400} "\n\n" '


def read_aspects(reply: str, count: int) -> tuple[str, ...]:
    """Return the aspects of a numbered list (`1. ...`, `(1) ...`, `Aspect 1: ...`), a bulleted one, or one a line."""
    lines = _content_lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    plain = [line.strip(_DECORATION) for line in lines]
    numbered = [match[2] for line in plain if (match := _NUMBERED.fullmatch(line))]
    bulleted = [match[1] for line in lines if (match := _BULLET.match(line))]
    aspects = [line.strip(_DECORATION) for line in numbered or bulleted or plain]
    if len(aspects) != count:
        raise Unreadable(f"it names {len(aspects)} aspects, not {count}")
    if len({aspect.casefold() for aspect in aspects}) < count:
        raise Unreadable("it names the same aspect twice")
    return tuple(aspects)


def read_weights(reply: str, names: Sequence[str]) -> dict[str, float]:
    """Return weights in percent that sum to 100, from one line with one number for each aspect, in their order.

    Also accepted: one line for each aspect that ends with its weight, in the order of the aspects. Weights with another
    sum are normalised to 100.
    """
    lines = _content_lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    last_row = read_number_row(lines[-1])
    raw = last_row if len(lines) == 1 or len(last_row or ()) == len(names) else _weights_by_line(lines)
    if not raw:
        raise Unreadable(f"there is no line with nothing but {len(names)} weights")
    if len(raw) != len(names):
        raise Unreadable(f"it gives {len(raw)} weights for {len(names)} aspects")
    try:
        return dict(zip(names, normalize_weights(raw), strict=True))
    except ValueError as error:
        raise Unreadable(str(error)) from None


def read_number_row(line: str) -> tuple[float, ...] | None:
    """Return the numbers of a line with nothing else: `40% 30% 20% 10%`, `['40%', '60%']`; None for any other line."""
    text = unicodedata.normalize("NFKC", line)
    if any(not _BETWEEN.fullmatch(rest) for rest in _NUMBER.split(text)):
        return None
    return tuple(float(number) for number in _NUMBER.findall(text)) or None


def read_scores(reply: str, count: int, lowest: float, highest: float) -> tuple[float, ...]:
    """Return one score for each response: a last line with nothing else, or `Response 1: 8` and so on, in order."""
    lines = _content_lines(reply)
    if not lines:
        raise Unreadable("the reply is empty")
    scores = _match_scores(lines[-1], count) or _match_scores(" ; ".join(lines[-count:]), count)
    if not scores:
        raise Unreadable(f"the last line is not {count} scores")
    for value, maximum in scores:
        if not lowest <= float(value) <= highest or (maximum and float(maximum) != highest):
            text = f"{value}/{maximum}" if maximum else value
            raise Unreadable(f"{text} is not a score from {lowest:g} to {highest:g}")
    return tuple(float(value) for value, _ in scores)


def aspects_grammar(count: int) -> str:
    """Return the grammar of a numbered list of `count` lines."""
    lines = " ".join(f'"{"" if n == 1 else chr(92) + "n"}{n}. " line' for n in range(1, count + 1))
    return f"root ::= {lines}\nline ::= [A-Z] [a-z ,]{{10,80}} [?]"


def weights_grammar(count: int) -> str:
    """Return the grammar of `count` percentages on one line."""
    return f"root ::= {_repeat('weight', count)}\nweight ::= [1-9] [0-9]? [%]"


def scores_grammar(count: int, lowest: int, highest: int, *, reasons: bool = False) -> str:
    """Return the grammar of `count` scores on one line, with `reasons` after an explanation."""
    values = " | ".join(f'"{value}"' for value in range(lowest, highest + 1))
    return f"root ::= {_REASONS if reasons else ''}{_repeat('score', count)}\nscore ::= {values}"


def _match_scores(text: str, count: int) -> list[tuple[str, str]] | None:
    """Return (score, maximum or "") of each response, where the text is nothing but scores."""
    text = text.strip(_DECORATION + ".,;")
    named = _NAMED.findall(text)
    if [int(number) for number, _, _ in named] == list(range(1, count + 1)):
        return [(value, maximum) for _, value, maximum in named]
    plain = re.fullmatch(rf"[(\[]?{_SCORE}(?:[\s,;|]+{_SCORE}){{{count - 1}}}[)\]]?", text)
    return re.findall(_SCORE, text) if plain else None


def _weights_by_line(lines: Sequence[str]) -> tuple[float, ...]:
    """Return the numbers of lines such as `Accuracy: 40%`; empty where a line is something else."""
    matches = [_AFTER.match(line) for line in lines]
    return tuple(float(match[1]) for match in matches if match) if all(matches) else ()


def _content_lines(reply: str) -> list[str]:
    """Return the lines with content, without code fences and rules."""
    text = unicodedata.normalize("NFKC", reply)
    return [line.strip() for line in text.splitlines() if line.strip(_RULE)]


def _repeat(symbol: str, count: int) -> str:
    return ' " " '.join([symbol] * count)
