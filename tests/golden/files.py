"""Golden files: expected prompts, reviewed by a person. TIEBREAK_UPDATE_GOLDEN=1 rewrites them."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def assert_golden(name: str, text: str) -> None:
    """Assert that `text` is equal to the golden file `name`."""
    file = FOLDER / name
    if os.environ.get("TIEBREAK_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    assert file.exists(), f"{name} is missing: run with TIEBREAK_UPDATE_GOLDEN=1 and review it"
    assert text + "\n" == file.read_text(encoding="utf-8")
