"""The files of ScaleEval's release: folders of debates, one JSON array for each criterion and scenario."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.formats.mapping.cells import text
from core.formats.mapping.rows import rows
from core.problems import FileRefused

DEBATES = "multiagent_score"
SPEECH = re.compile(r"Speaker (\d+) - (?:Initial Evaluation|Discussion Round (\d+))")


@dataclass(frozen=True)
class Speech:
    """What a speaker said in a round; round 0 is the first opinion."""

    speaker: int
    round: int
    text: str
    score: Any
    """As the file has it: text, a number or nothing, and not always 0, 1 or 2."""


@dataclass(frozen=True)
class Debate:
    """One record of a file."""

    number: int
    question: str
    submissions: tuple[str, str]
    speeches: tuple[Speech, ...]
    """In the order in which they were spoken."""


def comparisons(path: Path) -> list[Path]:
    """The folders of debates, such as gpt3.5_vs_claude: `path` itself, those in it, or those in its results."""
    if not path.is_dir():
        return []
    if criteria(path):
        return [path]
    for parent in (path, path / "results"):
        found = [folder for folder in _folders(parent) if criteria(folder)]
        if found:
            return found
    return []


def criteria(comparison: Path) -> list[Path]:
    """The folders of a comparison that hold debates, one for each criterion."""
    return [folder for folder in _folders(comparison) if any((folder / DEBATES).glob("*.jsonl"))]


def responses_of(comparison: Path) -> Path | None:
    """The folder `responses`, beside the comparison or up to two levels above it."""
    for parent in (comparison, comparison.parent, comparison.parent.parent):
        if (parent / "responses").is_dir():
            return parent / "responses"
    return None


def debates(file: Path) -> Iterator[Debate]:
    """The debates of one file, in its order."""
    with naming(file):
        for line, row in rows(file):
            yield _debate(row, line)


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """A release is many files, so what is refused says in which of them."""
    try:
        yield
    except FileRefused as error:
        raise FileRefused(f"{'/'.join(file.parts[-3:])}: {error}") from None


def said(row: Mapping[str, Any], field: str, line: int) -> str:
    """The text of a field."""
    value = row.get(field)
    if not isinstance(value, str):
        raise FileRefused("expected text" if field in row else "this field is missing", line=line, field=field)
    return text(value, line, field) or ""


def _debate(row: Mapping[str, Any], line: int) -> Debate:
    number = row.get("id")
    if not isinstance(number, int) or isinstance(number, bool):
        raise FileRefused("expected a whole number", line=line, field="id")
    speeches = [_speech(row[name], name, match, line) for name in row if (match := SPEECH.fullmatch(name))]
    if not any(speech.round == 0 for speech in speeches):
        raise FileRefused("this field is missing", line=line, field="Speaker 1 - Initial Evaluation")
    return Debate(
        number=number,
        question=said(row, "Question", line),
        submissions=(said(row, "Submission 1", line), said(row, "Submission 2", line)),
        speeches=tuple(sorted(speeches, key=lambda speech: speech.round)),
    )


def _speech(value: Any, name: str, match: re.Match[str], line: int) -> Speech:
    if not isinstance(value, dict) or "score" not in value:
        raise FileRefused("expected a reasoning and a score", line=line, field=name)
    words = said(value, "reasoning", line) if value.get("reasoning") is not None else ""
    return Speech(speaker=int(match[1]), round=int(match[2] or 0), text=words, score=value["score"])


def _folders(parent: Path) -> list[Path]:
    return sorted(folder for folder in parent.iterdir() if folder.is_dir()) if parent.is_dir() else []
