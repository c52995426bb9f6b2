"""The sample studies: items, traces and labels written for the tour, so that every page has something to show."""

from pathlib import Path

from core.protocols.registry import PROTOCOLS


def studies() -> dict[str, str]:
    """Name of the sample study -> its protocol; the first is what a new user sees first."""
    return {f"Sample: {protocol.title}": name for name, protocol in PROTOCOLS.items() if protocol.sample}


def path(protocol: str = "scaleeval") -> Path:
    """The sample study of a protocol: JSON lines of `core.formats.records`, UTF-8."""
    return PROTOCOLS[protocol].folder / "sample.jsonl"
