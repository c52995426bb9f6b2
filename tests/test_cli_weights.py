"""The command line prints the distances of weightings of DnA-Eval."""

import json
from pathlib import Path

import pytest

from tests.commands import run_command

pytestmark = pytest.mark.slow  # whole folders of weightings


def run_json(*arguments: str) -> list[dict[str, object]]:
    result = run_command([*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


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
