"""MetaCritique's benchmark (https://github.com/GAIR-NLP/MetaCritique): items to criticise, and critiques to evaluate.

    benchmark_data.json             question, response, reference answer and critique with its AIUs
    hypothesis_critique*.json       one {"output": critique} for each record of the benchmark, in its order
    test_samples.json               a benchmark with one "hypothesis_critique" in each record

The name of a file of hypothesis critiques is their author: `hypothesis_critique_autoj.json` has those of "autoj".
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter, ValidationError

from core.critiques import Critique, aius_with_numbers
from core.errors import FileFormatError
from core.formats.text import read_head, read_text
from core.formats.validation_errors import to_file_format_error
from core.items import Item, Response

REFERENCE_MODEL = "gpt-4"
HYPOTHESIS = "hypothesis"
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
_FILE_OF_HYPOTHESES = re.compile(r"(?P<before>.*?)[_\- ]*hyp(?:othesis)?_critiques?[_\- ]*(?P<after>.*)")


class CritiqueEntry(BaseModel):
    """A critique, with its AIUs if they were extracted."""

    critique: Text
    aius: list[Annotated[Text, Field(min_length=1)]] | None = None


class BenchmarkEntry(BaseModel):
    """One record. Its other fields are not needed."""

    shepherd_id: int | None = None
    index: int | None = None
    dataset: Text = "benchmark"
    question: Text
    response: Text
    reference_answer: Text | None = Field(None, validation_alias=AliasChoices("gpt4_answer", "reference_answer"))
    reference_critique: CritiqueEntry | Text | None = Field(
        None, validation_alias=AliasChoices("gpt4_critique", "reference_critique")
    )
    hypothesis_critique: CritiqueEntry | Text | None = None


class HypothesisEntry(BaseModel):
    """A critique that is to be evaluated."""

    output: Text


ENTRIES: TypeAdapter[list[BenchmarkEntry]] = TypeAdapter(list[BenchmarkEntry])
HYPOTHESES: TypeAdapter[list[HypothesisEntry]] = TypeAdapter(list[HypothesisEntry])


def is_benchmark(path: Path) -> bool:
    """Return whether it is a JSON array of questions with responses and reference or hypothesis critiques."""
    if path.suffix != ".json":
        return False
    head = read_head(path)
    names = ('"gpt4_critique"', '"gpt4_answer"', '"reference_critique"', '"hypothesis_critique"')
    return head.startswith("[") and '"question"' in head and '"response"' in head and any(n in head for n in names)


def is_hypotheses(path: Path) -> bool:
    """Return whether it is a JSON array of `{"output": critique}` with a name like `hypothesis_critique.json`."""
    if path.suffix != ".json" or not _FILE_OF_HYPOTHESES.fullmatch(path.stem):
        return False
    return bool(re.match(r'\[\s*\{\s*"output"', read_head(path)))


def read_items(path: Path) -> list[Item]:
    """Return the items of a benchmark; raises FileFormatError with the field."""
    return [_item(entry, position) for position, entry in enumerate(parse_array(path, ENTRIES))]


def read_hypotheses(path: Path) -> list[Critique]:
    """Return the hypothesis critiques of a file, one for each record of the benchmark."""
    match = _FILE_OF_HYPOTHESES.fullmatch(path.stem)
    author = " ".join(filter(None, match.groups())) if match else ""
    return [Critique(author=author or HYPOTHESIS, text=entry.output) for entry in parse_array(path, HYPOTHESES)]


def parse_array(path: Path, entries: TypeAdapter[list[Any]]) -> list[Any]:
    """Return the records of a file that is one JSON array."""
    try:
        return entries.validate_python(json.loads(read_text(path)))
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected one JSON array: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise FileFormatError("expected one JSON array, and it is nested too deeply") from None
    except ValidationError as error:
        raise to_file_format_error(error) from None


def _item(entry: BenchmarkEntry, position: int) -> Item:
    number = next(number for number in (entry.shepherd_id, entry.index, position) if number is not None)
    critiques = [
        _critique(HYPOTHESIS, HYPOTHESIS, entry.hypothesis_critique),
        _critique("reference", REFERENCE_MODEL, entry.reference_critique, role="reference"),
    ]
    return Item(
        id=f"{entry.dataset} {number}",
        prompt=entry.question,
        responses=(Response(text=entry.response),),
        reference=entry.reference_answer,
        scenario=entry.dataset,
        critiques=tuple(critique for critique in critiques if critique is not None),
    )


def _critique(id: str, author: str, entry: CritiqueEntry | str | None, **fields: Any) -> Critique | None:
    if entry is None:
        return None
    if isinstance(entry, str):
        entry = CritiqueEntry(critique=entry)
    aius = None if entry.aius is None else aius_with_numbers(id, entry.aius)
    return Critique(id=id, author=author, text=entry.critique, aius=aius, **fields)
