"""MetaCritique's published annotations: items with critiques, and labels of their AIUs."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import load_mappings
from core.formats.published.metacritique import ANNOTATOR
from core.formats.records import ScaleRecord
from core.formats.registry import read_records
from core.labels import TRUTH
from tests.core.formats.shared import (
    FIXTURES,
    MAPPINGS,
    items_of,
    labels_of,
    of_kind,
    public_file,
    write_content,
    write_json,
)

ENTRY: dict[str, Any] = json.loads((FIXTURES / "metacritique" / "annotation_data.json").read_text("utf-8"))[0]
ENTRY["llm2_critique"] |= {"critique": "", "aius": [], "precision_labels": [], "recall_labels": [False, False]}
"""A record of our own, in which one critique is empty."""


def write_file(folder: Path, *entries: object) -> Path:
    return write_json(folder / "annotation_data.json", list(entries or [ENTRY]))


def change_entry(**fields: Any) -> dict[str, Any]:
    entry = copy.deepcopy(ENTRY)
    for name, value in fields.items():
        inner, _, last = name.rpartition("__")
        (entry[inner] if inner else entry)[last] = value
    return entry


def test_an_item_has_references_and_three_hypothesis_critiques(tmp_path: Path) -> None:
    (item,) = items_of(list(read_records(write_file(tmp_path))))
    assert (item.id, item.scenario, item.reference) == ("toys 100", "toys", "The ball.")
    assert [(c.id, c.author, c.source, c.role) for c in item.critiques] == [
        ("human", "human", "people", "hypothesis"),
        ("llm1", "model-a", "llm", "hypothesis"),
        ("llm2", "model-b", "llm", "hypothesis"),
        ("reference", "gpt-4", "llm", "reference"),
    ]
    assert [aiu.id for aiu in item.critiques[1].aius or ()] == ["llm1.1", "llm1.2"]


def test_every_aiu_has_a_label_and_those_of_the_reference_one_per_critique(tmp_path: Path) -> None:
    records = list(read_records(write_file(tmp_path)))
    assert {(label.target.kind, label.target.part): label.value for label in labels_of(records)} == {
        ("aiu_precision", "human.1"): True,
        ("aiu_precision", "llm1.1"): False,
        ("aiu_precision", "llm1.2"): False,
        ("aiu_recall", "reference.1@human"): True,
        ("aiu_recall", "reference.2@human"): False,
        ("aiu_recall", "reference.1@llm1"): False,
        ("aiu_recall", "reference.2@llm1"): False,
        ("aiu_recall", "reference.1@llm2"): False,
        ("aiu_recall", "reference.2@llm2"): False,
    }
    assert {label.annotator for label in labels_of(records)} == {ANNOTATOR}
    scales = [(record.kind, record.scale) for record in of_kind(records, ScaleRecord)]
    assert scales == [("aiu_precision", TRUTH), ("aiu_recall", TRUTH)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"llm1_critique__precision_labels": [True]},
            "field '0.llm1_critique.precision_labels': expected 2 labels, one for each AIU of the critique, and there "
            "are 1",
        ),
        (
            {"human_critique__recall_labels": [True]},
            "field '0.human_critique.recall_labels': expected 2 labels, one for each AIU of the reference critique, "
            "and there are 1",
        ),
        (
            {"human_critique__recall_labels": [True, "perhaps"]},
            "field '0.human_critique.recall_labels.1': expected true or false",
        ),
        ({"gpt4_answer": None}, "field '0.gpt4_answer': expected text"),
        ({"question": "\ud800"}, "field '0.question': expected text without half of a surrogate pair"),
    ],
)
def test_an_invalid_record_is_refused_with_its_field(tmp_path: Path, fields: dict, message: str) -> None:
    with pytest.raises(FileFormatError) as refusal:
        list(read_records(write_file(tmp_path, change_entry(**fields)), "metacritique"))
    assert str(refusal.value) == message


@pytest.mark.parametrize("text", ["{}", "[", "[1]", "[" * 100_000, '[{"shepherd_id": 1}]'])
def test_an_invalid_file_is_refused(tmp_path: Path, text: str) -> None:
    path = write_content(tmp_path / "annotation_data.json", text)
    with pytest.raises(FileFormatError):
        list(read_records(path, "metacritique"))


def test_the_published_file_has_2653_aius() -> None:
    records = list(read_records(public_file("metacritique/annotation_data.json")))
    critiques = [critique for item in items_of(records) for critique in item.critiques]
    assert (len(items_of(records)), sum(len(critique.aius or ()) for critique in critiques)) == (100, 2653)
    assert len(labels_of(records)) == 331 + 702 + 1620 + 1404


BENCHMARK = {
    name: ENTRY[name] for name in ("shepherd_id", "dataset", "question", "response", "gpt4_answer", "gpt4_critique")
}
OTHER = BENCHMARK | {"shepherd_id": 8, "question": "Which is flat?"}


def test_a_benchmark_is_read_with_a_mapping_and_a_file_of_critiques_in_the_same_order(tmp_path: Path) -> None:
    path = write_json(tmp_path / "benchmark_data.json", [BENCHMARK, OTHER])
    write_json(tmp_path / "hypothesis_critique.json", [{"output": "No."}, {"output": "Yes."}])
    mapping = load_mappings(MAPPINGS / "metacritique_benchmark.yaml")[0]
    items = {item.id: item for item in items_of(list(read_records(path, mapping=mapping)))}
    assert list(items) == ["toys 100", "toys 8"] and items["toys 100"].reference == "The ball."
    hypothesis, reference = items["toys 8"].critiques
    assert (hypothesis.author, hypothesis.text, hypothesis.aius) == ("hypothesis", "Yes.", None)
    assert reference.role == "reference" and len(reference.aius or ()) == 2
