"""Usual names of columns, and what usual values of cells mean."""

from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.guess import (
    find_judges,
    guess_confidence,
    guess_values,
    names_of,
    suggest_mapping,
    warn_of_models,
)
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.suggest import suggest_table
from core.formats.registry import read_records
from tests.core.formats.shared import write_content

FIVE = {"level": "ordinal", "categories": [1, 2, 3, 4, 5]}


def test_a_remark_is_not_left_out_of_names_that_would_become_equal() -> None:
    names = names_of(["score (helpful)", "score (honest)", "Prompt (text)", "_id", "id"])
    assert "score" not in names and names["prompt"] == "Prompt (text)" and names["id"] == "id"


def test_a_name_that_is_no_path_gives_no_error() -> None:
    assert suggest_mapping(['say "x"', "a..b", "prompt"]) == {"id": "{row}", "prompt": "prompt"}


@pytest.mark.parametrize("winners", ["A B tie huh?", "A B C"])
def test_values_without_a_meaning_are_refused_by_the_import(tmp_path: Path, winners: str) -> None:
    rows = [f"q{n},?,x,y,{winner}" for n, winner in enumerate(winners.split())]
    table = write_content(tmp_path / "t.csv", "\n".join(["id,prompt,response_a,response_b,winner", *rows]))
    with pytest.raises(FileFormatError, match="field 'winner': expected one of"):
        list(read_records(table, mapping=build_mapping(suggest_table(table))))


@pytest.mark.parametrize(
    ("cells", "block"),
    [
        ("A|B|tie|", {"kind": "preference", "values": {"A": 1, "B": 2, "tie": 0}}),
        ("model_1|Model 2", {"kind": "preference", "values": {"model_1": 1, "Model 2": 2}}),
        ("1|2|0", {"kind": "preference", "values": {}}),
        ("A|B|ERROR|N/A|-", {"kind": "preference", "values": {"A": 1, "B": 2, "-": None, "ERROR": None, "N/A": None}}),
        ("4|5|ERROR", {"kind": "score", "scale": FIVE, "values": {"ERROR": None}}),
        ("A|B|T", {"kind": "preference", "values": {"A": 1, "B": 2, "T": 0}}),
        ("left|right|tie", {"kind": "preference", "values": {"tie": 0}}),
        (
            "model_a|model_b|tie (bothbad)",
            {"kind": "preference", "values": {"model_a": 1, "model_b": 2, "tie (bothbad)": 0}},
        ),
        ("A|B|No preference", {"kind": "preference", "values": {"A": 1, "B": 2, "No preference": 0}}),
        ("A-is-clearly-better|B>A", {"kind": "preference", "values": {"A-is-clearly-better": 1, "B>A": 2}}),
        ("A|B|C", {"kind": "preference", "values": {"A": 1, "B": 2}}),  # a third response, or "cannot decide"
        ("0|1", None),
        ("T|F", None),
        ("win|lose|tie", None),
        ("1|5|4", {"kind": "score", "scale": FIVE}),
        ("0|4", {"kind": "score", "scale": {"level": "ordinal", "categories": [0, 1, 2, 3, 4]}}),
        ("2,5|4", {"kind": "score", "scale": {"level": "interval", "low": 1, "high": 5}}),
        ("87|12", {"kind": "score", "scale": {"level": "interval", "low": 0, "high": 100}}),
        ("0|0.5", {"kind": "score", "scale": {"level": "interval", "low": 0, "high": 1}}),
        ("-250.5|3", {"kind": "score", "scale": {"level": "interval", "low": -251, "high": 3}}),
        ("A good answer.", None),
        (" |", None),
    ],
)
def test_the_meaning_of_cells_is_guessed(cells: str, block: dict[str, Any] | None) -> None:
    assert guess_values(cells.split("|")) == block


def test_columns_of_judges_are_guessed_by_name_and_cells() -> None:
    rows = [{"id": "1", "gpt-4": "A", "claude": "A text.", "gold": "B", "ann": "A"}]
    assert find_judges(["id", "gpt-4", "claude", "gold", "ann"], rows) == ["gpt-4"]
    cells = {"gpt_verdict": "A", "conf_gpt": "0.9", "gpt_score": "4", "small_verdict": "B", "human_verdict": "A"}
    columns = [*cells, "small_verdict_confidence"]
    assert find_judges(columns, [cells]) == ["gpt_verdict", "small_verdict"]
    assert guess_confidence(columns, ["gpt_verdict", "small_verdict"]) == {
        "gpt_verdict": "conf_gpt",
        "small_verdict": "small_verdict_confidence",
    }


@pytest.mark.parametrize(
    "name", ["gpt4_pair", "ChatGPT", "claude-3", "expert_llm", "llama3", "Judge 1", "my reward model"]
)
def test_annotators_with_names_of_models_are_reported(name: str) -> None:
    warning = warn_of_models([name, "expert_1", "Hellman", "Claudette", "Judgement Day"])
    assert warning.startswith("1 of the annotators") and name in warning and "Hellman" not in warning


def test_no_person_is_reported_as_a_model_and_long_lists_are_shortened() -> None:
    assert warn_of_models(["expert_1", "Ann", "Stallman", ""]) == ""
    warning = warn_of_models([f"gpt-{n}" for n in range(40)] * 2)
    assert warning.startswith("40 of the annotators") and " more; " in warning
    assert "'gpt-0'" in warning and "'gpt-9'" not in warning
    assert "\n" not in warn_of_models(["gpt\nid: x"])
