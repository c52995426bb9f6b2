"""The command line exports examples for instruction tuning."""

import json

import pytest
from typer.testing import CliRunner

import cli
from storage.transfer import samples

pytestmark = pytest.mark.slow  # whole commands and runs


@pytest.fixture
def run(tmp_path):
    url = f"sqlite:///{tmp_path}/cli.db"
    return lambda *words: CliRunner().invoke(cli.app, [*words, "--database", url])


def test_examples_are_lines_of_json(run, tmp_path):
    run("data", "import", str(samples.path("refer")), "--study", "tour")
    file = tmp_path / "i.jsonl"
    result = run("data", "export", "--study", "tour", "--instructions", str(file), "--json")
    assert json.loads(result.stdout) == {"study": "tour", "written": [str(file)]}
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 8 and lines[0]["output"].startswith("Analysis:")
    run("data", "export", "--study", "tour", "--instructions", str(file), "--every-sample")
    assert len(file.read_text(encoding="utf-8").splitlines()) == 78


def test_instructions_without_a_peer_review_create_no_file(run, tmp_path):
    run("data", "import", str(samples.path()), "--study", "tour")
    refused = run("data", "export", "--study", "tour", "--instructions", str(tmp_path / "i.jsonl"))
    assert refused.exit_code == 2 and "no peer review" in refused.stderr
    assert not (tmp_path / "i.jsonl").exists()
