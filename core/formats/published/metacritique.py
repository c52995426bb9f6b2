"""MetaCritique's annotated critiques (Sun et al. 2024, Section 3; https://github.com/GAIR-NLP/MetaCritique).

`annotation_data.json` is one array of records: a question, the answer that is criticised, a reference answer and
critique, a critique by a person and two by models, each with its AIUs. Two annotators labelled each AIU and a third
decided if they differed; only the result was published, so it is imported as the label of one annotator.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from core.critiques import (
    Critique,
    aius_with_numbers,
    critique_targets,
    hypothesis_critiques,
    reference_critique,
)
from core.errors import FileFormatError
from core.formats.records import ItemRecord, LabelRecord, Records, ScaleRecord
from core.formats.text import read_head, read_text
from core.formats.validation_errors import to_file_refused
from core.items import Item, Response
from core.labels import TRUTH, Label

ANNOTATOR = "annotators (adjudicated)"
HUMAN = "human"
REFERENCE_MODEL = "gpt-4"
FIELDS = ("human_critique", "llm1_critique", "llm2_critique")
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]


class CritiqueEntry(BaseModel):
    """A critique with its AIUs."""

    critique: Text
    aius: list[Annotated[Text, Field(min_length=1)]]


class LabelledCritique(CritiqueEntry):
    """A hypothesis critique, with a label for each of its AIUs and for each of the reference critique's."""

    model: Text = HUMAN
    precision_labels: list[bool]
    recall_labels: list[bool]


class Entry(BaseModel):
    """One record. Its other fields (scores, indices into other files) are not needed."""

    shepherd_id: int
    dataset: Text
    question: Text
    response: Text
    gpt4_answer: Text
    gpt4_critique: CritiqueEntry
    human_critique: LabelledCritique
    llm1_critique: LabelledCritique
    llm2_critique: LabelledCritique

    def labelled_critiques(self) -> Mapping[str, LabelledCritique]:
        """Return the hypothesis critiques by their ids: "human", "llm1" and "llm2"."""
        return {field.partition("_")[0]: getattr(self, field) for field in FIELDS}


ENTRIES: TypeAdapter[list[Entry]] = TypeAdapter(list[Entry])


def recognises(path: Path) -> bool:
    """Whether it is a JSON array whose first record has a Shepherd id and a reference by GPT-4."""
    if not path.is_file() or path.suffix != ".json":
        return False
    head = read_head(path)
    return head.startswith("[") and '"shepherd_id"' in head and '"gpt4_' in head


def read(path: Path) -> Records:
    """Yield scales, items with four critiques each, and a label for every AIU.

    Raises FileFormatError with the field.
    """
    entries = _parse(read_text(path))
    yield ScaleRecord(kind="aiu_precision", scale=TRUTH)
    yield ScaleRecord(kind="aiu_recall", scale=TRUTH)
    for index, entry in enumerate(entries):
        _check_label_counts(entry, index)
        item = _item(entry)
        yield ItemRecord(item=item)
        yield from _labels(entry, item)


def _parse(text: str) -> list[Entry]:
    try:
        return ENTRIES.validate_python(json.loads(text))
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected one JSON array: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise FileFormatError("expected one JSON array, and it is nested too deeply") from None
    except ValidationError as error:
        raise to_file_refused(error) from None


def _check_label_counts(entry: Entry, index: int) -> None:
    """Raise FileFormatError unless every AIU has one label."""
    for field, critique in zip(FIELDS, entry.labelled_critiques().values(), strict=True):
        for labels, aius, source in (
            ("precision_labels", critique.aius, "the critique"),
            ("recall_labels", entry.gpt4_critique.aius, "the reference critique"),
        ):
            count = len(getattr(critique, labels))
            if count != len(aius):
                message = f"expected {len(aius)} labels, one for each AIU of {source}, and there are {count}"
                raise FileFormatError(message, field=f"{index}.{field}.{labels}")


def _item(entry: Entry) -> Item:
    reference = _critique("reference", REFERENCE_MODEL, entry.gpt4_critique, role="reference")
    return Item(
        id=f"{entry.dataset} {entry.shepherd_id}",
        prompt=entry.question,
        responses=(Response(text=entry.response),),
        reference=entry.gpt4_answer,
        scenario=entry.dataset,
        critiques=(*_hypothesis_critiques(entry), reference),
    )


def _hypothesis_critiques(entry: Entry) -> Iterator[Critique]:
    for id, critique in entry.labelled_critiques().items():
        yield _critique(id, critique.model, critique, source="people" if id == HUMAN else "llm")


def _critique(id: str, author: str, entry: CritiqueEntry, **fields: Any) -> Critique:
    return Critique(id=id, author=author, text=entry.critique, aius=aius_with_numbers(id, entry.aius), **fields)


def _labels(entry: Entry, item: Item) -> Records:
    reference = reference_critique(item.critiques)
    for critique in hypothesis_critiques(item.critiques):
        labelled = entry.labelled_critiques()[critique.id]
        targets = critique_targets(item.id, critique, reference)
        for target, value in zip(targets, labelled.precision_labels + labelled.recall_labels, strict=True):
            yield LabelRecord(label=Label(target=target, annotator=ANNOTATOR, value=value))
