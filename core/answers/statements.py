"""A reply as other judges receive it: without reasoning between tags, and with structured output as text."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from core.answers.answer import REASONING
from core.answers.structured import documents
from core.answers.text import without_reasoning


@lru_cache(maxsize=512)  # in a discussion each statement is quoted to every other judge in every later round
def spoken_text(reply: str) -> str:
    """Return the reply without reasoning between tags; of a structured answer, its reasoning and then its fields.

    `{"reasoning": "It is clearer.", "answer": "Response 1"}` becomes `It is clearer.` and `Answer: Response 1`.
    """
    text = without_reasoning(reply).strip()
    whole = text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    objects = documents(whole) if whole.startswith("{") else []
    if len(objects) != 1 or objects[0].end != len(whole) or not isinstance(objects[0].value, Mapping):
        return text
    return _written(objects[0].value)


def _written(fields: Mapping[Any, Any]) -> str:
    reasoning = str(fields.get(REASONING) or "").strip()
    lines = [f"{_label(name)}: {_text(value)}" for name, value in fields.items() if name != REASONING]
    return "\n\n".join(filter(None, [reasoning, "\n".join(lines)]))


def _label(name: Any) -> str:
    return str(name).replace("_", " ").capitalize()


def _text(value: Any) -> str:
    match value:
        case Mapping():
            return "; ".join(f"{name}: {_text(inner)}" for name, inner in value.items())
        case list():
            return "; ".join(map(_text, value))
        case bool():
            return str(value).lower()
    return str(value)
