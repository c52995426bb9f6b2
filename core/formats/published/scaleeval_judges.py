"""Who spoke in a released ScaleEval debate.

The debates say only "Speaker 1"; their order was drawn anew for each, and not saved. The first opinion of each was
also saved by itself, in a folder for each judge: the same words tell who is who. The models are those that the paper
names (Section 6, Setup).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.formats.mapping.rows import rows
from core.formats.published.scaleeval_files import Debate, naming
from core.protocols.scaleeval.protocol import Judge
from core.trace import Spec

JUDGES = {
    "gpt4_turbo_score": Judge(name="gpt-4-turbo", spec=Spec(model="gpt-4-1106-preview")),
    "claude2_score": Judge(name="claude-2", spec=Spec(model="claude-2")),
    "gpt35_turbo_score": Judge(name="gpt-3.5-turbo", spec=Spec(model="gpt-3.5-turbo-1106")),
}
"""Folder of first opinions -> the judge, in the paper's order."""

Alone = Mapping[str, Mapping[int, str]]
"""Folder -> number of the debate -> the judge's first opinion."""


@dataclass(frozen=True)
class Cast:
    """The judges of one debate, by speaker number."""

    judges: Mapping[int, Judge]

    def name(self, speaker: int) -> str:
        return self.judges[speaker].name

    def model(self, speaker: int) -> str:
        return self.judges[speaker].spec.model


def alone(criterion: Path, scenario: str) -> Alone:
    """The first opinions as they were saved judge by judge; empty where they are not there."""
    files = {name: criterion / name / f"{scenario}.jsonl" for name in JUDGES}
    return {name: _opinions(file) for name, file in files.items() if file.is_file()}


def cast(debate: Debate, opinions: Alone) -> Cast:
    """Each speaker by its own words, the last one by exclusion; all stay numbers where two cannot be told."""
    speakers = {speech.speaker: speech.text for speech in debate.speeches if speech.round == 0}
    found = {speaker: _who(text, debate.number, opinions) for speaker, text in speakers.items()}
    left = [name for name in JUDGES if name not in found.values()]
    unknown = [speaker for speaker, name in found.items() if name is None]
    if len(unknown) == 1 and len(left) == 1 and len(opinions) == len(JUDGES):
        found[unknown[0]] = left[0]
    names = [name for name in found.values() if name is not None]
    if len(set(names)) < len(speakers):
        return Cast({speaker: unnamed(speaker) for speaker in _speakers(debate)})
    judges = {speaker: JUDGES[name] for speaker, name in found.items() if name is not None}
    return Cast({speaker: judges.get(speaker) or unnamed(speaker) for speaker in _speakers(debate)})


def unnamed(speaker: int) -> Judge:
    """A speaker of whom nothing is known."""
    return Judge(name=f"speaker {speaker}", spec=Spec(model="unknown"))


def _speakers(debate: Debate) -> list[int]:
    return sorted({speech.speaker for speech in debate.speeches})


def _who(text: str, number: int, opinions: Alone) -> str | None:
    """The only judge who said this; None where nobody or several did."""
    found = [name for name, texts in opinions.items() if text.strip() and texts.get(number) == text]
    return found[0] if len(found) == 1 else None


def _opinions(file: Path) -> dict[int, str]:
    """A record that is not as expected tells nothing of who spoke; the debates can be read without it."""
    with naming(file):
        told = [(row.get("ID"), row.get("Reasoning")) for _, row in rows(file)]
    return {number: text for number, text in told if isinstance(number, int) and isinstance(text, str)}
