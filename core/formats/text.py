"""Reads untrusted text files: UTF-8 with or without a byte order mark, with any line endings, also compressed (.gz).

Tables can also be in the encodings that Excel writes: UTF-16 with a mark, and Windows-1252.
"""

import errno
import gzip
import io
import json
import os
import re
import secrets
import shutil
import tempfile
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO, TextIO

from core.errors import FileFormatError, TiebreakError

_opened: ContextVar[set[Path] | None] = ContextVar("opened", default=None)
_line: ContextVar[int | None] = ContextVar("line", default=None)
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"
NOT_ASCII = re.compile(rb"[A-Za-z]{0,20}[\x80-\xff][A-Za-z\x80-\xff]{0,20}")
UTF8, UTF16, WINDOWS = "utf-8-sig", "utf-16", "cp1252"
GZIP = ".gz"
# Bytes that are decoded at once.
CHUNK = 2**20
# Bytes or characters of a line: a line needs several times as much memory.
MAX_LINE = 2**27
# Bytes of a file that is read as a whole, such as a JSON array; it needs up to four times as much memory.
MAX_WHOLE = 2**29
# Bytes of memory for the values of one JSON text: `[],` is 3 characters and needs 72 bytes.
MAX_PARSED = 2**31
# Characters of a JSON text whose values need far less than MAX_PARSED in any case.
PARSED_UNCHECKED = 2**20
# Memory of what a mark in JSON begins or separates in CPython: an object, a list, a value, a key with its pair.
BYTES_PER_MARK = {"{": 240, "[": 72, ",": 64, ":": 160}
# Bytes that a compressed file may unpack to: a small file can unpack to any number of them.
MAX_UNPACKED = 2**30


def data_suffix(path: Path) -> str:
    """Return the suffix in lower case, of a compressed file that of what it holds: `.jsonl` of `train.jsonl.gz`."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == GZIP else suffix


def count_unpacked(path: Path, size: int) -> None:
    """Raise FileFormatError if a file has unpacked to too many bytes."""
    if size > MAX_UNPACKED:
        limit = f"more than {MAX_UNPACKED // 2**20:,} MB"
        raise FileFormatError(f"{path.name} unpacks to {limit}; unpack and divide it")


def refuse_large_json(text: str, line: int | None = None) -> None:
    """Raise FileFormatError for JSON whose values would need more than MAX_PARSED bytes; it is not parsed for this."""
    if needs_too_much(text):
        message = f"expected JSON with fewer values: they would need more than {MAX_PARSED // 2**20} MB of memory"
        raise FileFormatError(message, line=line)


def needs_too_much(text: str) -> bool:
    """Return whether the values of a JSON text would need more than MAX_PARSED bytes of memory, estimated."""
    if len(text) < PARSED_UNCHECKED:
        return False
    return sum(size * text.count(mark) for mark, size in BYTES_PER_MARK.items()) > MAX_PARSED


def _open_binary(path: Path) -> BinaryIO:
    """Open a file; a compressed one is unpacked in memory."""
    if path.suffix.lower() != GZIP:
        return path.open("rb")
    with gzip.open(path) as file:
        data = file.read(MAX_UNPACKED + 1)
    count_unpacked(path, len(data))
    return io.BytesIO(data)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text) of every line that is not blank; only "\\n" ends a line, as in JSON lines."""
    record_read(path)
    try:
        with refuse_read_errors(path), _open_binary(path) as file:
            for number, raw in enumerate(limited_lines(file), 1):
                raw = raw.removeprefix(UTF8_MARK) if number == 1 else raw
                try:
                    text = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise _bad_byte(raw, error.start, number) from None
                if text and not text.isspace():
                    refuse_large_json(text, number)
                    _line.set(number)
                    yield number, text.strip("\r\n")
    finally:
        _line.set(None)


def current_line() -> int | None:
    """Return the number of the line that `read_lines` yielded last; None if no file is being read by lines."""
    return _line.get()


def read_text(path: Path) -> str:
    """Return the whole text of JSON or YAML; raises FileFormatError with the line that is not UTF-8, and for what needs
    more than MAX_WHOLE or MAX_PARSED."""
    record_read(path)
    with refuse_read_errors(path), _open_binary(path) as file:
        data = file.read(MAX_WHOLE + 1)
        if len(data) > MAX_WHOLE:
            raise FileFormatError(
                f"the file has more than {MAX_WHOLE // 2**20:,} MB and is read as a whole; convert it to JSON lines, "
                "which are read one at a time"
            )
        text = data.decode("utf-8-sig")
    refuse_large_json(text)
    return text


