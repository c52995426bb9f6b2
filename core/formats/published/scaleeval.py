"""ScaleEval's released debates (Chern et al. 2024, arXiv:2401.16788; https://github.com/GAIR-NLP/scaleeval).

    results/gpt3.5_vs_claude/helpfulness/multiagent_score/math.jsonl      debates: comparison, criterion, scenario
    results/gpt3.5_vs_claude/helpfulness/claude2_score/math.jsonl         their first opinions, judge by judge
    responses/claude-instant/math.jsonl                                   answers, system by system

Each file is one indented JSON array, despite its suffix. Two things were shuffled without saving the order: which
answer was "Submission 1", and which judge was "Speaker 1". Both are recovered by comparing the texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.rows import parse_text, read_rows
from core.formats.published.unknown_speakers import unknown_name
from core.formats.records import CriterionRecord, ItemRecord, Records, RunRecord, ScaleRecord, TraceRecord
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, Value
from core.protocols import Judge
from core.protocols.scaleeval.protocol import NAME, conclude
from core.protocols.scaleeval.settings import Settings
from core.trace import Event, Spec, Turn, TurnCompleted, VerdictReached

# Parses the files of ScaleEval's release: folders of debates, one JSON array for each criterion and scenario.

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


# Identifies the item of a released ScaleEval debate: its submissions were shuffled, and the order was not saved.

SCENARIOS = {
    "brainstorming": "brainstorming",
    "code": "coding",
    "dialog": "dialog",
    "judgement": "judgement",
    "math": "math",
    "opendomain_general": "open-domain general",
    "opendomain_science": "open-domain science",
    "write": "writing",
}
"""File name -> the paper's name of the scenario; any other file name is used unchanged."""


@dataclass(frozen=True)
class Answer:
    """One system's answer to one prompt."""

    prompt: str
    text: str


@dataclass
class ItemFinder:
    """The items of one comparison, "gpt3.5_vs_claude": each question once, regardless of its criteria."""

    comparison: str
    responses: Path | None
    """The folder with a folder of answers for each system; None if it is not available."""
    by_id: dict[str, Item] = field(default_factory=dict)
    """Item id -> item, of the debates so far."""
    _answers: dict[str, Sequence[Sequence[Answer]]] = field(default_factory=dict)

    def find(self, debate: Debate, scenario: str, criterion: str) -> tuple[Item, tuple[int, int]]:
        """Return the item, and the numbers of its responses shown as Submission 1 and Submission 2.

        Responses are in the order in which the comparison names the systems. If the texts are not among the
        systems' answers, the systems are unknown and the responses are in the debate's order.
        """
        index = self._question_index(debate, scenario)
        if index is not None:
            return self._matched_item(debate, scenario, index)
        return self._unmatched_item(debate, scenario, criterion)

    def _matched_item(self, debate: Debate, scenario: str, index: int) -> tuple[Item, tuple[int, int]]:
        pair = [answers[index] for answers in self._answer_lists(scenario)]
        systems = system_folders(self.comparison, self.responses)
        responses = [Response(text=answer.text, system=name) for answer, name in zip(pair, systems, strict=True)]
        item = self._add(f"{self.comparison}/{scenario}/{index + 1}", debate, scenario, responses)
        return item, (1, 2) if _is_same_text(debate.submissions[0], responses[0].text) else (2, 1)

    def _unmatched_item(self, debate: Debate, scenario: str, criterion: str) -> tuple[Item, tuple[int, int]]:
        prefix = f"{self.comparison}/{scenario}/{debate.number} · "
        for item_id, item in self.by_id.items():
            texts = tuple(response.text for response in item.responses)
            if item_id.startswith(prefix) and set(texts) == set(debate.submissions):
                return item, (1, 2) if texts == debate.submissions else (2, 1)
        responses = [Response(text=text) for text in debate.submissions]
        return self._add(prefix + criterion, debate, scenario, responses), (1, 2)

    def _add(self, item_id: str, debate: Debate, scenario: str, responses: Sequence[Response]) -> Item:
        if item_id not in self.by_id:
            self.by_id[item_id] = Item(
                id=item_id,
                prompt=debate.question,
                responses=tuple(responses),
                scenario=SCENARIOS.get(scenario, scenario),
                group=f"{scenario}/{item_id.removeprefix(f'{self.comparison}/{scenario}/')}",
            )
        return self.by_id[item_id]

    def _question_index(self, debate: Debate, scenario: str) -> int | None:
        """Return the index of the question in the files of answers; None if it is not there.

        The debate's own number is tried first: some questions occur twice.
        """
        lists = self._answer_lists(scenario)
        if len(lists) != 2:
            return None
        length = min(len(lists[0]), len(lists[1]))
        candidates = [debate.number - 1, *range(length)]
        return next((n for n in candidates if 0 <= n < length and _matches(debate, lists[0][n], lists[1][n])), None)

    def _answer_lists(self, scenario: str) -> Sequence[Sequence[Answer]]:
        if scenario not in self._answers:
            folders = system_folders(self.comparison, self.responses)
            files = [self.responses / name / f"{scenario}.jsonl" for name in folders if self.responses]
            self._answers[scenario] = [_read_answers(file) for file in files if file.is_file()]
        return self._answers[scenario]


