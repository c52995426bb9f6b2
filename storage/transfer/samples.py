"""The sample studies of the protocols: items, traces and labels that were written for a tour of the pages."""

from pathlib import Path

from core.protocols.registry import PROTOCOLS, usable

# A study of simulated judges and annotators, and of the local model; docs/showcase.md states what is simulated.
SHOWCASE_NAME = "Showcase"
SHOWCASE = Path(__file__).parent / "showcase.jsonl.gz"


def studies() -> dict[str, str]:
    """Return name of the sample study -> its protocol; a new user sees the first one first."""
    return {f"Sample: {protocol.title}": name for name, protocol in usable().items() if protocol.sample}


def path(protocol: str = "scaleeval") -> Path:
    """Return the file of a protocol's sample study: `core.formats.records` as JSON lines."""
    return PROTOCOLS[protocol].folder / "sample.jsonl"
