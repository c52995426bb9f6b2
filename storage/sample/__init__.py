"""The sample study: items, debates and labels written for the tour, so that every page has something to show."""

from pathlib import Path


def path() -> Path:
    """The study as a file of our own: JSON lines of `core.formats.records`, UTF-8."""
    return Path(__file__).parent / "scaleeval.jsonl"
