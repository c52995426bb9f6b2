"""The command line: one JSON value or words for people, exit code 0 or 2 with one sentence."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli
from storage.transfer import samples


@pytest.fixture
def run(tmp_path):
    """Run a command on a database of the test's own."""
    url = f"sqlite:///{tmp_path}/cli.db"
    return lambda *words: CliRunner().invoke(cli.app, [*words, "--database", url])


@pytest.fixture
def with_sample(run):
    assert run("import", str(samples.path()), "--study", "tour").exit_code == 0
    return run


def test_importing_says_what_was_added_and_the_second_time_that_nothing_was(run):
    first = run("import", str(samples.path()), "--study", "tour", "--json")
    assert json.loads(first.stdout)["items"] == 32
    again = run("import", str(samples.path()), "--study", "tour")
    assert again.exit_code == 0
    assert "nothing new" in again.stdout


def test_a_wrong_file_is_one_sentence_and_leaves_nothing(run, tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(samples.path().read_text(encoding="utf-8").splitlines()[0] + '\n{"type": "item"}\n')
    refused = run("import", str(wrong), "--study", "tour", "--format", "tiebreak")
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "line 2" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert "There is no study" in run("agreement", "--study", "tour").stderr


def test_agreement_gives_the_documented_fields(with_sample):
    rows = json.loads(with_sample("agreement", "--study", "tour", "--json").stdout)
    fields = ["kind", "criterion", "group", "statistic", "value", "low", "high", "items", "raters", "pairs", "reason"]
    assert rows
    assert all(list(row) == fields for row in rows)
    assert {"percent", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1"} <= {
        row["statistic"] for row in rows
    }


@pytest.mark.parametrize("by", ["scenario", "criterion", "raters"])
def test_agreement_can_be_split(with_sample, by):
    assert json.loads(with_sample("agreement", "--study", "tour", "--by", by, "--json").stdout)


def test_agreement_for_people_is_a_table(with_sample):
    shown = with_sample("agreement", "--study", "tour")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[0].split()[:4] == ["kind", "criterion", "group", "statistic"]


def test_gold_is_the_same_bytes_for_the_same_labels(with_sample, tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    assert with_sample("export", "--study", "tour", "--gold", str(one)).exit_code == 0
    assert with_sample("export", "--study", "tour", "--gold", str(two)).exit_code == 0
    assert one.read_bytes() == two.read_bytes()
    rows = list(csv.DictReader(one.read_text(encoding="utf-8").splitlines()))
    assert {row["source"] for row in rows} >= {"adjudicated", "unanimous", "majority", "unresolved", "judges"}


def test_everything_can_be_taken_away_and_brought_back(with_sample, tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    with_sample("export", "--study", "tour", "--everything", str(first))
    with_sample("import", str(first), "--study", "copy")
    with_sample("export", "--study", "copy", "--everything", str(second))
    assert first.read_bytes() == second.read_bytes()


def test_a_run_says_what_it_would_take(with_sample):
    words = ["--settings", "core/protocols/scaleeval/examples/scaleeval.yaml", "--limit", "10", "--dry-run", "--json"]
    estimate = json.loads(with_sample("run", "--study", "tour", *words).stdout)
    assert (estimate["items"], estimate["calls_at_least"], estimate["calls_at_most"]) == (10, 30, 90)
    assert estimate["dollars"] is None  # one judge has no known price


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rounds: [", "this is not YAML"),
        ("judges: []", "judges"),
        ("- 1", "names and values"),
        ("judges: [{name: a, model: m}, {name: a, model: n}]\ncriterion: x", "two judges are called 'a'"),
        ("judges: [{name: a, model: m}, {name: b, model: n}]\ncriterion: x\nroundz: 3", "roundz"),
    ],
)
def test_wrong_settings_are_one_sentence(with_sample, tmp_path, text, sentence):
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    refused = with_sample("run", "--study", "tour", "--settings", str(file))
    assert refused.exit_code == 2
    assert sentence in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_unknown_names_are_one_sentence(with_sample):
    for words in (["run", "--study", "nowhere"], ["agreement", "--study", "nowhere"], ["export", "--study", "tour"]):
        refused = with_sample(*words)
        assert refused.exit_code == 2
        assert refused.stderr.count("\n") == 1


def test_the_examples_in_the_docs_are_settings():
    from core.protocols import settings_file
    from core.protocols.registry import PROTOCOLS

    for file in Path("core/protocols").glob("*/examples/*.yaml"):
        name = file.stem.removesuffix("-local").removesuffix("-reasoning")
        assert settings_file.load(file, PROTOCOLS[name], [])


@pytest.mark.parametrize(
    "told",
    [
        "model: gpt, key_variable: sk-abcdefghijklmnopqrstuvwx",
        "model: sk-abcdefghijklmnopqrstuvwx",
        "model: gpt, address: 'http://me:abcdefghijklmnopqrstuvwx@127.0.0.1:1/v1'",
    ],
)
def test_a_key_in_a_settings_file_is_refused_before_anything_is_stored(with_sample, tmp_path, told):
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"judges: [{{name: a, {told}}}, {{name: b, model: local}}]\ncriterion: helpfulness\n")
    refused = with_sample("run", "--study", "tour", "--settings", str(settings), "--limit", "1")
    assert refused.exit_code == 2
    assert "judges.0.spec" in refused.stderr
    assert "Keys are never typed here" in refused.stderr
    assert "abcdefghijklmnopqrstuvwx" not in refused.stderr
    with_sample("export", "--study", "tour", "--everything", str(tmp_path / "all.jsonl"))
    assert "abcdefghijklmnopqrstuvwx" not in (tmp_path / "all.jsonl").read_text(encoding="utf-8")


def test_wrong_settings_are_told_in_words_that_are_not_pythons(with_sample, tmp_path):
    settings = tmp_path / "settings.yaml"
    settings.write_text("judges: 3\ncriterion: helpfulness\n")
    refused = with_sample("run", "--study", "tour", "--settings", str(settings))
    assert refused.exit_code == 2
    assert "field 'judges'" in refused.stderr
    assert "should be a list" in refused.stderr
