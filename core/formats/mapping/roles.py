"""Guesses which columns of a table are verdicts of judges or gold, and what their values mean."""

import re
from collections.abc import Iterable, Mapping, Sequence

from core.formats.mapping.fields import key_of
from core.formats.mapping.guess import Draft
from core.formats.validation_errors import join_names, quote_value

MODEL = re.compile(r"gpt|claude|llama|mistral|mixtral|gemini|qwen|deepseek|judge|evaluator|llm", re.IGNORECASE)
"""How names of judges begin, or what names of judges in cells contain."""
MODEL_PART = re.compile(
    r"(?<![a-z])((chat)?gpt|llama|qwen|mistral|mixtral|deepseek|reward|(claude|gemini|judge|llm)s?(?![a-z]))",
    re.IGNORECASE,
)
"""A part of an annotator's name that names of models have and those of people rarely: not the "llm" of Hellman."""
GOLD = re.compile(r"gold|gold_label|gold_answer|adjudicated|ground_truth|human_majority|majority|final_label|expert")
PREFERENCES: Mapping[str, int] = {
    **dict.fromkeys(("1", "a", "first", "left", "model_1", "model_a", "response_1", "response_a", "answer_1"), 1),
    **dict.fromkeys(("2", "b", "second", "right", "model_2", "model_b", "response_2", "response_b", "answer_2"), 2),
    **dict.fromkeys(("a>b", "a>>b", "assistant_a", "answer_a", "output_1"), 1),
    **dict.fromkeys(("b>a", "b>>a", "a<b", "a<<b", "assistant_b", "answer_b", "output_2"), 2),
    **dict.fromkeys(("0", "tie", "equal", "same", "both", "draw", "neither", "a=b", "="), 0),
    **dict.fromkeys(("tied", "ties", "equally_good", "equally_bad", "no_preference", "no_difference"), 0),
    **dict.fromkeys(("tie_(bothbad)", "bothbad", "tie_(both_bad)", "both_bad", "both_good"), 0),
}
"""Usual words for a preference -> the response, or 0 for a tie."""
LETTERS = frozenset(("a", "b"))
TIES_BESIDE_LETTERS: Mapping[str, int] = {"t": 0}
"""What means a tie beside A or B only; C is left out, because it can be a third response or "cannot decide"."""
WITHOUT_DIRECTION = frozenset(("win", "won", "lose", "lost", "loss", "chosen", "rejected"))
"""Usual words for a preference that do not say of which response."""
SCALES = ((1, 3), (1, 5), (1, 7), (0, 10), (1, 10), (0, 100))
"""Usual scales; the first that contains all values is suggested."""
MAX_CATEGORIES = 11
EMPTY = ("n/a", "na", "nan", "none", "null", "-")
"""What is written in place of an empty cell."""
NO_VALUE = (*EMPTY, "error", "unknown", "refused")
"""Usual words for no value."""


def guess_block(cells: Iterable[str]) -> Draft | None:
    """Return kind, scale and values of a column's cells; None if they are neither preferences nor scores.

    0 and 1 alone can be a tie and the first response, the first and the second one, or scores: they are not guessed.
    Empty cells and words of EMPTY are no values. Fewer than half of the distinct values may be something else, such as
    ERROR: they are not among the values, and neither are `win` and `lose`, which do not name the response
    (`unread_values` finds them).
    """
    distinct = sorted(with_value(cells))
    if not distinct or distinct == ["0", "1"]:
        return None
    known = meanings(distinct)
    undirected = [text for text in distinct if text.lower() in WITHOUT_DIRECTION]
    if 2 * (len(known) + len(undirected)) > len(distinct):
        return {"kind": "preference", "values": {text: word for text, word in known.items() if text != str(word)}}
    numbers = [float(text.replace(",", ".")) for text in distinct if re.fullmatch(r"\d{1,3}([.,]\d+)?", text)]
    if 2 * len(numbers) <= len(distinct):
        return None
    low, high = next((ends for ends in SCALES if ends[0] <= min(numbers) and max(numbers) <= ends[1]), (None, None))
    if low is None or high is None:
        return None
    is_categorical = high - low < MAX_CATEGORIES and all(number.is_integer() for number in numbers)
    categories = {"level": "ordinal", "categories": list(range(low, high + 1))}
    return {"kind": "score", "scale": categories if is_categorical else {"level": "interval", "low": low, "high": high}}


def with_value(cells: Iterable[str]) -> set[str]:
    """Return the distinct cells that are neither empty nor a word of EMPTY, without blanks around them."""
    return {text for cell in cells if (text := cell.strip()) and text.lower() not in EMPTY}


def meanings(texts: Iterable[str]) -> dict[str, int]:
    """Return text -> the response, or 0 for a tie, of those texts that are usual words for a preference."""
    keys = {text: re.sub(r"[\s-]+", "_", text.strip().lower()) for text in texts}
    known = {**PREFERENCES, **(TIES_BESIDE_LETTERS if LETTERS & {*keys.values()} else {})}
    return {text: known[key] for text, key in keys.items() if key in known}


def guess_preferences(cells: Iterable[str]) -> dict[str, int]:
    """Return the meaning of the cells that are usual words for a preference, such as A, B and tie."""
    block = guess_block(cells) or {}
    return dict(block.get("values", {}))


def guess_roles(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> tuple[list[str], str | None]:
    """Return the columns that look like verdicts of judges, and the one that looks like gold."""
    readable = [column for column in columns if guess_block(row.get(column, "") for row in rows) is not None]
    judges = [column for column in readable if MODEL.match(key_of(column))]
    gold = next((column for column in readable if GOLD.fullmatch(column.lower())), None)
    return judges, gold


def warn_of_models(annotators: Iterable[str]) -> str:
    """Return a sentence on annotators with names of models, which may be judges; "" if there are none."""
    names = sorted(name for name in set(annotators) if MODEL_PART.search(name))
    if not names:
        return ""
    shown = join_names([quote_value(name) for name in names])
    if len(names) == 1:
        return f"1 annotator has the name of a model: {shown}; if it is no person, map its rows as a judge."
    return f"{len(names)} annotators have names of models: {shown}; if they are no people, map their rows as judges."