def system_folders(comparison: str, responses: Path | None) -> tuple[str, ...]:
    """Return the two folders named by "gpt3.5_vs_claude", such as gpt3.5 and claude-instant; empty if ambiguous."""
    names = [folder.name for folder in sorted(responses.iterdir()) if folder.is_dir()] if responses else []
    folders = [_find_folder(part, names) for part in comparison.split("_vs_")]
    if len(folders) != 2 or folders[0] == folders[1]:
        return ()
    return tuple(folder for folder in folders if folder) if all(folders) else ()


def _find_folder(part: str, names: Sequence[str]) -> str | None:
    if part in names:
        return part
    matching = [name for name in names if name.startswith(part)]
    return matching[0] if len(matching) == 1 else None


def _read_answers(file: Path) -> Sequence[Answer]:
    with name_file_in_errors(file):
        return [
            Answer(text_field(row, "prompt", line), text_field(row, "response", line)) for line, row in read_rows(file)
        ]


def _matches(debate: Debate, answer: Answer, other: Answer) -> bool:
    """Return whether two answers to one prompt are the debate's submissions, in either order."""
    if not _is_same_text(debate.question, answer.prompt):
        return False
    first, second = debate.submissions
    in_order = _is_same_text(first, answer.text) and _is_same_text(second, other.text)
    return in_order or (_is_same_text(first, other.text) and _is_same_text(second, answer.text))


def _is_same_text(text: str, other: str) -> bool:
    """Compare without whitespace: some of the files were stripped and others were not."""
    return text == other or text.split() == other.split()


# Identifies the judges of a released ScaleEval debate.
#
# The debates name only "Speaker 1", in an order that was shuffled for each debate and not saved. The first opinions
# were also saved in a folder for each judge, so a speaker is identified by its text. The models are those that the
# paper names (Section 6, Setup).

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


# Definitions are stored in studies: with another text, a second import into the same study would be refused.
CRITERIA = {
    "creativity": "Which response has the fresher ideas, and still does what was asked.",
    "helpfulness": "Which response is of more use to the person who asked: right, complete and to the point.",
    "interpretability": "Which response is easier to follow: what it does, how, and why it is done so.",
    "reasoning": "Which response gets to its answer by sounder steps.",
}
"""Our own definitions; the rubrics of the judges' prompts belong to the release."""

IdentifiedDebate = tuple[Debate, str, Speakers]
"""A debate, the file name of its scenario, and its judges."""


def recognises(path: Path) -> bool:
    """Return whether it is a folder of debates, a folder of such folders, or the folder of results and responses."""
    return bool(comparison_folders(path))


