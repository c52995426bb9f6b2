"""Text from a file that nobody vouches for: UTF-8, with or without a byte order mark, line ends of any system."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from core.problems import FileRefused

UTF16 = (b"\xff\xfe", b"\xfe\xff")
BOM = b"\xef\xbb\xbf"


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, text) of every line that is not blank; only "\\n" ends a line, as in JSON lines."""
    with reading(path), path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            text = _decoded(raw.removeprefix(BOM) if number == 1 else raw, number)
            if text and not text.isspace():
                yield number, text.strip("\r\n")


def whole(path: Path) -> str:
    """The whole text; raises FileRefused with the line that is not UTF-8."""
    with reading(path):
        return path.read_text(encoding="utf-8-sig")


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """The file for the csv module, which ends lines itself."""
    with reading(path), path.open(encoding="utf-8-sig", newline="") as file:
        yield file


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Trouble with the file itself, in one sentence."""
    try:
        yield
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be read: {error.strerror or error}") from None


def first(path: Path, length: int = 4096) -> str:
    """The first characters that are not blank, for recognising a format; empty where they are not UTF-8."""
    with reading(path), path.open("rb") as file:
        head = file.read(length).removeprefix(BOM)
    return head.decode("utf-8", errors="replace").lstrip()


def _decoded(raw: bytes, number: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad_byte(raw, error.start, number) from None


def _not_utf8(path: Path) -> FileRefused:
    """A buffered decoder does not know the line: look for it."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                return _bad_byte(raw, error.start, number)
    return FileRefused("expected text in UTF-8")


def _bad_byte(raw: bytes, start: int, number: int) -> FileRefused:
    if number == 1 and raw.startswith(UTF16):
        return FileRefused("expected text in UTF-8; this file is UTF-16: save it as UTF-8", line=1)
    return FileRefused(f"expected text in UTF-8; byte 0x{raw[start]:02X} is not", line=number)
