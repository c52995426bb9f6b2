"""Mappings are suggested for columns whose names have punctuation, remarks and other words."""

import csv
from pathlib import Path

from core.formats.mapping.candidates import candidate_labels
from core.formats.mapping.guess import names_of, suggest_mapping
from core.formats.mapping.mapping import build_mapping, draft_of
from core.formats.mapping.suggest import suggest_table
from core.formats.mapping.unused import unused_fields
from core.formats.records import ItemRecord, LabelRecord, TraceRecord
from core.formats.registry import read_records

FIVE = {"level": "ordinal", "categories": [1, 2, 3, 4, 5]}


def write_table(path: Path, *rows: tuple[str, ...]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def pairs(folder: Path) -> Path:
    judge = ' gpt-4o, temperature=0, prompt "v3 {criterion}"'
    header = ("ID #", "Prompt (Frage)", "system, first", "system, second", "Response {1}", 'Response "2"')
    names = ("Annotator: Zoë", 'Annotator: O\'Brien, "Ben"', judge, "claude (constant)", "order shown")
    first = ("p1", "?", "s", "t", "x", "y", "A", "=", "refused", "A", "AB")
    second = ("p2", "?", "t", "s", "x", "y", "n/a", " b", "B", "A", "BA")
    third = ("p3", "?", "t", "s", "x", "y", "B", "a", "A", "A", "BA")
    return write_table(folder / "pairs.csv", (*header, *names), first, second, third)


def scores(folder: Path) -> Path:
    header = ("Prompt-ID", "prompt", "output", "system", "Zoë", "rater 3", "Prüfer", 'judge one "strict" (gpt-4o, v2)')
    first = ("q1", "?", "x", "s", "5", "N/A", "2.5", "4")
    second = ("q1", "?", "y", "t", "4", "3", "3.5", "N/A")
    return write_table(folder / "scores.csv", header, first, second, ("q2", "!", "z", "s", "3", "2", "4.0", "5"))


def test_names_with_punctuation_and_remarks_are_recognised(tmp_path: Path) -> None:
    table = pairs(tmp_path)
    draft = suggest_table(table)
    ben, judge = '"Annotator: O\'Brien, ""Ben"""', '"gpt-4o, temperature=0, prompt ""v3 {criterion}"""'
    assert (draft["id"], draft["prompt"]) == ("ID #", "Prompt (Frage)")
    assert draft["responses"] == [
        {"text": '"Response {1}"', "system": "system, first"},
        {"text": '"Response ""2"""', "system": "system, second"},
    ]
    (labels,) = draft["labels"]
    assert labels["annotators"] == {"Annotator: Zoë": "Zoë", ben: 'O\'Brien, "Ben"'}
    assert labels["values"] == {"A": 1, "B": 2, "a": 1, "b": 2, "=": 0, "n/a": None}
    (judges,) = draft["judges"]
    assert judges["columns"] == {
        judge: 'gpt-4o, temperature=0, prompt "v3 {criterion}"',
        "claude (constant)": "claude (constant)",
    }
    assert next(iter(judges["columns"])) == judge and judges["values"] == {"A": 1, "B": 2, "refused": None}
    mapping = build_mapping(draft)
    assert unused_fields(table, mapping) == ["order shown"]
    records = list(read_records(table, mapping=mapping))
    assert sum(isinstance(record, TraceRecord) for record in records) == 6


def test_a_repeated_id_of_the_prompt_is_the_group(tmp_path: Path) -> None:
    table = scores(tmp_path)
    draft = suggest_table(table)
    assert (draft["id"], draft["group"]) == ("{Prompt-ID}-{system}", "Prompt-ID")
    assert draft["judges"][0]["values"] == {"N/A": None}
    items = [r.item for r in read_records(table, mapping=build_mapping(draft)) if isinstance(r, ItemRecord)]
    assert [(item.id, item.group) for item in items] == [("q1-s", "q1"), ("q1-t", "q1"), ("q2-s", "q2")]


def test_unused_columns_with_values_of_labels_are_candidates(tmp_path: Path) -> None:
    table = scores(tmp_path)
    mapping = build_mapping(suggest_table(table))
    unused = unused_fields(table, mapping)
    assert unused == ["Zoë", "rater 3", "Prüfer"]
    whole, fractions = candidate_labels(table, mapping, unused)
    assert whole["annotators"] == {"Zoë": "Zoë", "rater 3": "rater 3"}
    assert (whole["scale"], whole["values"]) == (FIVE, {"N/A": None})
    assert fractions["annotators"] == {"Prüfer": "Prüfer"} and fractions["scale"]["level"] == "interval"
    judges = [*draft_of(mapping)["judges"], {"kind": "score", "scale": fractions["scale"], "columns": ["Prüfer"]}]
    records = list(
        read_records(table, mapping=build_mapping(draft_of(mapping) | {"labels": [whole], "judges": judges}))
    )
    assert sum(isinstance(record, LabelRecord) for record in records) == 5
    assert sum(isinstance(record, TraceRecord) for record in records) == 6


def test_texts_and_constants_are_no_candidates(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", ("id", "output", "x", "y"), ("1", "a", "5", "yes"), ("2", "b", "5", "no"))
    mapping = build_mapping(suggest_table(table))
    assert candidate_labels(table, mapping, ["x", "y"]) == []


def test_a_remark_is_not_left_out_of_names_that_would_become_equal() -> None:
    names = names_of(["score (helpful)", "score (honest)", "Prompt (text)", "_id", "id"])
    assert "score" not in names and names["prompt"] == "Prompt (text)" and names["id"] == "id"


def test_a_name_that_is_no_path_gives_no_error() -> None:
    assert suggest_mapping(['say "x"', "a..b", "prompt"]) == {"id": "{row}", "prompt": "prompt"}
