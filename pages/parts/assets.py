"""The style sheets and scripts that stand beside the pages."""

from pathlib import Path

PAGES = Path(__file__).parents[1]


def read(*names: str) -> str:
    """The joined text of files, each named by its path below `pages`."""
    return "\n".join((PAGES / name).read_text(encoding="utf-8") for name in names)
