"""MetaCritique's annotations (Sun et al. 2024, Section 3; https://github.com/GAIR-NLP/MetaCritique).

    annotation_data.json            question, criticised answer, reference answer and critique, three labelled critiques

Of the annotated critiques one is by a person and two by models, each with its AIUs. Two annotators labelled each AIU
and a third decided if they differed; only the result was published, so it is imported as the label of one annotator.
The benchmark without labels is a table: docs/mappings/metacritique_benchmark.yaml.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter

from core.critiques import Critique, aius_with_numbers, critique_targets, hypothesis_critiques, reference_critique
from core.errors import FileFormatError
from core.formats.records import ItemRecord, LabelRecord, Records, ScaleRecord
from core.formats.text import begins_like, load_json
from core.formats.validation_errors import validated
from core.items import Item, Response
from core.labels import TRUTH, Label

REFERENCE_MODEL = "gpt-4"
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
ANNOTATOR = "annotators (adjudicated)"
HUMAN = "human"
FIELDS = ("human_critique", "llm1_critique", "llm2_critique")


class ExtractedCritique(BaseModel):
    """A critique with its AIUs."""

    critique: Text
    aius: list[Annotated[Text, Field(min_length=1)]]


class LabelledCritique(ExtractedCritique):
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
    gpt4_critique: ExtractedCritique
    human_critique: LabelledCritique
    llm1_critique: LabelledCritique
    llm2_critique: LabelledCritique

    def labelled_critiques(self) -> Mapping[str, LabelledCritique]:
        """Return the hypothesis critiques by their ids: "human", "llm1" and "llm2"."""
        return {field.partition("_")[0]: getattr(self, field) for field in FIELDS}


# Bytes that contain the first record, whose fields tell annotations from a benchmark.
FIRST_RECORD = 64_000
ENTRIES: TypeAdapter[list[Entry]] = TypeAdapter(list[Entry])


def recognises(path: Path) -> bool:
    """Return whether it is MetaCritique's file of annotations."""
    return (
        path.is_file()
        and begins_like(path, "[", "shepherd_id", ("gpt4_answer", "gpt4_critique"))
        and begins_like(path, "[", "human_critique", length=FIRST_RECORD)
    )


def read(path: Path) -> Records:
    """Yield scales, items with their critiques, and a label for every annotated AIU.

    Raises FileFormatError with the field.
    """
    entries: list[Entry] = validated(ENTRIES, load_json(path))
    for index, entry in enumerate(entries):
        _check_labels(entry, index)
    yield ScaleRecord(kind="aiu_precision", scale=TRUTH)
    yield ScaleRecord(kind="aiu_recall", scale=TRUTH)
    items = list(map(_item, entries))
    for item in items:
        yield ItemRecord(item=item)
    for entry, item in zip(entries, items, strict=True):
        yield from _labels(entry, item)


def _check_labels(entry: Entry, index: int) -> None:
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
    critiques = [
        _critique(id, own.model, own, source="people" if id == HUMAN else "llm")
        for id, own in entry.labelled_critiques().items()
    ]
    return Item(
        id=f"{entry.dataset} {entry.shepherd_id}",
        prompt=entry.question,
        responses=(Response(text=entry.response),),
        reference=entry.gpt4_answer,
        scenario=entry.dataset,
        critiques=(*critiques, _critique("reference", REFERENCE_MODEL, entry.gpt4_critique, role="reference")),
    )


def _critique(id: str, author: str, entry: ExtractedCritique, **fields: Any) -> Critique:
    return Critique(id=id, author=author, text=entry.critique, aius=aius_with_numbers(id, entry.aius), **fields)


def _labels(entry: Entry, item: Item) -> Records:
    reference = reference_critique(item.critiques)
    for critique in hypothesis_critiques(item.critiques):
        labelled = entry.labelled_critiques()[critique.id]
        targets = critique_targets(item.id, critique, reference)
        for target, value in zip(targets, labelled.precision_labels + labelled.recall_labels, strict=True):
            yield LabelRecord(label=Label(target=target, annotator=ANNOTATOR, value=value))
