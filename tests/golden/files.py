"""Golden files: what was once looked at and found good. TIEBREAK_UPDATE_GOLDEN=1 writes them anew."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def golden(name: str, text: str) -> None:
    """Assert that `text` is what the golden file `name` holds."""
    file = FOLDER / name
    if os.environ.get("TIEBREAK_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    assert file.exists(), f"{name} is missing: run with TIEBREAK_UPDATE_GOLDEN=1 and look at it"
    assert text + "\n" == file.read_text(encoding="utf-8")
