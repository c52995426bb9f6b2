"""Where the project is, and where the public data sets are when they are next to it."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
