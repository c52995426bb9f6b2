import shutil
import sqlite3

import pytest

from core.errors import TiebreakError
from storage.db import backup, connections
from storage.db.connections import connect, reading
from storage.db.restore import restore
from storage.studies import studies
from tests.bench import bench_backup
from tests.bench.databases import Database
from tests.sessions import read, write

pytestmark = pytest.mark.slow  # each test migrates a database


ON_SQLITE = pytest.mark.parametrize("own_address", ["sqlite"], indirect=True)


@pytest.fixture
def opened(own_address):
    """A database with the study "s"."""
    engine = connect(own_address)
    if engine.dialect.name == "postgresql" and shutil.which("pg_restore") is None:
        pytest.skip("pg_restore is not installed (Debian: apt install postgresql-client)")
    write(engine, studies.get_or_create, "s")
    yield engine
    engine.dispose()


def names(engine):
    return read(engine, studies.names)


def test_a_restored_database_has_the_content_of_the_copy_and_the_former_one_is_copied(opened, tmp_path):
    copy = tmp_path / "copy"
    backup.back_up(opened, copy)
    write(opened, studies.get_or_create, "later")
    previous = restore(opened, copy)
    assert names(opened) == ["s"]
    assert restore(opened, previous) is not None
    assert names(opened) == ["later", "s"]


@ON_SQLITE
def test_an_empty_database_is_restored_without_a_copy_of_it(opened, tmp_path):
    copy = tmp_path / "copy"
    backup.back_up(opened, copy)
    empty = connect(f"sqlite:///{tmp_path / 'new.db'}")
    assert restore(empty, copy) is None
    assert names(empty) == ["s"]
    empty.dispose()


def test_a_database_in_use_is_not_restored(opened, tmp_path):
    copy = tmp_path / "copy"
    backup.back_up(opened, copy)
    write(opened, studies.get_or_create, "later")
    other = connections.connect.__wrapped__(opened.url.render_as_string(hide_password=False))
    with reading(other) as session:
        assert studies.names(session) == ["later", "s"]
        with pytest.raises(TiebreakError, match="in use; stop the server"):
            restore(opened, copy)
    other.dispose()
    assert names(opened) == ["later", "s"]


def test_a_file_that_is_no_copy_is_refused(opened, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("notes")
    for file, sentence in ((text, "is not a copy"), (tmp_path / "missing", "cannot be read")):
        with pytest.raises(TiebreakError, match=sentence):
            restore(opened, file)
    assert names(opened) == ["s"]


@ON_SQLITE
def test_a_damaged_copy_and_one_of_a_newer_version_are_refused(opened, tmp_path):
    newer, other, damaged = (tmp_path / f"{name}.db" for name in ("newer", "other", "damaged"))
    backup.back_up(opened, newer)
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    sqlite3.connect(other).execute("CREATE TABLE t (a)").connection.close()
    backup.back_up(opened, damaged)
    damaged.write_bytes(damaged.read_bytes()[:5000] + b"\xff" * 4000)
    for file, sentence in ((newer, "newer version"), (other, "cannot be restored"), (damaged, "restored|damaged")):
        with pytest.raises(TiebreakError, match=sentence):
            restore(opened, file)
    assert names(opened) == ["s"]


def test_only_the_newest_copies_of_a_folder_remain(opened, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    ending = "dump" if opened.dialect.name == "postgresql" else "db"
    others = [folder / f"tiebreak-2026010{day}-000000.{ending}" for day in range(1, 5)] + [folder / "tiebreak-mine.db"]
    for file in others:
        file.write_text("")
    newest = backup.back_up_to_folder(opened, folder, keep=2)
    assert set(folder.iterdir()) == {newest, others[3], others[4]}
    with pytest.raises(TiebreakError, match="There is no folder"):
        backup.back_up_to_folder(opened, tmp_path / "missing")


@pytest.mark.parametrize("own_address", ["postgresql"], indirect=True)
def test_a_backup_of_postgresql_under_load_has_all_labels_stored_before_and_a_complete_one_the_same_agreement(
    opened, own_address, postgres
):
    urls = (own_address, postgres.url(postgres.create()))
    source, elsewhere = (Database(connect(url), url, None) for url in urls)
    found = bench_backup.run(source, elsewhere, processes=4, targets=10, run_items=0)
    assert (found.missing, found.others, found.wrong_counts, found.equal_agreement) == (0, 0, 0, True)
    assert 10 <= found.before <= found.restored <= 31
