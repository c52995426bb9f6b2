"""A file is written completely, or the earlier one stays."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from core.errors import TiebreakError
from core.formats.text import open_output, temporary_folder
from tests.core.formats.shared import write_content


def test_a_file_is_replaced_at_the_end(tmp_path: Path) -> None:
    path = write_content(tmp_path / "gold.csv", "old")
    path.chmod(0o640)
    with open_output(path) as stream:
        stream.write("new\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == b"new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["gold.csv"]


def test_an_error_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = write_content(tmp_path / "gold.csv", "old")

    def write_halfway() -> None:
        with open_output(path) as stream:
            stream.write("new")
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        write_halfway()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["gold.csv"]


def test_a_full_disk_is_one_sentence_and_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = write_content(tmp_path / "gold.csv", "old")
    with pytest.raises(TiebreakError, match=r"^There is no space left to write .*gold\.csv\.$"), open_output(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["gold.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has this device")
def test_a_full_device_is_one_sentence() -> None:
    with pytest.raises(TiebreakError, match="no space left"), open_output(Path("/dev/full")) as stream:
        stream.write("new")


def test_other_errors_in_the_block_are_not_about_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError), open_output(tmp_path / "gold.csv"):
        raise ConnectionError(errno.ECONNRESET, "reset")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with open_output(link) as stream:
        stream.write("new")
    assert link.is_symlink() and target.read_text() == "new"


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()))
    reader.start()
    with open_output(pipe) as stream:
        stream.write("through")
    reader.join(10)
    assert texts == ["through"]


@pytest.mark.parametrize("name", ["missing/gold.csv", "."])
def test_a_place_that_cannot_be_written_is_a_problem(tmp_path: Path, name: str) -> None:
    with pytest.raises(TiebreakError, match="cannot be written"), open_output(tmp_path / name):
        pass


def test_a_temporary_folder_is_renamed_or_removed(tmp_path: Path) -> None:
    with temporary_folder(tmp_path / "bundle") as first, temporary_folder(tmp_path / "bundle") as second:
        (first / "labels.csv").write_text("first")
        (second / "labels.csv").write_text("half")
        os.replace(first, tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]
    assert (tmp_path / "bundle" / "labels.csv").read_text() == "first"


def test_a_temporary_folder_of_the_system_is_readable_by_its_owner_only() -> None:
    with temporary_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()
