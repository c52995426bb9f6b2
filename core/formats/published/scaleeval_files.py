"""Parses the files of ScaleEval's release: folders of debates, one JSON array for each criterion and scenario."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.cells import parse_text
from core.formats.mapping.rows import read_rows

DEBATES = "multiagent_score"
SPEECH = re.compile(r"Speaker (\d+) - (?:Initial Evaluation|Discussion Round (\d+))")


@dataclass(frozen=True)
class Speech:
    """A speaker's text and score in one round; round 0 is the first opinion."""

    speaker: int
    round: int
    text: str
    score: Any
    """As in the file: text, a number or null, and not always 0, 1 or 2."""


@dataclass(frozen=True)
class Debate:
    """One record of a file."""

    number: int
    question: str
    submissions: tuple[str, str]
    speeches: tuple[Speech, ...]
    """By round, and in the order of the file within a round."""


def comparison_folders(path: Path) -> list[Path]:
    """Return folders such as gpt3.5_vs_claude: `path` itself, those in it, or those in its folder `results`."""
    if not path.is_dir():
        return []
    if criterion_folders(path):
        return [path]
    for parent in (path, path / "results"):
        folders = [folder for folder in _subfolders(parent) if criterion_folders(folder)]
        if folders:
            return folders
    return []


def criterion_folders(comparison: Path) -> list[Path]:
    """Return the folders of a comparison that contain debates, one for each criterion."""
    return [folder for folder in _subfolders(comparison) if any((folder / DEBATES).glob("*.jsonl"))]


def find_responses_folder(comparison: Path) -> Path | None:
    """Return the folder `responses` in the comparison or up to two levels above it."""
    for parent in (comparison, comparison.parent, comparison.parent.parent):
        if (parent / "responses").is_dir():
            return parent / "responses"
    return None


def read_debates(file: Path) -> Iterator[Debate]:
    """Yield the debates of one file in order."""
    with name_file_in_errors(file):
        for line, row in read_rows(file):
            yield _parse_debate(row, line)


@contextmanager
def name_file_in_errors(file: Path) -> Iterator[None]:
    """Add the path to errors: a release consists of many files of the same names."""
    try:
        yield
    except FileFormatError as error:
        raise FileFormatError(f"{'/'.join(file.parts[-3:])}: {error}") from None


def text_field(row: Mapping[str, Any], field: str, line: int) -> str:
    """Return the text of a field; raises FileFormatError if it is missing or not text."""
    value = row.get(field)
    if not isinstance(value, str):
        raise FileFormatError("expected text" if field in row else "this field is missing", line=line, field=field)
    return parse_text(value, line, field) or ""


def _parse_debate(row: Mapping[str, Any], line: int) -> Debate:
    number = row.get("id")
    if not isinstance(number, int) or isinstance(number, bool):
        raise FileFormatError("expected a whole number", line=line, field="id")
    speeches = [_parse_speech(row[name], name, match, line) for name in row if (match := SPEECH.fullmatch(name))]
    if not any(speech.round == 0 for speech in speeches):
        raise FileFormatError("this field is missing", line=line, field="Speaker 1 - Initial Evaluation")
    return Debate(
        number=number,
        question=text_field(row, "Question", line),
        submissions=(text_field(row, "Submission 1", line), text_field(row, "Submission 2", line)),
        speeches=tuple(sorted(speeches, key=lambda speech: speech.round)),
    )


def _parse_speech(value: Any, name: str, match: re.Match[str], line: int) -> Speech:
    if not isinstance(value, dict) or "score" not in value:
        raise FileFormatError("expected a reasoning and a score", line=line, field=name)
    text = text_field(value, "reasoning", line) if value.get("reasoning") is not None else ""
    return Speech(speaker=int(match[1]), round=int(match[2] or 0), text=text, score=value["score"])


def _subfolders(parent: Path) -> list[Path]:
    return sorted(folder for folder in parent.iterdir() if folder.is_dir()) if parent.is_dir() else []
