"""Parses the files of ChatEval's release: questions with the human majority, and the final messages of discussions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from core.errors import FileFormatError
from core.formats.text import read_head, read_text
from core.formats.validation_errors import to_file_format_error

Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
SYSTEMS = ("gpt35", "vicuna")
"""The systems whose answers were compared, in the order of the file."""
HEAD_LENGTH = 65_536
"""Bytes read to recognise a file: its first record can contain a whole article."""


class Question(BaseModel):
    """A question, the answers of several systems, and which of two the majority of three annotators prefers."""

    question_id: int
    question: Text
    category: Text
    response: dict[str, Text]
    human_results: Literal["gpt35", "vicuna", "tie"]


class FinalMessage(BaseModel):
    """The final message of a persona; its role is empty if it was silent."""

    role: Text
    evaluation: Text


class Record(BaseModel):
    """One discussion, of two answers to a question or of one summary of an article."""

    question: Text = ""
    response: dict[str, Text] = Field(default_factory=dict)
    src: Text = ""
    outputs: Text = ""
    evaluation: list[FinalMessage] = Field(min_length=1)

    @property
    def messages(self) -> list[FinalMessage]:
        """The final messages, in the order of the personas."""
        return self.evaluation


QUESTIONS: TypeAdapter[list[Question]] = TypeAdapter(list[Question])
DISCUSSIONS: TypeAdapter[list[Record]] = TypeAdapter(list[Record])


def detect_kind(file: Path) -> str:
    """Return "questions", "pairs" (discussions of two answers), "nlg" (of one summary), or "" for anything else."""
    if file.suffix != ".json" or not file.is_file():
        return ""
    head = read_head(file, HEAD_LENGTH)
    if not head.startswith("["):
        return ""
    if '"question_id"' in head and '"human_results"' in head:
        return "questions"
    if '"evaluation"' in head and '"role"' in head:
        return "pairs" if '"response"' in head else "nlg" if '"outputs"' in head else ""
    return ""


def read_questions(file: Path) -> Iterator[Question]:
    """Yield the questions of a file; raises FileFormatError with the field."""
    for index, question in enumerate(_parse(file, QUESTIONS)):
        for name in SYSTEMS:
            if name not in question.response:
                raise FileFormatError(f"expected an answer of {name}", field=f"{index}.response")
        yield question


def read_discussions(file: Path) -> Iterator[Record]:
    """Yield the discussions of a file; raises FileFormatError with the field."""
    yield from _parse(file, DISCUSSIONS)


def _parse(file: Path, adapter: TypeAdapter[Any]) -> Any:
    try:
        records = json.loads(read_text(file))
        if isinstance(records, list) and len(records) == 1 and isinstance(records[0], list):
            records = records[0]  # the summaries' files have the array inside another
        return adapter.validate_python(records)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected one JSON array: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise FileFormatError("expected one JSON array, and it is nested too deeply") from None
    except ValidationError as error:
        raise to_file_format_error(error) from None
