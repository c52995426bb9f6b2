"""PandaLM and Topical-Chat are imported with a mapping, and their published agreement is reproduced.

The statistics are computed by reference implementations from the labels that the mappings yield.
"""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from core.formats.mapping.mapping import load_mapping
from core.formats.records import ItemRecord, LabelRecord, Record
from core.formats.registry import read_records
from tests.core.formats.shared import MAPPINGS, public_file


def imported(name: str, file: str) -> list[Record]:
    return list(read_records(public_file(file), mapping=load_mapping(MAPPINGS / f"{name}.yaml")))


def matrix(records: list[Record], criterion: str) -> np.ndarray:
    """Return annotators x items, NaN if there is no label."""
    labels = [r.label for r in records if isinstance(r, LabelRecord) and r.label.target.criterion == criterion]
    raters = {name: n for n, name in enumerate(sorted({label.annotator for label in labels}))}
    columns = {item: n for n, item in enumerate(dict.fromkeys(label.target.item for label in labels))}
    values = np.full((len(raters), len(columns)), np.nan)
    for label in labels:
        values[raters[label.annotator], columns[label.target.item]] = label.value
    return values


def test_pandalm_has_its_published_agreement() -> None:
    records = imported("pandalm", "pandalm/testset-v1.json")
    assert Counter(record.type for record in records)["item"] == 999
    labels = matrix(records, "overall quality").astype(int)
    kappas = [cohen_kappa_score(labels[a], labels[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert kappas == pytest.approx([0.8520, 0.8789, 0.8617], abs=5e-5)
    counts = np.stack([(labels == value).sum(axis=0) for value in (0, 1, 2)], axis=1)
    assert fleiss_kappa(counts) == pytest.approx(0.8642, abs=5e-5)
    majority = Counter(int(counts[n].argmax()) for n in range(999) if counts[n].max() > 1)
    assert majority == {0: 105, 1: 422, 2: 472}


def test_pandalm_groups_the_pairs_of_one_instruction() -> None:
    records = imported("pandalm", "pandalm/testset-v1.json")
    assert len({record.item.group for record in records if isinstance(record, ItemRecord)}) == 170


def test_topical_chat_groups_the_responses_of_one_dialogue() -> None:
    records = imported("topical_chat", "topical_chat/usr_topical_chat.json")
    groups = Counter(record.item.group for record in records if isinstance(record, ItemRecord))
    assert set(groups.values()) == {6} and len(groups) == 60
