"""The base of all answer types: a frozen declaration with an instruction, a schema, a second request and a parser.

Also the type without a form (a reference answer, a critique, a summary), and a reply as other judges receive it.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Generic, Literal, TypeVar

from core.answers.text import Text, documents, without_reasoning
from core.answers.words import readable
from core.errors import UnreadableReply

Format = Literal["text", "json"]
"""The requested format of an answer; `parse` accepts both."""

T = TypeVar("T")

RULES = ("json", "marked", "labelled", "line", "sentence", "named", "row", "list", "text")
"""The parsers' rules; "text" takes the whole reply."""
REASONING = "reasoning"
"""The first field of a structured answer: reasoning still precedes the verdict."""
CLOSING = "Explain your reasoning first. Then end with one line, and write nothing after it: "
CLOSING_ALONE = "Reply with one line and nothing else: "
_REASONING = {"type": "string", "description": "Your reasoning, before the answer."}


@dataclass(frozen=True)
class Reading(Generic[T]):
    """The value of a reply, and its position in the text."""

    value: T
    rule: str
    """The rule that matched, one of `RULES`."""
    span: tuple[int, int]
    """The characters of the reply that the value rests on: `reply[start:end]`."""


@dataclass(frozen=True, kw_only=True)
class Answer(ABC, Generic[T]):
    """The declaration of an answer type."""

    reasoning: bool = True
    """Whether the judge is asked for its reasoning before the answer."""
    key: ClassVar[str]
    """The field of the structured answer that holds the value."""
    structured: ClassVar[bool] = True
    """Whether it is requested as JSON if the model accepts a schema."""
    rules: ClassVar[tuple[str, ...]] = RULES
    """The rules by which a reply can be read."""

    def instruction(self, format: Format = "text") -> str:
        """Return the closing instruction of a prompt."""
        return self._json_instruction() if format == "json" else self._text_instruction()

    def retry(self, reason: str, format: Format = "text") -> str:
        """Return the second request, after a reply that could not be read: the reason, and the form once more."""
        return f"Your reply could not be read: {reason.rstrip('.')}. Please answer again. {self.instruction(format)}"

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a structured answer, within the limits of providers' strict modes."""
        properties = {REASONING: _REASONING} if self.reasoning else {}
        return {
            "type": "object",
            "properties": {**properties, self.key: self._field()},
            "required": [*properties, self.key],
            "additionalProperties": False,
        }

    def render(self, value: T, format: Format = "text", reasoning: str = "") -> str:
        """Return a well-formed reply that states `value`."""
        if format == "json":
            fields = {REASONING: reasoning} if self.reasoning else {}
            return json.dumps({**fields, self.key: self._encoded(value)}, ensure_ascii=False)
        return f"{reasoning}\n\n{self._written(value)}" if reasoning else self._written(value)

    @abstractmethod
    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[T]:
        """Return the value that the reply states; raises UnreadableReply with the reason.

        `shown` are the texts of others that the judge was shown: what the reply only repeats from them is no answer.
        """

    @abstractmethod
    def ends(self) -> tuple[T, T]:
        """Return a value with one of the shortest replies, and one with one of the longest, which differs if it can."""

    @abstractmethod
    def _text_instruction(self) -> str: ...

    @abstractmethod
    def _written(self, value: T) -> str:
        """Return the value as the text instruction asks for it."""

    @abstractmethod
    def _field(self) -> Mapping[str, Any]:
        """Return the schema of the value."""

    def _encoded(self, value: T) -> Any:
        """Return the value as the schema has it."""
        return value

    @property
    def _closing(self) -> str:
        return CLOSING if self.reasoning else CLOSING_ALONE

    def _json_instruction(self) -> str:
        field = f'"{REASONING}": "...", ' if self.reasoning else ""
        order = f'Put your reasoning in "{REASONING}" first. ' if self.reasoning else ""
        return (
            f'Reply with one JSON object and nothing else: {{{field}"{self.key}": {self._shape()}}}. '
            f'{order}"{self.key}" is {self._described()}.'
        )

    def _shape(self) -> str:
        """Return the JSON of a value with "..." in place of the judge's choice: an example would be an anchor."""
        return '"..."' if self._field()["type"] == "string" else "..."

    @abstractmethod
    def _described(self) -> str:
        """Return the possible values in words, such as "one of 1, 2 or 3"."""


def listed(values: tuple[Any, ...], last: str = "or") -> str:
    """Read `1, 2 or 3`."""
    *most, final = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return f"{', '.join(most)} {last} {final}" if most else final


@lru_cache(maxsize=512)  # in a discussion each statement is quoted to every other judge in every later round
def spoken_text(reply: str) -> str:
    """Return the reply without reasoning between tags; of a structured answer, its reasoning and then its fields.

    `{"reasoning": "It is clearer.", "answer": "Response 1"}` becomes `It is clearer.` and `Answer: Response 1`.
    """
    text = without_reasoning(reply).strip()
    fields = _whole_object(text)
    if fields is None:
        return text
    reasoning = str(fields.get(REASONING) or "").strip()
    labels = {name: str(name).replace("_", " ").capitalize() for name in fields if name != REASONING}
    lines = [f"{label}: {_text(fields[name])}" for name, label in labels.items()]
    return "\n\n".join(filter(None, [reasoning, "\n".join(lines)]))


def _whole_object(text: str) -> Mapping[Any, Any] | None:
    """Return the JSON object that is all of a text, apart from a fence around it."""
    whole = text.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    objects = documents(whole) if whole.startswith("{") else []
    value = objects[0].value if len(objects) == 1 and objects[0].end == len(whole) else None
    return value if isinstance(value, Mapping) else None


def _text(value: Any) -> str:
    match value:
        case Mapping():
            return "; ".join(f"{name}: {_text(inner)}" for name, inner in value.items())
        case list():
            return "; ".join(map(_text, value))
        case bool():
            return str(value).lower()
    return str(value)


LONGEST_REFUSAL = 400
"""Characters: a longer text that begins with "I cannot help" has content nevertheless."""
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
    rules: ClassVar[tuple[str, ...]] = ("text",)

    def ends(self) -> tuple[str, str]:
        return "One sentence is enough.", ("It says what there is to say. " * 12).strip()

    def parse(self, reply: str, shown: Sequence[str] = ()) -> Reading[str]:
        Text(reply)  # raises UnreadableReply if nothing but reasoning is there
        value = without_reasoning(reply).strip()
        fields = _whole_object(value) or {}
        if list(fields) == [self.key] and isinstance(fields[self.key], str):
            value = fields[self.key].strip()
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

    def _described(self) -> str:
        return f"the {self.noun}"