def read(path: Path) -> Records:
    """Yield criteria, each item once, a run for each comparison and criterion, and a trace for each debate.

    Raises FileFormatError with file, line and field.
    """
    comparisons = comparison_folders(path)
    if not comparisons:
        raise FileFormatError(f"expected folders <comparison>/<criterion>/{DEBATES} in {path.name}, and there are none")
    for name in sorted({folder.name for comparison in comparisons for folder in criterion_folders(comparison)}):
        yield CriterionRecord(criterion=_criterion(name))
        yield ScaleRecord(kind="preference", criterion=name, scale=PREFERENCE)
    for comparison in comparisons:
        yield from _read_comparison(comparison)


def _read_comparison(comparison: Path) -> Records:
    items = ItemFinder(comparison.name, find_responses_folder(comparison))
    for folder in criterion_folders(comparison):
        debates = list(_identified_debates(folder))
        run = f"{comparison.name} · {folder.name}"
        yield _run(run, folder.name, debates)
        for debate, scenario, speakers in debates:
            known_items = len(items.by_id)
            item, shown = items.find(debate, scenario, folder.name)
            if len(items.by_id) > known_items:
                yield ItemRecord(item=item)
            yield TraceRecord(run=run, item=item.id, events=tuple(_events(debate, speakers, shown, folder.name)))


def _identified_debates(criterion: Path) -> Iterator[IdentifiedDebate]:
    for file in sorted((criterion / DEBATES).glob("*.jsonl")):
        opinions = read_first_opinions(criterion, file.stem)
        for debate in read_debates(file):
            yield debate, file.stem, identify_judges(debate, opinions)


def _run(name: str, criterion: str, debates: list[IdentifiedDebate]) -> RunRecord:
    """Return a run with the paper's settings: up to two rounds of discussion, one speaker after the other."""
    settings = Settings(judges=_judges(debates), criterion=_criterion(criterion), rounds=3, reply_order="sequential")
    return RunRecord(name=name, protocol=NAME, criterion=criterion, settings=settings.model_dump(mode="json"))


def _judges(debates: list[IdentifiedDebate]) -> tuple[Judge, ...]:
    """Return every speaker: the identified judges in the paper's order, then the others by name."""
    judges = {judge.name: judge for _, _, speakers in debates for judge in speakers.judges.values()}
    order = [judge.name for judge in JUDGES.values()]
    return tuple(sorted(judges.values(), key=lambda judge: _position(judge.name, order)))


def _position(name: str, order: list[str]) -> tuple[int, str]:
    return (order.index(name), "") if name in order else (len(order), name)


def _events(debate: Debate, speakers: Speakers, shown: tuple[int, int], criterion: str) -> Iterator[Event]:
    turns = [_turn(speech, speakers, shown) for speech in debate.speeches]
    for ask, turn in enumerate(turns):
        yield TurnCompleted(ask=ask, turn=turn)
    judges = sorted(speakers.judges.values(), key=lambda judge: [*JUDGES.values(), judge].index(judge))
    yield VerdictReached(verdict=conclude(turns, [judge.name for judge in judges], criterion))


def _turn(speech: Speech, speakers: Speakers, shown: tuple[int, int]) -> Turn:
    """Return a speech as a turn; prompts, tokens and times were not published."""
    reading, problem = _reading(speech.score, shown)
    return Turn(
        speaker=speakers.name(speech.speaker),
        step="reply" if speech.round else "opinion",
        round=speech.round,
        model=speakers.model(speech.speaker),
        reply=speech.text,
        reading=reading,
        problem=problem,
        shown=shown,
    )


def _reading(score: object, shown: tuple[int, int]) -> tuple[Value | None, str]:
    """Return (number of the item's response, ""), or (None, reason): only 0, 1 and 2 are choices."""
    if score is None:
        return None, "no score was recorded"
    if isinstance(score, bool) or str(score) not in ("0", "1", "2"):
        return None, f"the recorded score is {str(score)[:40]}, which is not one of 1, 2 or 0"
    return (0, *shown)[int(str(score))], ""


def _criterion(name: str) -> Criterion:
    return Criterion(name=name, definition=CRITERIA.get(name, ""))
