"""The command line imports the public weightings of DnA-Eval, and prints the published distances."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import app
from tests.core.formats.shared import FIXTURES, public_file

pytestmark = pytest.mark.slow  # whole folders of weightings

PUBLISHED = {
    "faireval": {"people": 0.1169, "gpt35": 0.1516, "gpt4": 0.1492, "llama2": 0.1804, "mistral": 0.2217},
    "llmbar": {"people": 0.2094, "gpt35": 0.3273, "gpt4": 0.1624, "llama2": 0.1734, "mistral": 0.2114},
}


def run_json(*arguments: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def distances(study: str) -> dict[str, float]:
    """Return distances with undefined as zero: between annotators, and of each judge from the first annotator."""
    rows = {(row["rater_a"], row["rater_b"]): row for row in run_json("weights", "--study", study)}
    assert set(rows["ann1", "ann2"]) == {
        "rater_a",
        "rater_b",
        "distance",
        "low",
        "high",
        "distance_undefined_as_zero",
        "items",
        "undefined",
    }
    judges = {judge: rows[judge, "ann1"] for judge in ("gpt35", "gpt4", "llama2", "mistral")}
    rows_by_name = {"people": rows["ann1", "ann2"]} | judges
    return {name: round(float(row["distance_undefined_as_zero"]), 4) for name, row in rows_by_name.items()}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_folder_of_weightings_gives_the_published_figures(name: str) -> None:
    run_json("data", "import", str(public_file(f"dna_eval/weightings/{name}")), "--study", name)
    assert distances(name) == PUBLISHED[name]


def test_single_files_give_the_same_figures_and_a_second_import_adds_nothing() -> None:
    files = sorted(Path(public_file("dna_eval/weightings/faireval")).glob("*.csv"))
    for file in [*files, files[0]]:
        added = run_json("data", "import", str(file), "--study", "one by one", "--format", "dna-weights")
    assert (added["items"], added["labels"], added["traces"]) == (0, 0, 0)
    assert distances("one by one") == PUBLISHED["faireval"]


def test_the_distances_of_a_small_folder_are_those_computed_by_hand() -> None:
    """One question has equal weights of gpt4, whose distance is undefined."""
    run_json("data", "import", str(FIXTURES / "dna_eval" / "weightings" / "toys"), "--study", "toys")
    rows = {(row["rater_a"], row["rater_b"]): row for row in run_json("weights", "--study", "toys")}
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
