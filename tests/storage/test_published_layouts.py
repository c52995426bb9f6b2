"""Small files in the layouts of published data sets are imported, and their figures are those computed by hand.

Tests of the published figures need the published files. These do not: every checkout has `tests/fixtures/published`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from core.errors import UnreadableReply
from core.formats.mapping.mapping import load_mappings
from core.formats.records import ItemRecord, Record
from core.formats.registry import read_records
from core.protocols.scaleeval.protocol import CHOICE
from storage.db import connections
from storage.reports import agreement, alignment, weights
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from tests.core.formats.shared import FIXTURES, MAPPINGS
from tests.databases import create_database
from tests.sessions import read

Import = Callable[[list[Record]], tuple[Engine, Study]]


def table(name: str, file: str) -> list[Record]:
    """Return the records of a table, read with the mapping of the documentation."""
    return list(read_records(FIXTURES / name / file, mapping=load_mappings(MAPPINGS / f"{name}.yaml")[0]))


def released(name: str) -> list[Record]:
    """Return the records of a release, whose format is recognised."""
    return list(read_records(FIXTURES / name))


@pytest.fixture
def import_records(tmp_path: Path) -> Iterator[Import]:
    """A function that imports records as a study; importing them again adds nothing."""
    engine = connections.connect(create_database(tmp_path / "tiebreak.db"))

    def run(records: list[Record]) -> tuple[Engine, Study]:
        imports.import_records(engine, "s", records)
        assert not any(vars(imports.import_records(engine, "s", records)).values())
        return engine, read(engine, studies.get, "s")

    yield run
    engine.dispose()


def agreement_values(engine: Engine, study: Study, statistic: str, by: Any = "all") -> dict[tuple[str, str], float]:
    """Return (criterion, group) -> value."""
    rows = agreement.rows(engine, study, by, resamples=0)
    return {(row.criterion, row.group): row.value for row in rows if row.statistic == statistic}


def test_pandalm_has_three_annotators_and_a_group_for_each_instruction(import_records: Import) -> None:
    records = table("pandalm", "testset.json")
    items = [record.item for record in records if isinstance(record, ItemRecord)]
    assert [item.id for item in items] == ["0", "1", "2", "3"]
    assert items[0].group == items[1].group and len({item.group for item in items}) == 3
    engine, study = import_records(records)
    fleiss = agreement_values(engine, study, "fleiss_kappa")
    assert fleiss == {("overall quality", "all"): pytest.approx(35 / 47)}
    pairs = agreement_values(engine, study, "cohen_kappa", "raters")
    assert pairs["overall quality", "annotator 1 × annotator 2"] == 1
    assert pairs["overall quality", "annotator 1 × annotator 3"] == pytest.approx(7 / 11)


def test_topical_chat_has_an_item_for_each_response_and_raters_by_position(import_records: Import) -> None:
    records = table("topical_chat", "ratings.json")
    items = [record.item for record in records if isinstance(record, ItemRecord)]
    assert [(item.id, item.group, item.responses[0].system) for item in items] == [
        (f"{row}-{number}", f"dialogue {row}", f"system {system}")
        for row in (1, 2)
        for number, system in ((1, "A"), (2, "B"))
    ]
    assert {item.reference for item in items if item.group == "dialogue 1"} == {items[0].responses[0].text}
    engine, study = import_records(records)
    alphas = agreement_values(engine, study, "krippendorff_alpha_ordinal", "criterion")
    assert alphas["Uses Knowledge", "all"] == pytest.approx(24 / 35)


def test_scaleeval_judges_agree_as_shown_and_in_the_order_of_the_items(import_records: Import) -> None:
    """Of four debates one has an opinion without a score; in the second one the submissions were swapped."""
    engine, study = import_records(released("scaleeval"))
    rows = agreement.rows(engine, study, "all", resamples=0)
    fleiss = {row.group: row for row in rows if (row.statistic, row.criterion) == ("fleiss_kappa", "helpfulness")}
    assert {group: pytest.approx(row.value) for group, row in fleiss.items()} == {
        "judges, first opinions": 0.0,
        "judges, last opinions": 10 / 28,
        "judges, first opinions, as shown": 4 / 40,
        "judges, last opinions, as shown": 22 / 40,
    }
    assert {(row.items, row.raters, row.pairs) for row in fleiss.values()} == {(3, 3, 9)}
    assert all("1 of 4 debates left out" in row.reason for row in fleiss.values())


def test_scaleeval_replies_read_as_their_recorded_scores() -> None:
    (file,) = FIXTURES.glob("scaleeval/results/*/*/multiagent_score/*.jsonl")
    debates = json.loads(file.read_text(encoding="utf-8"))
    speeches = [value for debate in debates for value in debate.values() if isinstance(value, dict)]
    assert len(speeches) == 24
    for speech in speeches:
        try:
            assert str(CHOICE.parse(speech["reasoning"]).value) == speech["score"]
        except UnreadableReply:
            assert speech["score"] is None


def test_chateval_verdicts_are_compared_with_the_majority_of_people(import_records: Import) -> None:
    engine, study = import_records(released("chateval"))
    rows = alignment.rows(engine, study, resamples=0)

    def figures(judge: str, criterion: str = "overall quality") -> dict[str, tuple[float | None, int]]:
        return {
            row.statistic: (row.value, row.items)
            for row in rows
            if (row.judge, row.criterion, row.group) == (judge, criterion, "all")
        }

    by_judge = {row.judge for row in rows}
    assert {"chateval · multi role two turns sequential direct", "chateval · single role test"} <= by_judge
    panel = figures("chateval · multi role two turns sequential direct")
    assert panel["accuracy_gold"] == (pytest.approx(2 / 3), 3)
    assert panel["accuracy_gold_no_verdict_as_tie"] == (pytest.approx(2 / 4), 4)
    assert panel["cohen_kappa_gold_no_verdict_as_tie"] == (pytest.approx(0.2), 4)
    assert panel["no_verdict_rate"][0] == pytest.approx(1 / 4)
    assert figures("chateval · single role test")["accuracy_gold"] == (1.0, 3)


def test_dna_weightings_have_distances_between_people_and_from_each_judge(import_records: Import) -> None:
    """The judge gpt4 gave one question equal weights, so its distance is undefined there."""
    engine, study = import_records(released("dna_eval/weightings/toys"))
    rows = {(row.rater_a, row.rater_b): row for row in weights.rows(engine, study, resamples=0)}
    as_zero = {pair: (row.distance_undefined_as_zero, row.undefined) for pair, row in rows.items()}
    assert as_zero["ann1", "ann2"] == (pytest.approx(0.75 / 3), 0)
    assert as_zero["gpt4", "ann1"] == (pytest.approx(1 / 3), 1)
    assert as_zero["mistral", "ann1"] == (pytest.approx(1.75 / 3), 0)
    assert rows["gpt4", "ann1"].distance.value == pytest.approx(1 / 2)
