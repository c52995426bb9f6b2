"""The bundle of a study: its files, their hashes, and the figures after an import elsewhere."""

import csv
import hashlib
import json
from zipfile import ZipFile

import pytest

from core.errors import TiebreakError
from core.formats import tiebreak
from storage.db.connections import connect
from storage.studies import studies
from storage.transfer import imports, samples
from storage.transfer.bundle import Table, write_bundle
from tests.databases import create_database
from tests.sessions import read

pytestmark = pytest.mark.slow
FILES = {
    "agreement.csv", "alignment.csv", "biases.csv", "causes.csv", "codebook.md", "comparisons.csv", "gold.csv",
    "judges.csv", "labels_long.csv", "labels_wide.csv", "manifest.json", "systems.csv", "traces.jsonl", "verdicts.csv",
}  # fmt: skip


def import_into_new_database(path, file):
    engine = connect(create_database(path))
    imports.import_records(engine, "tour", tiebreak.read(file))
    return engine, read(engine, studies.get, "tour")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return import_into_new_database(tmp_path_factory.mktemp("bundle") / "one.db", samples.path())


@pytest.fixture(scope="module")
def files(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle") / "files"
    write_bundle(*stored, folder)
    return folder


@pytest.fixture
def small_tables(monkeypatch):
    """Replace the tables, whose figures take seconds, by one with text that would be a formula."""
    poisoned = Table("labels_long", ("=1+1", "b"), [("=HYPERLINK()", -1)])
    monkeypatch.setattr("storage.transfer.bundle.tables", lambda *_: [poisoned])
    monkeypatch.setattr("storage.transfer.bundle.result_tables", lambda *_: ({}, {"judges": "Nothing to rank."}))


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_an_import_elsewhere_gives_the_same_figures_to_the_last_digit(files, tmp_path):
    other = import_into_new_database(tmp_path / "two.db", files / "traces.jsonl")
    write_bundle(*other, tmp_path / "second")
    assert {path.name for path in (tmp_path / "second").iterdir()} == FILES
    for name in FILES - {"traces.jsonl", "manifest.json"}:  # which have the times of the import
        assert (tmp_path / "second" / name).read_bytes() == (files / name).read_bytes(), name
    rows = read_csv(files / "agreement.csv")
    kappa = [row for row in rows if row["statistic"] == "fleiss_kappa" and row["criterion"] == "helpfulness"]
    assert float(kappa[0]["value"]) == pytest.approx(0.635566, abs=1e-6)
    assert len(read_csv(files / "alignment.csv")) > 50


def test_labels_are_long_and_wide(files):
    long, wide = (read_csv(files / f"labels_{shape}.csv") for shape in ("long", "wide"))
    annotators = sorted({row["rater"] for row in long})
    assert len(annotators) == 3 and set(annotators) <= wide[0].keys()
    assert sum(bool(row[name]) for row in wide for name in annotators) == len(long)


def test_the_manifest_of_a_zip_has_the_hash_of_every_file(stored, small_tables, tmp_path):
    manifest = write_bundle(*stored, tmp_path / "bundle.zip")
    with ZipFile(tmp_path / "bundle.zip") as archive:
        assert set(archive.namelist()) == {*manifest["files"], "manifest.json"}
        assert json.loads(archive.read("manifest.json")) == manifest
        for name, file in manifest["files"].items():
            assert hashlib.sha256(archive.read(name)).hexdigest() == file["sha256"]
        assert "# Codebook of tour" in archive.read("codebook.md").decode()
        assert archive.read("labels_long.csv").decode() == "'=1+1,b\n'=HYPERLINK(),-1\n"
    assert manifest["seed"] == 0 and "numpy" in manifest["versions"]
    assert [path.name for path in tmp_path.iterdir()] == ["bundle.zip"]  # nothing temporary is left


def test_an_existing_folder_is_not_overwritten(stored, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TiebreakError, match="exists already"):
        write_bundle(*stored, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
