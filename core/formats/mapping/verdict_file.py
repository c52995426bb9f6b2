"""Verdicts of a table in a temporary file, because there may be hundreds of thousands of them until the last row."""

import pickle
import tempfile
from collections.abc import Sequence
from typing import IO, Any

from core.frozen import Frozen
from core.labels import Opinion
from core.trace import Turn


class VerdictFile:
    """Opinions with the turns behind them, as the fields that were set: objects would take ten times as much memory."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._size = 0
        """Bytes written."""
        self._at_end = True

    def add(self, opinion: Opinion, turns: Sequence[Turn]) -> int:
        """Append an opinion with its turns, and return its place."""
        self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        if not self._at_end:
            self._file.seek(self._size)
            self._at_end = True
        place = self._size
        fields = _fields(opinion), [_fields(turn) | {"usage": _fields(turn.usage)} for turn in turns]
        self._size += self._file.write(pickle.dumps(fields, pickle.HIGHEST_PROTOCOL))
        return place

    def read(self, place: int) -> tuple[Opinion, list[Turn]]:
        """Return the opinion at a place, and its turns."""
        if self._file is None:
            raise LookupError(place)
        self._at_end = False
        self._file.seek(place)
        opinion, turns = pickle.load(self._file)
        return Opinion(**opinion), [Turn(**turn) for turn in turns]

    def close(self) -> None:
        """Delete the file."""
        if self._file:
            self._file.close()


def _fields(value: Frozen) -> dict[str, Any]:
    """Return the fields that were set; values of fields are not copied."""
    return {name: getattr(value, name) for name in value.model_fields_set}
