"""Where the project is, where the public data sets are when they are next to it, and how YAML of tests is read."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"


def load_yaml(path: Path) -> Any:
    """Return the content of a file; the loader in C takes a tenth of the time."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), loader)
