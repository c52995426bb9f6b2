"""MetaCritique's files (Sun et al. 2024, Section 3; https://github.com/GAIR-NLP/MetaCritique).

    annotation_data.json            question, criticised answer, reference answer and critique, three labelled critiques
    benchmark_data.json             question, response, reference answer and critique with its AIUs
    hypothesis_critique*.json       one {"output": critique} for each record of the benchmark, in its order
    test_samples.json               a benchmark with one "hypothesis_critique" in each record

Of the annotated critiques one is by a person and two by models, each with its AIUs. Two annotators labelled each AIU
and a third decided if they differed; only the result was published, so it is imported as the label of one annotator.
The name of a file of hypothesis critiques is their author: `hypothesis_critique_autoj.json` has those of "autoj".

A folder can hold all of them: each question is one item with all of its critiques.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter

from core.critiques import Critique, aius_with_numbers, critique_targets, hypothesis_critiques, reference_critique
from core.errors import FileFormatError
from core.formats.records import ItemRecord, LabelRecord, Records, ScaleRecord
from core.formats.text import begins_like, load_json, read_head
from core.formats.validation_errors import validated
from core.items import Item, Response
from core.labels import TRUTH, Label

REFERENCE_MODEL = "gpt-4"
HYPOTHESIS = "hypothesis"
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Aius = list[Annotated[Text, Field(min_length=1)]]
_FILE_OF_HYPOTHESES = re.compile(r"(?P<before>.*?)[_\- ]*hyp(?:othesis)?_critiques?[_\- ]*(?P<after>.*)")
ANNOTATOR = "annotators (adjudicated)"
HUMAN = "human"
FIELDS = ("human_critique", "llm1_critique", "llm2_critique")


class CritiqueEntry(BaseModel):
    """A critique, with its AIUs if they were extracted."""

    critique: Text
    aius: Aius | None = None


class ExtractedCritique(CritiqueEntry):
    """A critique with its AIUs."""

    aius: Aius


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


# Bytes that contain the first record, whose fields tell annotations from a benchmark.
FIRST_RECORD = 64_000
ENTRIES: TypeAdapter[list[Entry]] = TypeAdapter(list[Entry])
BENCHMARK: TypeAdapter[list[BenchmarkEntry]] = TypeAdapter(list[BenchmarkEntry])
HYPOTHESES: TypeAdapter[list[HypothesisEntry]] = TypeAdapter(list[HypothesisEntry])


def recognises(path: Path) -> bool:
    """Return whether it is one of MetaCritique's files of items, or a folder with one."""
    return any(_is_annotated(file) or _is_benchmark(file) for file in _files(path))


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.glob("*.json") if file.is_file())


def _is_annotated(path: Path) -> bool:
    is_item = begins_like(path, "[", "shepherd_id", ("gpt4_answer", "gpt4_critique"))
    return is_item and begins_like(path, "[", "human_critique", length=FIRST_RECORD)


def _is_benchmark(path: Path) -> bool:
    critiques = ("gpt4_critique", "gpt4_answer", "reference_critique", "hypothesis_critique")
    return begins_like(path, "[", "question", "response", critiques)


def _is_hypotheses(path: Path) -> bool:
    is_named = path.suffix == ".json" and _FILE_OF_HYPOTHESES.fullmatch(path.stem)
    return bool(is_named and re.match(r'\[\s*\{\s*"output"', read_head(path)))


def read(path: Path) -> Records:
    """Yield scales, items with their critiques, and a label for every annotated AIU.

    Raises FileFormatError with the field.
    """
    files = _files(path)
    annotated = [file for file in files if _is_annotated(file)]
    if path.is_dir() and not recognises(path):
        raise FileFormatError(f"expected annotation_data.json or benchmark_data.json in {path.name}")
    if path.is_file() and not _is_benchmark(path):
        annotated = [path]
    entries = [entry for file in annotated for entry in _annotated_entries(file)]
    benchmarks = [
        [_benchmark_item(entry, position) for position, entry in enumerate(validated(BENCHMARK, load_json(file)))]
        for file in files
        if file not in annotated and _is_benchmark(file)
    ]
    yield ScaleRecord(kind="aiu_precision", scale=TRUTH)
    yield ScaleRecord(kind="aiu_recall", scale=TRUTH)
    labelled = [_item(entry) for entry in entries]
    order = max(benchmarks, key=len, default=labelled)
    added = [_with_hypotheses(order, file.name, _hypotheses(file)) for file in files if _is_hypotheses(file)]
    for item in _merge(labelled, *benchmarks, *added):
        yield ItemRecord(item=item)
    for entry, item in zip(entries, labelled, strict=True):
        yield from _labels(entry, item)


def _hypotheses(path: Path) -> list[Critique]:
    """Return the hypothesis critiques of a file, one for each record of the benchmark."""
    match = _FILE_OF_HYPOTHESES.fullmatch(path.stem)
    author = " ".join(filter(None, match.groups())) if match else ""
    entries = validated(HYPOTHESES, load_json(path))
    return [Critique(author=author or HYPOTHESIS, text=entry.output) for entry in entries]


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
    """Return the annotated records; raises FileFormatError unless every AIU has one label."""
    entries: list[Entry] = validated(ENTRIES, load_json(path))
    for index, entry in enumerate(entries):
        for field, critique in zip(FIELDS, entry.labelled_critiques().values(), strict=True):
            for labels, aius, source in (
                ("precision_labels", critique.aius, "the critique"),
                ("recall_labels", entry.gpt4_critique.aius, "the reference critique"),
            ):
                count = len(getattr(critique, labels))
                if count != len(aius):
                    message = f"expected {len(aius)} labels, one for each AIU of {source}, and there are {count}"
                    raise FileFormatError(message, field=f"{index}.{field}.{labels}")
    return entries


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


def _benchmark_item(entry: BenchmarkEntry, position: int) -> Item:
    number = next(number for number in (entry.shepherd_id, entry.index, position) if number is not None)
    critiques = []
    if entry.hypothesis_critique is not None:
        critiques.append(_critique(HYPOTHESIS, HYPOTHESIS, entry.hypothesis_critique))
    if entry.reference_critique is not None:
        critiques.append(_critique("reference", REFERENCE_MODEL, entry.reference_critique, role="reference"))
    return Item(
        id=f"{entry.dataset} {number}",
        prompt=entry.question,
        responses=(Response(text=entry.response),),
        reference=entry.reference_answer,
        scenario=entry.dataset,
        critiques=tuple(critiques),
    )


def _critique(id: str, author: str, entry: CritiqueEntry | str, **fields: Any) -> Critique:
    if isinstance(entry, str):
        return Critique(id=id, author=author, text=entry, **fields)
    aius = None if entry.aius is None else aius_with_numbers(id, entry.aius)
    return Critique(id=id, author=author, text=entry.critique, aius=aius, **fields)


def _labels(entry: Entry, item: Item) -> Records:
    reference = reference_critique(item.critiques)
    for critique in hypothesis_critiques(item.critiques):
        labelled = entry.labelled_critiques()[critique.id]
        targets = critique_targets(item.id, critique, reference)
        for target, value in zip(targets, labelled.precision_labels + labelled.recall_labels, strict=True):
            yield LabelRecord(label=Label(target=target, annotator=ANNOTATOR, value=value))
