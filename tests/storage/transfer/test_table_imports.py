"""The import of a table stores exactly what its golden file has, whatever makes it faster or smaller."""

import csv
import random
from pathlib import Path

import pytest

from core.errors import TiebreakError
from core.formats.mapping.mapping import build_mapping
from core.formats.registry import read_for_import, read_records
from storage.db.connections import reading
from storage.studies import studies
from storage.transfer import _spool, imports
from tests.golden.files import assert_golden
from tests.storage.transfer.test_imports import export

WIDE = {
    "id": "id",
    "prompt": "question",
    "responses": [{"text": "left", "system": "left_system"}, {"text": "right", "name": "B"}],
    "scenario": "topic",
    "group": "topic",
    "context": "context",
    "labels": [
        {
            "layout": "wide",
            "kind": "preference",
            "criterion": "helpfulness",
            "annotators": {"ann": "ann", "bob": "Bob"},
            "values": {"0": 0, "1": 1, "2": 2, "-": None},
        },
        {
            "layout": "wide",
            "kind": "score",
            "criterion": "clarity",
            "scale": {"level": "interval", "low": 0, "high": 10},
            "annotators": {"clarity": "ann"},
        },
    ],
    "judges": [
        {"kind": "preference", "criterion": "helpfulness", "columns": {"j1": "judge 1"}, "values": {"-": None}},
        {
            "kind": "preference",
            "criterion": "helpfulness",
            "columns": {"j1": "first", "j2": "second"},
            "values": {"-": None},
            "run": "panel",
            "stage": "last",
        },
    ],
}
LONG = {
    "id": "topic",
    "prompt": "topic",
    "responses": [{"text": "topic"}],
    "labels": [
        {
            "layout": "long",
            "kind": "score",
            "criterion_field": "left_system",
            "scale": {"level": "interval", "low": 0, "high": 10},
            "annotator": "annotator {repeat}",
            "value": "clarity",
            "reason": "right",
            "seconds": "j1_seconds",
        }
    ],
    "judges": [
        {
            "kind": "score",
            "criterion": "clarity",
            "scale": {"level": "interval", "low": 0, "high": 10},
            "judge": "judge {repeat}",
            "value": "clarity",
        }
    ],
}
JUDGED = {
    "id": "id",
    "prompt": "question",
    "responses": [{"text": "left"}, {"text": "right"}],
    "labels": [{"layout": "wide", "kind": "preference", "criterion": "clarity", "annotators": {"ann": "ann"}}],
    "judges": [
        {"kind": "preference", "criterion": "clarity", "columns": ["j1", "j2"], "reason": "why", "values": {"-": None}},
        {"kind": "preference", "criterion": "tone", "columns": {"j2": "j1"}, "values": {"-": None}, "cost": "cost"},
        {
            "kind": "score",
            "criterion": "style",
            "scale": {"level": "ordinal", "categories": [1, 2, 3, 4, 5]},
            "columns": {"stars": "grader"},
            "reason": "why",
        },
        *(
            {
                "kind": "preference",
                "criterion": "clarity",
                "columns": {column: judge},
                "values": {"-": None},
                "run": "panel",
                "stage": stage,
                "reason": "why",
            }
            for column, judge, stage in (("j1", "p1", "first"), ("j2", "p2", "first"), ("j2", "p1", "last"))
        ),
        {
            "kind": "preference",
            "criterion": "clarity",
            "judge": "judge",
            "value": "j1",
            "model": "model",
            "values": {"-": None},
            "order": "order",
            "as_shown": True,
            "swapped": "j2",
            "run": "both orders",
        },
        {
            "kind": "preference",
            "criterion_field": "model",
            "judge": "judge",
            "ranking": {"ranks": ["rank_1", "rank_2"]},
            "run": "ranked",
        },
    ],
    "weights": [{"judge": {"constant": "weigher"}, "aspects": {"tone": "rank_1", "length": "stars"}}],
}
JUDGED_ROWS = [
    {
        "id": f"pair {number}",
        "question": f"Which one, {number}?",
        "left": "yes",
        "right": "no",
        "ann": "012"[number % 3],
        "j1": "12-0"[number % 4],
        "j2": ["1", "2", "", "-", "0"][number % 5],
        "stars": "" if number % 7 == 6 else 1 + number % 5,
        "why": f"Because “{number}” is, \n shorter." * (number % 3),
        "cost": "" if number % 2 else 0.25,
        "judge": f"judge {number % 3}",
        "model": f"model {number % 2}",
        "order": "12" if number % 3 else "21",
        "rank_1": 1 + number % 2,
        "rank_2": 2,
    }
    for number in range(30)
]


def write_judged_table(path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(JUDGED_ROWS[0]))
        writer.writeheader()
        writer.writerows(JUDGED_ROWS)
    return path


def write_table(path):
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        names = ["id", "question", "left", "right", "left_system", "topic", "context", "ann", "bob", "clarity"]
        writer.writerow([*names, "j1", "j2", "j1_seconds"])
        for number in range(24):
            labels = [rng.choice("0012-") for _ in range(2)]
            judges = [rng.choice("012-") for _ in range(2)]
            texts = [f"pair {number}", f"Ünë {number}?", "yes", "no " * number, f"sys {number % 2}"]
            topic, context = f"topic {number % 5}", "" if number % 3 else "so far"
            writer.writerow([*texts, topic, context, *labels, rng.randint(0, 20) / 2, *judges, number / 4])
    return path


def to_text(records):
    """Return records as lines, without the times of the import itself."""
    return "\n".join(record.model_dump_json(exclude={"created_at", "times", "at"}) for record in records)


@pytest.mark.parametrize("read", [read_records, read_for_import])
@pytest.mark.parametrize(
    ("layout", "draft", "write"),
    [("wide", WIDE, write_table), ("long", LONG, write_table), ("judged", JUDGED, write_judged_table)],
)
def test_the_import_of_a_table_stores_the_same_as_before(engine, tmp_path, monkeypatch, layout, draft, write, read):
    monkeypatch.setattr(_spool, "TRACE_BATCH", 7)
    table, mapping = write(tmp_path / "table.csv"), build_mapping(draft)
    imports.import_records(engine, "table", read(table, mapping=mapping))
    assert_golden(f"imports/{layout}.jsonl", to_text(export(engine, "table")))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_temporary_folder_is_one_sentence_and_nothing_is_stored(engine, tmp_path, monkeypatch):
    table = tmp_path / "t.csv"
    rows = [f"{number},q,a,b,1" for number in range(200)]
    table.write_text("\n".join(["id,question,left,right,j1", *rows]), "utf-8")
    judges = [{"kind": "preference", "criterion": "helpfulness", "columns": {"j1": "judge 1"}}]
    responses = [{"text": "left"}, {"text": "right"}]
    mapping = build_mapping({"id": "id", "prompt": "question", "responses": responses, "judges": judges})
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: Path("/dev/full").open("r+b"))  # noqa: SIM115
    with pytest.raises(TiebreakError, match=r"cannot write its temporary files: No space left on device\. .* TMPDIR"):
        imports.import_records(engine, "s", read_for_import(table, mapping=mapping))
    with reading(engine) as session:
        assert studies.names(session) == []
