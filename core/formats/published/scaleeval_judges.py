"""Identifies the judges of a released ScaleEval debate.

The debates name only "Speaker 1", in an order that was shuffled for each debate and not saved. The first opinions were
also saved in a folder for each judge, so a speaker is identified by its text. The models are those that the paper
names (Section 6, Setup).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.formats.mapping.rows import read_rows
from core.formats.published.scaleeval_files import Debate, name_file_in_errors
from core.formats.published.unknown_speakers import unknown_name
from core.protocols import Judge
from core.trace import Spec

JUDGES = {
    "gpt4_turbo_score": Judge(name="gpt-4-turbo", spec=Spec(model="gpt-4-1106-preview")),
    "claude2_score": Judge(name="claude-2", spec=Spec(model="claude-2")),
    "gpt35_turbo_score": Judge(name="gpt-3.5-turbo", spec=Spec(model="gpt-3.5-turbo-1106")),
}
"""Folder of first opinions -> judge, in the paper's order."""

FirstOpinions = Mapping[str, Mapping[int, str]]
"""Folder -> number of the debate -> the judge's first opinion."""


@dataclass(frozen=True)
class Speakers:
    """The judges of one debate by speaker number."""

    judges: Mapping[int, Judge]

    def name(self, speaker: int) -> str:
        return self.judges[speaker].name

    def model(self, speaker: int) -> str:
        return self.judges[speaker].spec.model


def read_first_opinions(criterion: Path, scenario: str) -> FirstOpinions:
    """Return the first opinions of each judge; judges without a file are left out."""
    files = {name: criterion / name / f"{scenario}.jsonl" for name in JUDGES}
    return {name: _read_opinions(file) for name, file in files.items() if file.is_file()}


def identify_judges(debate: Debate, opinions: FirstOpinions) -> Speakers:
    """Return the judge of each speaker by its text, the last one by elimination.

    All stay unknown when two speakers are identified as the same judge, or when several cannot be identified.
    """
    texts = {speech.speaker: speech.text for speech in debate.speeches if speech.round == 0}
    folders = {speaker: _find_judge(text, debate.number, opinions) for speaker, text in texts.items()}
    unused = [name for name in JUDGES if name not in folders.values()]
    unidentified = [speaker for speaker, name in folders.items() if name is None]
    if len(unidentified) == 1 and len(unused) == 1 and len(opinions) == len(JUDGES):
        folders[unidentified[0]] = unused[0]
    judges = {speaker: JUDGES[name] for speaker, name in folders.items() if name is not None}
    if len({judge.name for judge in judges.values()}) < len(texts):
        judges = {}
    return Speakers({speaker: judges.get(speaker) or unknown_judge(speaker) for speaker in _speaker_numbers(debate)})


def unknown_judge(speaker: int) -> Judge:
    """Return the judge of a speaker that cannot be identified."""
    return Judge(name=unknown_name(speaker), spec=Spec(model="unknown"))


def _speaker_numbers(debate: Debate) -> list[int]:
    return sorted({speech.speaker for speech in debate.speeches})


def _find_judge(text: str, number: int, opinions: FirstOpinions) -> str | None:
    """Return the folder of the only judge with this first opinion; None if no judge or several have it."""
    folders = [name for name, texts in opinions.items() if text.strip() and texts.get(number) == text]
    return folders[0] if len(folders) == 1 else None


def _read_opinions(file: Path) -> dict[int, str]:
    """Return debate number -> text. Invalid records are skipped: debates can be imported without these files."""
    with name_file_in_errors(file):
        pairs = [(row.get("ID"), row.get("Reasoning")) for _, row in read_rows(file)]
    return {number: text for number, text in pairs if isinstance(number, int) and isinstance(text, str)}
