"""The files of ChatEval's release as they are: questions with people's majority, and the last words of talks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from core.formats.text import first, whole
from core.formats.validation_errors import refused
from core.problems import FileRefused

Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]


class Question(BaseModel):
    """A question, the answers of several systems, and which of two the majority of three people prefers."""

    question_id: int
    question: Text
    category: Text
    response: dict[str, Text]
    human_results: Literal["gpt35", "vicuna", "tie"]


class Spoken(BaseModel):
    """The last words of a persona; its role is empty where it kept silent."""

    role: Text
    evaluation: Text


class Record(BaseModel):
    """One talk: on two answers to a question, or on one summary of an article."""

    question: Text = ""
    response: dict[str, Text] = Field(default_factory=dict)
    src: Text = ""
    outputs: Text = ""
    evaluation: list[Spoken] = Field(min_length=1)

    @property
    def spoken(self) -> list[Spoken]:
        """What was said, in order."""
        return self.evaluation


QUESTIONS: TypeAdapter[list[Question]] = TypeAdapter(list[Question])
TALKS: TypeAdapter[list[Record]] = TypeAdapter(list[Record])


def kind_of(file: Path) -> str:
    """ "questions", "pairs" (talks on two answers), "nlg" (on one summary), or "" for anything else."""
    if file.suffix != ".json" or not file.is_file():
        return ""
    head = first(file, 65_536)
    if not head.startswith("["):
        return ""
    if '"question_id"' in head and '"human_results"' in head:
        return "questions"
    if '"evaluation"' in head and '"role"' in head:
        return "pairs" if '"response"' in head else "nlg" if '"outputs"' in head else ""
    return ""


def questions(file: Path) -> Iterator[Question]:
    """The questions of a file; raises FileRefused with the field."""
    for place, one in enumerate(_checked(file, QUESTIONS)):
        for name in ("gpt35", "vicuna"):
            if name not in one.response:
                raise FileRefused(f"expected an answer of {name}", field=f"{place}.response")
        yield one


def talks(file: Path) -> Iterator[Record]:
    """The talks of a file; raises FileRefused with the field."""
    yield from _checked(file, TALKS)


def _checked(file: Path, adapter: TypeAdapter[Any]) -> Any:
    try:
        told = json.loads(whole(file))
        if isinstance(told, list) and len(told) == 1 and isinstance(told[0], list):
            told = told[0]
        return adapter.validate_python(told)
    except json.JSONDecodeError as error:
        raise FileRefused(f"expected one JSON array: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise FileRefused("expected one JSON array, not lists in lists without end") from None
    except ValidationError as error:
        raise refused(error) from None
