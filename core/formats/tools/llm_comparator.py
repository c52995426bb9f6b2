"""LLM Comparator's JSON (https://github.com/PAIR-code/llm-comparator): pairs of responses with a judge's scores.

A positive score is a preference for response A, a negative one for B, and 0 a tie. The mean score of an example is the
verdict; the individual ratings behind it are turns of the same judge. Ratings of both signs that cancel each other out
are no verdict.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from core.errors import FileFormatError
from core.formats.mapping.judges import CHANGED_WITH_ORDER, JudgeReader
from core.formats.records import ItemRecord, Records
from core.formats.text import begins_like, load_json
from core.formats.validation_errors import validated
from core.items import Item, Response
from core.labels import Opinion
from core.trace import Turn

JUDGE = "LLM Comparator"


class Rating(BaseModel):
    """One rating of the judge. `score` is in the order of the responses, also if they were shown in the other one."""

    score: float | None = None
    rating_label: str | None = None
    is_flipped: bool | None = None
    rationale: str | None = None


class Example(BaseModel):
    """One pair."""

    input_text: str
    output_text_a: str
    output_text_b: str
    tags: list[Any] = []
    score: float | None = None
    individual_rater_scores: list[Rating] = []
    index: int | None = None


class System(BaseModel):
    """One of the two systems."""

    name: str


class Comparison(BaseModel):
    """A whole file."""

    models: list[System] = []
    examples: list[Example]


def recognises(path: Path) -> bool:
    """Return whether it is a JSON object with the examples of a comparison."""
    return begins_like(path, "{", "output_text_a", "input_text", length=64_000)


def read(path: Path) -> Records:
    """Yield the items, and the judge's recorded run; raises FileFormatError with the field."""
    comparison = validated(Comparison, load_json(path))
    names = [system.name for system in comparison.models] or ["A", "B"]
    if len(names) != 2:
        raise FileFormatError(f"expected two models, not {len(names)}", field="models")
    with closing(JudgeReader((), {})) as judges:
        for number, example in enumerate(comparison.examples, 1):
            texts = (example.output_text_a, example.output_text_b)
            item = Item(
                id=f"example {number if example.index is None else example.index}",
                prompt=example.input_text,
                responses=tuple(Response(text=text, system=name) for text, name in zip(texts, names, strict=True)),
                scenario=next((str(tag) for tag in example.tags), None),
            )
            yield ItemRecord(item=item)
            if example.score is not None or example.individual_rater_scores:
                judges.add(JUDGE, item.id, _opinion(example), _turns(example), 1)
        yield from judges.runs()


def _opinion(example: Example) -> Opinion:
    scores = [rating.score for rating in example.individual_rater_scores if rating.score is not None]
    score = example.score if example.score is not None or not scores else sum(scores) / len(scores)
    value = _preference(score)
    problem = "" if value is not None else "the file has no score"
    if value == 0 and len({_preference(score) for score in scores}) > 1:
        value, problem = None, CHANGED_WITH_ORDER
    return Opinion(kind="preference", judge=JUDGE, stage="verdict", value=value, problem=problem)


def _preference(score: float | None) -> int | None:
    return None if score is None else 0 if score == 0 else 1 if score > 0 else 2


def _turns(example: Example) -> list[Turn]:
    return [
        Turn(
            speaker=JUDGE,
            step="choice",
            round=0,
            model="",
            reply="\n".join(filter(None, (rating.rating_label, rating.rationale))) or str(rating.score),
            reading=_preference(rating.score),
            problem="" if rating.score is not None else "the file has no score",
            shown=(2, 1) if rating.is_flipped else (1, 2),
        )
        for rating in example.individual_rater_scores or [Rating(score=example.score)]
    ]
