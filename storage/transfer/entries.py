"""Entries of an import in a temporary file."""

import pickle
import tempfile
from collections.abc import Iterator
from typing import IO, Generic, TypeVar

Entry = TypeVar("Entry")
BATCH = 4_000
"""Rows in memory at once."""
MAX_LENGTH = 2**25
"""Characters of long entries in memory at once."""


class Spool(Generic[Entry]):
    """Entries in the order in which they were added, in batches in a temporary file."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        """Entries in memory at once."""
        self._file: IO[bytes] | None = None
        self._pending: list[Entry] = []
        self._length = self._written = 0
        """Characters of the pending entries, and the number of batches in the file."""
        self.size = 0

    def add(self, entry: Entry, length: int = 0) -> None:
        """Append an entry; `length` has its characters, if they can be many."""
        self._pending.append(entry)
        self._length += length
        self.size += 1
        if len(self._pending) == self.batch or self._length > MAX_LENGTH:
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
            pickle.dump(self._pending, self._file, pickle.HIGHEST_PROTOCOL)
            self._pending, self._length = [], 0
            self._written += 1

    def batches(self) -> Iterator[list[Entry]]:
        """Yield the entries; nothing can be added afterwards."""
        if self._file:
            self._file.seek(0)
            for _ in range(self._written):
                yield pickle.load(self._file)
        if self._pending:
            yield self._pending

    def close(self) -> None:
        """Delete the file."""
        if self._file:
            self._file.close()
