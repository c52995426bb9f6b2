"""Atomic writing of files."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from core.errors import TiebreakError

FULL = (errno.ENOSPC, errno.EDQUOT)
WRITE_ERRORS = (*FULL, errno.EFBIG, errno.EIO)
"""Errors of writing to an open file; others in the block of `open_output` concern something else."""


@contextmanager
def open_output(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing, with the same line endings on every platform.

    The text is written under a temporary name in the same folder, which replaces the file at the end. After an error
    the earlier file is unchanged; a disk without space is a TiebreakError. Temporary files of earlier processes that
    were killed are removed. Anything but a regular file, such as a pipe, is written directly.
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
            _remove_abandoned(target.parent, prefix)
            stream = _open(temporary, "x")
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
        with _refuse_write_errors(path, WRITE_ERRORS), stream:
            _lock(stream)
            yield stream
        with _refuse_write_errors(path):
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _open(path: Path, mode: str) -> TextIO:
    stream: TextIO = path.open(mode, encoding="utf-8", newline="")  # type: ignore[assignment]
    return stream


def _lock(stream: TextIO) -> bool:
    """Lock an open file until it is closed; returns False if another process holds the lock or there are no locks."""
    try:
        import fcntl

        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # Windows has no fcntl, some network drives have no locks
        return False
    return True


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove the temporary files that no process writes any more."""
    with suppress(OSError):  # a folder that cannot be listed may still be writable
        for file in folder.iterdir():
            if file.name.startswith(prefix) and file.name.endswith(".part"):
                with suppress(OSError), file.open("a") as stream:
                    if _lock(stream):
                        file.unlink()


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