def limited_lines(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Yield the lines of a file; raises FileFormatError for one longer than MAX_LINE, which is not read."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise FileFormatError(f"expected a line of at most {MAX_LINE // 2**20} MB", line=number)
        yield line


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a table for the csv module, which handles line ends itself."""
    record_read(path)
    with (
        refuse_read_errors(path),
        io.TextIOWrapper(_open_binary(path), encoding=table_encoding(path), newline="") as file,
    ):
        yield file


def table_encoding(path: Path) -> str:
    """Return UTF16 for a file with its mark, WINDOWS for one that is not UTF-8 and can be that, otherwise UTF8."""
    with _open_binary(path) as file:
        if file.read(2) in UTF16_MARKS:
            return UTF16
    return next((name for name in (UTF8, WINDOWS) if _is_encoded(path, name)), UTF8)


def windows_word(path: Path) -> str:
    """Return the first word of a table in WINDOWS that is written differently in other encodings; "" for others."""
    if table_encoding(path) != WINDOWS:
        return ""
    with _open_binary(path) as file:
        found = next(filter(None, map(NOT_ASCII.search, limited_lines(file))))
    return found[0].decode(WINDOWS)


def _is_encoded(path: Path, encoding: str) -> bool:
    decoder = getincrementaldecoder(encoding)()
    try:
        with _open_binary(path) as file:
            for part in iter(partial(file.read, CHUNK), b""):
                decoder.decode(part)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def recording_reads() -> Iterator[set[Path]]:
    """Yield the set of the files that are read in full until the end of the block."""
    opened: set[Path] = set()
    token = _opened.set(opened)
    try:
        yield opened
    finally:
        _opened.reset(token)


def record_read(path: Path) -> None:
    """Record that a file is read in full, for `recording_reads`."""
    opened = _opened.get()
    if opened is not None:
        opened.add(path.resolve())


@contextmanager
def refuse_read_errors(path: Path) -> Iterator[None]:
    """Raise FileFormatError for errors of decoding and of the operating system."""
    try:
        yield
    except UnicodeDecodeError:
        raise _find_bad_line(path) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileFormatError(f"{path.name} is not a complete gzip file") from None
    except OSError as error:
        raise FileFormatError(f"{path.name} cannot be read: {error.strerror or error}") from None


def read_head(path: Path, length: int = 4096) -> str:
    """Return the text of the first `length` bytes without leading blanks, for recognising a format."""
    with refuse_read_errors(path), _open_binary(path) as file:
        head = file.read(length).removeprefix(UTF8_MARK)
    return head.decode("utf-8", errors="replace").lstrip()


def _find_bad_line(path: Path) -> FileFormatError:
    """Return the error with its line: a buffered decoder does not know the line, so the file is read again."""
    with _open_binary(path) as file:
        for number, raw in enumerate(limited_lines(file), 1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                return _bad_byte(raw, error.start, number)
    return FileFormatError("expected text in UTF-8")


def _bad_byte(raw: bytes, start: int, number: int) -> FileFormatError:
    if number == 1 and raw.startswith(UTF16_MARKS):
        return FileFormatError("expected text in UTF-8; this file is UTF-16: save it as UTF-8", line=1)
    return FileFormatError(f"expected text in UTF-8; byte 0x{raw[start]:02X} is not", line=number)


# JSON files that are read as a whole.


def load_json(path: Path) -> Any:
    """Return the JSON value of a file; raises FileFormatError for any other content."""
    return parse_json(read_text(path))


def parse_json(text: str) -> Any:
    """Return a JSON value; raises FileFormatError for invalid JSON, and for values that a database cannot store."""
    refuse_large_json(text)
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected JSON: {error.msg}", line=error.lineno) from None
    except ValueError:
        raise FileFormatError("expected JSON with numbers of at most 15 digits") from None
    except RecursionError:
        raise FileFormatError("expected JSON that is not nested so deep") from None
    if "\\u0000" in text:
        raise FileFormatError("expected text without NUL characters")
    return value


def _refuse_constant(name: str) -> Any:
    raise FileFormatError(f"expected JSON: {name} is not a number in JSON")


def begins_like(path: Path, bracket: str, *names: str | tuple[str, ...], length: int = 4096) -> bool:
    """Return whether a JSON file begins with a bracket and has the names of some keys in its first `length` bytes.

    Of names in a tuple one is enough.
    """
    if not path.is_file() or path.suffix != ".json":
        return False
    head = read_head(path, length)
    alternatives = [(name,) if isinstance(name, str) else name for name in names]
    return head.startswith(bracket) and all(any(f'"{name}"' in head for name in own) for own in alternatives)


# Atomic writing of files, and temporary folders.

FULL = (errno.ENOSPC, errno.EDQUOT)
# Errors of writing to an open file; others in the block of `open_output` concern something else.
WRITE_ERRORS = (*FULL, errno.EFBIG, errno.EIO)


@contextmanager
def open_output(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing, with the same line endings on every platform.

    The text is written under a temporary name in the same folder, which replaces the file at the end. After an error
    the earlier file is unchanged; a disk without space is a TiebreakError. Anything but a regular file, such as a pipe,
    is written directly.
    """
    target = path.resolve()
    if target.exists() and not target.is_file() and not target.is_dir():
        with _refuse_write_errors(path, WRITE_ERRORS), _open(target, "w") as stream:
            yield stream
        return
    temporary = _temporary_name(target)
    try:
        with _refuse_write_errors(path):
            if target.is_dir():
                raise IsADirectoryError(None, "it is a folder")
            stream = _open(temporary, "x")
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
        with _refuse_write_errors(path, WRITE_ERRORS), stream:
            yield stream
        with _refuse_write_errors(path):
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def temporary_folder(target: Path | None = None) -> Iterator[Path]:
    """Yield a new folder next to `target`, or in the system's folder for temporary files; it is removed at the end.

    The block may rename it. Raises OSError.
    """
    folder = _temporary_name(target or Path(tempfile.gettempdir()) / "tiebreak")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700 if target is None else 0o777)
    try:
        yield folder
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.name[:60]}.{secrets.token_hex(8)}.part")


def _open(path: Path, mode: str) -> TextIO:
    stream: TextIO = path.open(mode, encoding="utf-8", newline="")  # type: ignore[assignment]
    return stream


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
