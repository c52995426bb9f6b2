"""Atomic writing of files."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from core.errors import TiebreakError


@contextmanager
def open_output(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing, with the same line endings on every platform.

    The text is written under a temporary name in the same folder, which replaces the file at the end. After an error
    the earlier file is unchanged. Anything but a regular file, such as a pipe, is written directly.
    """
    target = path.resolve()
    if target.exists() and not target.is_file() and not target.is_dir():
        with _open(target, "w") as stream:
            yield stream
        return
    temporary = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with _refuse_write_errors(path):
            if target.is_dir():
                raise IsADirectoryError(None, "it is a folder")
            stream = _open(temporary, "x")
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
        with stream:
            yield stream
        with _refuse_write_errors(path):
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _open(path: Path, mode: str) -> TextIO:
    stream: TextIO = path.open(mode, encoding="utf-8", newline="")  # type: ignore[assignment]
    return stream


@contextmanager
def _refuse_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TiebreakError(f"{path} cannot be written: {error.strerror or error}.") from None
