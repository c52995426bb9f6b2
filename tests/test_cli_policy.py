"""The commands about policies: one JSON object, a certificate, and whether it still holds."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from storage.db.connections import connect, writing
from storage.reports import certificates
from storage.transfer import imports
from tests.commands import run_command
from tests.databases import create_database
from tests.storage.reports import planted_policies as planted


@pytest.fixture(scope="module")
def planted_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a database with the study, which each test copies."""
    path = tmp_path_factory.mktemp("planted") / "tiebreak.db"
    engine = connect(create_database(path))
    imports.import_records(engine, "s", planted.records())
    engine.dispose()
    return path


@pytest.fixture
def url(planted_file: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(planted_file, tmp_path)}"


def run(*words: str, code: int = 0) -> str:
    result = run_command(list(words))
    assert result.exit_code == code, result.stderr
    return result.stdout


def test_a_policy_is_one_object_and_its_certificate_can_be_verified(url: str, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    words = ["--study", "s", "--judge", "careful", "--risk", "0.1", "--database", url]
    found = json.loads(run("policy", *words, "--confidence", "0.95", "--certificate", str(file), "--json"))
    assert (found["state"], found["signal"]) == ("accept", "stated")
    assert found["accepted"] + found["to_people"] == 500 and found["risk_upper"] <= 0.1
    assert found["certificate"] == json.loads(file.read_text(encoding="utf-8"))
    assert "stand without a person" in file.with_suffix(".html").read_text(encoding="utf-8")
    assert "may stand without a person" in run("judges", "policy", *words)
    checked = json.loads(run("policy", "verify", str(file), "--database", url, "--json"))
    assert checked["holds"] and checked["standing"] == "holds"
    none = json.loads(run("policy", *words[:-4], "--risk", "0.01", "--database", url, "--json", code=3))
    assert (none["state"], none["certificate"]) == ("not enough labels", None)
    broken = json.loads(file.read_text(encoding="utf-8")) | {"n": 1}
    (tmp_path / "edited.json").write_text(json.dumps(broken), encoding="utf-8")
    edited = run_command(["policy", "verify", str(tmp_path / "edited.json"), "--database", url, "--json"])
    assert edited.exit_code == 3 and json.loads(edited.stdout)["standing"] == "altered"
    itself = run_command(["policy", *words, "--judge", "careful"])
    assert itself.exit_code == 2 and itself.stderr.splitlines()[-1].startswith("'careful' cannot escalate to itself")
    missing = run_command(["policy", "verify", str(tmp_path / "none.json"), "--database", url])
    assert missing.exit_code == 2 and "cannot be read" in missing.stderr


def test_gold_has_verdicts_that_stand_only_if_they_are_wanted(url: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    words = ("data", "export", "--study", "s", "--database", url, "--gold", str(file))
    refused = run_command([*words, "--with-policy"])
    assert refused.exit_code == 2 and "No policy stands" in refused.stderr
    found = json.loads(run("policy", "--study", "s", "--risk", "0.1", "--database", url, "--json"))
    engine = connect(url)
    with writing(engine) as session:
        certificates.save(session, 1, found["certificate"])
    engine.dispose()
    run(*words)
    people = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert len(people) == 240 and {row["source"] for row in people} == {"single"} and "policy" not in people[0]
    run(*words, "--with-policy")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    standing = [row for row in rows if row["source"] == "policy"]
    assert len(rows) - len(standing) == 240 and standing
    assert all(("careful" in row["policy"]) == (row["source"] == "policy") for row in rows)
    bundle = tmp_path / "bundle"
    run("data", "bundle", "--study", "s", "--database", url, str(bundle))
    assert json.loads((bundle / "policy_1.json").read_text(encoding="utf-8")) == found["certificate"]
    assert (bundle / "policy_1.html").exists()
