"""The command line exports examples for instruction tuning."""

import json

import pytest

from storage.transfer import samples
from tests.commands import run_command
from tests.databases import create_database
from tests.openai_server import run_server

pytestmark = pytest.mark.slow  # whole commands and runs


@pytest.fixture
def run(tmp_path):
    url = create_database(tmp_path / "cli.db")
    return lambda *words: run_command([*words, "--database", url])


def test_examples_are_lines_of_json_also_of_one_run_and_of_a_part_of_the_split(run, tmp_path):
    run("data", "import", str(samples.path("refer")), "--study", "tour")
    file = tmp_path / "i.jsonl"
    result = run("data", "export", "--study", "tour", "--instructions", str(file), "--json")
    assert json.loads(result.stdout) == {"study": "tour", "written": [str(file)]}
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 8 and lines[0]["output"].startswith("Analysis:")
    run("data", "export", "--study", "tour", "--instructions", str(file), "--every-sample")
    assert len(file.read_text(encoding="utf-8").splitlines()) == 78
    words = ("data", "export", "--study", "tour", "--instructions", str(file))
    refused = run(*words, "--run", "other")
    assert refused.exit_code == 2 and "no peer review called 'other'" in refused.stderr
    assert "no split" in run(*words, "--part", "held-out").stderr
    assert run("improve", "split", "--study", "tour").exit_code == 0
    counts = {}
    for part in ("development", "held-out"):
        assert run(*words, "--part", part).exit_code == 0
        counts[part] = {json.loads(line)["item"] for line in file.read_text(encoding="utf-8").splitlines()}
    assert counts["development"] and counts["held-out"] and not counts["development"] & counts["held-out"]


def test_guidelines_are_drafted_from_rated_items_that_are_not_held_out(run):
    run("data", "import", str(samples.path("refer")), "--study", "tour")
    run("improve", "split", "--study", "tour")
    with run_server() as server:
        server.text = lambda model, prompt: "- A score of 1: dull.\n- A score of 3: fun."
        words = ("improve", "guidelines", "--study", "tour", "--criterion", "engaging", "--model", "m", "--json")
        result = run(*words, "--address", server.address)
        (body,) = server.bodies
    value = json.loads(result.stdout)
    assert value["guidelines"] == "- A score of 1: dull.\n- A score of 3: fun." and value["complete"]
    assert body["messages"][0]["content"].count("<example_") == len(value["examples"]) >= 2
    assert "no criterion 'tone'" in run(*words[:4], "--criterion", "tone", "--model", "m").stderr


def test_instructions_without_a_peer_review_create_no_file(run, tmp_path):
    run("data", "import", str(samples.path()), "--study", "tour")
    refused = run("data", "export", "--study", "tour", "--instructions", str(tmp_path / "i.jsonl"))
    assert refused.exit_code == 2 and "no peer review" in refused.stderr
    assert not (tmp_path / "i.jsonl").exists()
