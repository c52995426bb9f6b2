"""The base of all answer types: a frozen declaration with an instruction, a schema, a second request and a parser."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from core.answers.words import WORDS, Words

Format = Literal["text", "json"]
"""The requested format of an answer; `parse` accepts both."""

T = TypeVar("T")

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
    """The rule that matched: "json", "marked", "labelled", "line", "sentence", "named", "row" or "list"."""
    span: tuple[int, int]
    """The characters of the reply that the value rests on: `reply[start:end]`."""


@dataclass(frozen=True, kw_only=True)
class Answer(ABC, Generic[T]):
    """The declaration of an answer type. `words` is the table of words that the parser knows."""

    words: Words = field(default=WORDS, repr=False)
    reasoning: bool = True
    """Whether the judge is asked for its reasoning before the answer."""
    key: ClassVar[str]
    """The field of the structured answer that holds the value."""
    structured: ClassVar[bool] = True
    """Whether it is requested as JSON if the model accepts a schema."""

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
    def shortest(self) -> T:
        """Return a value whose reply is among the shortest."""

    @abstractmethod
    def longest(self) -> T:
        """Return a value whose reply is among the longest; it differs from `shortest()` if two values are possible."""

    @abstractmethod
    def _text_instruction(self) -> str: ...

    @abstractmethod
    def _written(self, value: T) -> str:
        """Return the value as the text instruction asks for it."""

    @abstractmethod
    def _field(self) -> Mapping[str, Any]:
        """Return the schema of the value."""

    @abstractmethod
    def _encoded(self, value: T) -> Any:
        """Return the value as the schema has it."""

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
        return "..."

    @abstractmethod
    def _described(self) -> str:
        """Return the possible values in words, such as "one of 1, 2 or 3"."""


def listed(values: tuple[Any, ...], last: str = "or") -> str:
    """Read `1, 2 or 3`."""
    *most, final = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return f"{', '.join(most)} {last} {final}" if most else final
