"""Entries of an import in a temporary file."""

import pickle
import tempfile
from collections.abc import Iterator
from typing import IO, Generic, TypeVar

Entry = TypeVar("Entry")
BATCH = 4_000
"""Rows in memory at once."""


class Spool(Generic[Entry]):
    """Entries in the order in which they were added, in batches in a temporary file."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        """Entries in memory at once."""
        self._file: IO[bytes] | None = None
        self._pending: list[Entry] = []
        self.size = 0

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        self._pending.append(entry)
        self.size += 1
        if len(self._pending) == self.batch:
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
            pickle.dump(self._pending, self._file, pickle.HIGHEST_PROTOCOL)
            self._pending = []

    def batches(self) -> Iterator[list[Entry]]:
        """Yield the entries; nothing can be added afterwards."""
        if self._file:
            self._file.seek(0)
            for _ in range((self.size - len(self._pending)) // self.batch):
                yield pickle.load(self._file)
        if self._pending:
            yield self._pending

    def close(self) -> None:
        """Delete the file."""
        if self._file:
            self._file.close()
