"""The sample studies: items, traces and labels written for the tour, so that every page has something to show."""

from pathlib import Path

STUDIES = {
    "Sample: ScaleEval": "scaleeval",
    "Sample: ChatEval": "chateval",
    "Sample: ReFeR": "refer",
    "Sample: DnA-Eval": "dna_eval",
    "Sample: MetaCritique": "metacritique",
}
"""Name of the study -> its file here; the first is what a newcomer sees first."""


def path(name: str = "scaleeval") -> Path:
    """A study as a file of our own: JSON lines of `core.formats.records`, UTF-8."""
    return Path(__file__).parent / f"{name}.jsonl"
