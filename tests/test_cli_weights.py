"""Acceptance rows 9 and 10 on the command line: the public weightings are imported, and the figures come out."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import app
from tests.core.formats.shared import public

FIGURES = {
    "faireval": {"people": 0.1169, "gpt35": 0.1516, "gpt4": 0.1492, "llama2": 0.1804, "mistral": 0.2217},
    "llmbar": {"people": 0.2094, "gpt35": 0.3273, "gpt4": 0.1624, "llama2": 0.1734, "mistral": 0.2114},
}


def told(*arguments: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def figures(study: str) -> dict[str, float]:
    """The distances with undefined as zero: between people, and of each judge from the first person."""
    rows = {(row["rater_a"], row["rater_b"]): row for row in told("weights", "--study", study)}
    assert set(rows["ann1", "ann2"]) == {
        "rater_a",
        "rater_b",
        "distance",
        "distance_undefined_as_zero",
        "items",
        "undefined",
    }
    judges = {judge: rows[judge, "ann1"] for judge in ("gpt35", "gpt4", "llama2", "mistral")}
    found = {"people": rows["ann1", "ann2"]} | judges
    return {name: round(float(row["distance_undefined_as_zero"]), 4) for name, row in found.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_a_folder_of_weightings_gives_the_papers_right_figures(name: str) -> None:
    told("import", str(public(f"dna_eval/weightings/{name}")), "--study", name)
    assert figures(name) == FIGURES[name]


def test_file_by_file_gives_the_same_and_twice_adds_nothing() -> None:
    files = sorted(Path(public("dna_eval/weightings/faireval")).glob("*.csv"))
    for file in [*files, files[0]]:
        added = told("import", str(file), "--study", "one by one", "--format", "dna-weights")
    assert (added["items"], added["labels"], added["traces"]) == (0, 0, 0)
    assert figures("one by one") == FIGURES["faireval"]
