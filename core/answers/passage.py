"""A text without a form: a reference answer, a critique, a summary."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from core.answers.answer import Answer, Reading
from core.answers.text import Text, without_reasoning
from core.answers.words import readable
from core.errors import UnreadableReply

LONGEST_REFUSAL = 400
"""Characters: a longer text that begins with "I cannot help" has content nevertheless."""
_FENCE = re.compile(r"^```(?:json)?\s*|\s*```$")
_OPENED = re.compile(r"(?:```(?:json)?\s*)?\{\s*\"text\"\s*:\s*\"", re.I)
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am) (?:very |so )?sorry\W+(?:but )?|sorry\W+(?:but )?|unfortunately\W+|as an ai[^.,]{0,40}, )?"
    r"i (?:can['’]?t|cannot|can not|won['’]t|will not|am (?:unable|not able) to|must decline)\b"
    r"(?:\W+(?:assist|help|comply|provide|answer|fulfil|do that|write|create|generate|judge|evaluate|criti[cq]|to)"
    r"|\W*$)",
    re.I,
)


@dataclass(frozen=True)
class Passage(Answer[str]):
    """A text that the prompt calls `noun`. It is requested as text even if a model accepts a schema."""

    noun: str = "text"
    reasoning: bool = False

    key = "text"
    structured: ClassVar[bool] = False

    def shortest(self) -> str:
        return "One sentence is enough."

    def longest(self) -> str:
        return ("It says what there is to say. " * 12).strip()

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[str]:
        Text(reply, self.words)  # raises UnreadableReply if nothing but reasoning is there
        value = _unwrapped(without_reasoning(reply).strip(), self.key)
        if len(value) <= LONGEST_REFUSAL and _REFUSAL.match(readable(value)):
            raise UnreadableReply("it declines to answer")
        if _OPENED.match(value):
            raise UnreadableReply("its JSON is incomplete")
        start = reply.rfind(value)
        return Reading(value, "text", (start, start + len(value)) if start >= 0 else (0, len(reply)))

    def _text_instruction(self) -> str:
        return f"Write only the {self.noun}, without an introduction or a closing remark."

    def _written(self, value: str) -> str:
        return value

    def _field(self) -> dict[str, Any]:
        return {"type": "string", "description": f"The {self.noun}."}

    def _encoded(self, value: str) -> str:
        return value

    def _shape(self) -> str:
        return '"..."'

    def _described(self) -> str:
        return f"the {self.noun}"


def _unwrapped(text: str, key: str) -> str:
    """Return the text of a reply that is a JSON object with this one field; any other text unchanged."""
    bare = _FENCE.sub("", text) if text.endswith("}") or text.endswith("```") else ""
    if not bare.startswith("{"):
        return text
    try:
        value = json.loads(bare, strict=False)
    except (ValueError, RecursionError):
        return text
    only = isinstance(value, dict) and list(value) == [key] and isinstance(value[key], str)
    return value[key].strip() if only else text
