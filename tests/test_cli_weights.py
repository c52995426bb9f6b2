"""The command line imports weightings of DnA-Eval, and prints their distances."""

import json
from pathlib import Path

import pytest

from tests.commands import run_command
from tests.core.formats.shared import FIXTURES

pytestmark = pytest.mark.slow  # whole folders of weightings


def run_json(*arguments: str) -> list[dict[str, object]]:
    result = run_command([*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_distances_of_a_small_folder_are_those_computed_by_hand() -> None:
    """One question has equal weights of gpt4, whose distance is undefined."""
    words = ("data", "import", str(FIXTURES / "dna_eval" / "weightings" / "toys"), "--study", "toys")
    run_json(*words)
    again = run_json(*words)
    assert (again["items"], again["labels"], again["traces"]) == (0, 0, 0)
    rows = {(row["rater_a"], row["rater_b"]): row for row in run_json("weights", "--study", "toys")}
    fields = ["rater_a", "rater_b", "distance", "low", "high", "distance_undefined_as_zero", "items", "undefined"]
    assert sorted(rows["ann1", "ann2"]) == sorted(fields)
    distances_and_counts = {
        pair: (rows[pair]["distance_undefined_as_zero"], rows[pair]["items"], rows[pair]["undefined"])
        for pair in (("ann1", "ann2"), ("gpt4", "ann1"), ("mistral", "ann1"))
    }
    assert distances_and_counts == {
        ("ann1", "ann2"): (pytest.approx(0.75 / 3), 3, 0),
        ("gpt4", "ann1"): (pytest.approx(1 / 3), 3, 1),
        ("mistral", "ann1"): (pytest.approx(1.75 / 3), 3, 0),
    }


def test_the_heaviest_aspects_can_be_compared_alone(tmp_path: Path) -> None:
    """Annotators agree on the heaviest of three aspects and disagree on the others; gpt4 has another heaviest one."""
    rows = ["text,aspect1,aspect2,aspect3,gpt4_w1,gpt4_w2,gpt4_w3,ann1,ann2"]
    rows += [f"Why {n}?,a,b,c,10,60,30,50 30 20,50 20 30" for n in range(3)]
    path = tmp_path / "small_gpt4_human.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    run_json("data", "import", str(path), "--study", "small")
    all_ranks = {(row["rater_a"], row["rater_b"]): row for row in run_json("weights", "--study", "small")}
    assert all_ranks["ann1", "ann2"]["distance"] == pytest.approx(1 / 3)
    top = {(row["rater_a"], row["rater_b"]): row for row in run_json("weights", "--study", "small", "--top", "1")}
    assert top["ann1", "ann2"]["distance"] == 0
    assert top["gpt4", "ann1"]["distance"] > 0
