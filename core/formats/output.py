"""Atomic writing of files, and temporary folders that do not outlive their process."""

import errno
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from core.errors import TiebreakError

FULL = (errno.ENOSPC, errno.EDQUOT)
WRITE_ERRORS = (*FULL, errno.EFBIG, errno.EIO)
"""Errors of writing to an open file; others in the block of `open_output` concern something else."""
TEMPORARY_NAME = re.compile(r"\..+\.[0-9a-f]{16}\.part")
MIN_AGE = 60
"""Seconds without a change after which the temporary file of another output is removed: a new one has no lock yet."""


@contextmanager
def open_output(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing, with the same line endings on every platform.

    The text is written under a temporary name in the same folder, which replaces the file at the end. After an error
    the earlier file is unchanged; a disk without space is a TiebreakError. Temporary files in this folder of earlier
    processes that were killed are removed, of other outputs too. Anything but a regular file, such as
    a pipe, is written directly.
    """
    target = path.resolve()
    if target.exists() and not target.is_file() and not target.is_dir():
        with _refuse_write_errors(path, WRITE_ERRORS), _open(target, "w") as stream:
            yield stream
        return
    prefix = f".{target.name[:60]}."
    temporary = target.with_name(f"{prefix}{secrets.token_hex(8)}.part")
    try:
        with _refuse_write_errors(path):
            if target.is_dir():
                raise IsADirectoryError(None, "it is a folder")
            _remove_abandoned(target.parent, prefix, of_others=True)
            stream = _open(temporary, "x")
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
        with _refuse_write_errors(path, WRITE_ERRORS), stream:
            _lock(stream.fileno())
            yield stream
        with _refuse_write_errors(path):
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def temporary_folder(target: Path | None = None) -> Iterator[Path]:
    """Yield a new folder next to `target`, or in the system's folder for temporary files; it is removed at the end.

    The block may rename it. Folders of the same target whose processes were killed are removed first. Raises OSError.
    """
    place = target or Path(tempfile.gettempdir()) / "tiebreak"
    prefix = f".{place.name[:60]}."
    place.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(place.parent, prefix)
    folder = place.with_name(f"{prefix}{secrets.token_hex(8)}.part")
    folder.mkdir(mode=0o700 if target is None else 0o777)
    descriptor = _open_folder(folder)
    try:
        if descriptor is not None:
            _lock(descriptor)
        yield folder
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)


def _open_folder(folder: Path) -> int | None:
    """Return a file descriptor of a folder for its lock; None where folders cannot be opened."""
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError:
        return None


def _open(path: Path, mode: str) -> TextIO:
    stream: TextIO = path.open(mode, encoding="utf-8", newline="")  # type: ignore[assignment]
    return stream


def _lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; returns False if another process holds the lock.

    It also returns False if there are no locks.
    """
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # Windows has no fcntl, some network drives have no locks
        return False
    return True


def _remove_abandoned(folder: Path, prefix: str, *, of_others: bool = False) -> None:
    """Remove the temporary files and folders that no process writes any more; `of_others`: files of any prefix."""
    with suppress(OSError):  # a folder that cannot be listed may still be writable
        for path in folder.iterdir():
            is_own = path.name.startswith(prefix) and path.name.endswith(".part")
            with suppress(OSError):
                if not path.is_symlink() and (is_own or (of_others and _is_old_file(path))):
                    _remove_unlocked(path)


def _is_old_file(path: Path) -> bool:
    """Return whether a file has the name of a temporary file of `open_output`, and has not changed for MIN_AGE."""
    is_temporary = TEMPORARY_NAME.fullmatch(path.name) is not None and path.is_file()
    return is_temporary and time.time() - path.stat().st_mtime > MIN_AGE


def _remove_unlocked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if _lock(descriptor):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    finally:
        os.close(descriptor)


@contextmanager
def _refuse_write_errors(path: Path, numbers: tuple[int, ...] = ()) -> Iterator[None]:
    """Raise TiebreakError for errors of the operating system, or only for those with the given numbers."""
    try:
        yield
    except OSError as error:
        if numbers and error.errno not in numbers:
            raise
        if error.errno in FULL:
            raise TiebreakError(f"There is no space left to write {path}.") from None
        raise TiebreakError(f"{path} cannot be written: {error.strerror or error}.") from None
