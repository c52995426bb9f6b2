"""MetaCritique's annotated critiques (Sun et al. 2024, Section 3; https://github.com/GAIR-NLP/MetaCritique).

`annotation_data.json` is one array of records: a question, the answer that is criticised, a reference answer and
critique, a critique by a person and two by models, each with its AIUs. Two annotators labelled each AIU and a third
decided if they differed; only the result was published, so it is imported as the label of one annotator.

A folder can hold it together with the benchmark and files of hypothesis critiques (see `metacritique_benchmark`): each
question is one item with all of its critiques.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter

from core.critiques import (
    Critique,
    aius_with_numbers,
    critique_targets,
    hypothesis_critiques,
    reference_critique,
)
from core.errors import FileFormatError
from core.formats.published import metacritique_benchmark as benchmark
from core.formats.published.metacritique_benchmark import REFERENCE_MODEL, Text
from core.formats.records import ItemRecord, LabelRecord, Records, ScaleRecord
from core.formats.text import read_head
from core.items import Item, Response
from core.labels import TRUTH, Label

ANNOTATOR = "annotators (adjudicated)"
HUMAN = "human"
FIELDS = ("human_critique", "llm1_critique", "llm2_critique")


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


FIRST_RECORD = 64_000
"""Bytes that contain the first record, whose fields tell annotations from a benchmark."""
ENTRIES: TypeAdapter[list[Entry]] = TypeAdapter(list[Entry])


def recognises(path: Path) -> bool:
    """Return whether it is one of MetaCritique's files of items, or a folder with one."""
    return any(_is_annotated(file) or benchmark.is_benchmark(file) for file in _files(path))


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.glob("*.json") if file.is_file())


def _is_annotated(path: Path) -> bool:
    if path.suffix != ".json":
        return False
    head = read_head(path)
    is_item = head.startswith("[") and '"shepherd_id"' in head and '"gpt4_' in head
    return is_item and '"human_critique"' in read_head(path, FIRST_RECORD)


def read(path: Path) -> Records:
    """Yield scales, items with their critiques, and a label for every annotated AIU.

    Raises FileFormatError with the field.
    """
    files = _files(path)
    annotated = [file for file in files if _is_annotated(file)]
    if path.is_dir() and not recognises(path):
        raise FileFormatError(f"expected annotation_data.json or benchmark_data.json in {path.name}")
    if path.is_file() and not benchmark.is_benchmark(path):
        annotated = [path]
    entries = [entry for file in annotated for entry in _annotated_entries(file)]
    benchmarks = [benchmark.read_items(f) for f in files if f not in annotated and benchmark.is_benchmark(f)]
    hypotheses = {file.name: benchmark.read_hypotheses(file) for file in files if benchmark.is_hypotheses(file)}
    yield ScaleRecord(kind="aiu_precision", scale=TRUTH)
    yield ScaleRecord(kind="aiu_recall", scale=TRUTH)
    labelled = [_item(entry) for entry in entries]
    order = max(benchmarks, key=len, default=labelled)
    added = [_with_hypotheses(order, name, critiques) for name, critiques in hypotheses.items()]
    for item in _merge(labelled, *benchmarks, *added):
        yield ItemRecord(item=item)
    for entry, item in zip(entries, labelled, strict=True):
        yield from _labels(entry, item)


def _with_hypotheses(items: Sequence[Item], name: str, critiques: Sequence[Critique]) -> list[Item]:
    """Return the items with the critiques of a file, which has one for each item in the same order."""
    if len(critiques) != len(items):
        message = f"{name}: expected {len(items)} critiques, one for each record of the benchmark next to it"
        raise FileFormatError(f"{message}, and there are {len(critiques)}")
    pairs = zip(items, critiques, strict=True)
    return [item.model_copy(update={"critiques": (critique,)}) for item, critique in pairs]


def _merge(*files: Sequence[Item]) -> list[Item]:
    """Return each item once, with the critiques of all files; of equal ids the first counts."""
    merged: dict[str, Item] = {}
    for item in (item for file in files for item in file):
        known = merged.setdefault(item.id, item)
        ids = {critique.id for critique in known.critiques}
        new = tuple(critique for critique in item.critiques if critique.id not in ids)
        if (known.prompt, known.responses) != (item.prompt, item.responses):
            raise FileFormatError(f"the files have different questions or responses for {item.id!r}")
        if new:
            reference = reference_critique(known.critiques)
            others = tuple(critique for critique in known.critiques if critique is not reference)
            critiques = (*others, *new, *([reference] if reference else []))
            merged[item.id] = known.model_copy(update={"critiques": critiques})
    return list(merged.values())


def _annotated_entries(path: Path) -> list[Entry]:
    entries: list[Entry] = benchmark.parse_array(path, ENTRIES)
    for index, entry in enumerate(entries):
        _check_label_counts(entry, index)
    return entries


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
