"""Style sheets and scripts, which are in the folders of the pages that use them."""

from pathlib import Path

PAGES = Path(__file__).parents[1]


def read(*names: str) -> str:
    """Return the joined text of files, each named by its path below `pages`."""
    return "\n".join((PAGES / name).read_text(encoding="utf-8") for name in names)
