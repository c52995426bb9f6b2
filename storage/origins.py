"""What was said is known again by a hash of it, so that the same file twice adds nothing."""

import hashlib
from collections import Counter
from typing import Any

from core.formats.records import MarkRecord
from core.labels import Label, Ruling


def origin(study_id: int, said: Label | Ruling | MarkRecord, repeat: int = 0) -> str:
    """A hash of the study and the whole record; `repeat` tells the second identical line of a file from the first."""
    text = f"{study_id}\n{type(said).__name__}\n{said.model_dump_json()}\n{repeat}"
    return hashlib.sha256(text.encode()).hexdigest()


class Repeats:
    """Counts identical records within one file."""

    def __init__(self, study_id: int) -> None:
        self.study_id = study_id
        self.seen: Counter[str] = Counter()

    def origin(self, said: Any) -> str:
        """The origin of the next occurrence of `said`."""
        first = origin(self.study_id, said)
        self.seen[first] += 1
        return first if self.seen[first] == 1 else origin(self.study_id, said, self.seen[first] - 1)
