"""ScaleEval's released debates (Chern et al. 2024, arXiv:2401.16788; https://github.com/GAIR-NLP/scaleeval).

    results/gpt3.5_vs_claude/helpfulness/multiagent_score/math.jsonl      debates: comparison, criterion, scenario
    results/gpt3.5_vs_claude/helpfulness/claude2_score/math.jsonl         their first opinions, judge by judge
    responses/claude-instant/math.jsonl                                   answers, system by system

Each file is one indented JSON array, despite its suffix. Two things were shuffled without saving the order: which
answer was "Submission 1", and which judge was "Speaker 1". Both are recovered by comparing the texts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.annotator_names import unknown_name
from core.errors import FileFormatError
from core.formats.mapping.rows import parse_text, read_rows
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

# File name -> the paper's name of the scenario; any other file name is used unchanged.
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


FIELDS = ("prompt", "response")
# A prompt, and one system's answer to it.
Answer = tuple[str, str]


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
        lists = self._answer_lists(scenario)
        pairs = list(zip(*lists, strict=False)) if len(lists) == 2 else []
        # The debate's own number is tried first: some questions occur twice.
        for index in (debate.number - 1, *range(len(pairs))):
            if 0 <= index < len(pairs) and _matches(debate, *pairs[index]):
                systems = system_folders(self.comparison, self.responses)
                texts = [text for _, text in pairs[index]]
                item = self._add(f"{index + 1}", debate, scenario, texts, systems)
                return item, (1, 2) if _words(debate.submissions[0]) == _words(texts[0]) else (2, 1)
        name = f"{debate.number} · "
        for item_id, item in self.by_id.items():
            known = tuple(response.text for response in item.responses)
            if item_id.startswith(f"{self.comparison}/{scenario}/{name}") and set(known) == set(debate.submissions):
                return item, (1, 2) if known == debate.submissions else (2, 1)
        return self._add(name + criterion, debate, scenario, debate.submissions, (None, None)), (1, 2)

    def _add(
        self, name: str, debate: Debate, scenario: str, texts: Sequence[str], systems: Sequence[str | None]
    ) -> Item:
        id = f"{self.comparison}/{scenario}/{name}"
        if id not in self.by_id:
            responses = tuple(Response(text=text, system=own) for text, own in zip(texts, systems, strict=True))
            where = {"scenario": SCENARIOS.get(scenario, scenario), "group": f"{scenario}/{name}"}
            self.by_id[id] = Item(id=id, prompt=debate.question, responses=responses, **where)
        return self.by_id[id]

    def _answer_lists(self, scenario: str) -> Sequence[Sequence[Answer]]:
        if scenario not in self._answers:
            folders = system_folders(self.comparison, self.responses)
            lists: list[list[Answer]] = []
            for file in (self.responses / name / f"{scenario}.jsonl" for name in folders if self.responses):
                if file.is_file():
                    with name_file_in_errors(file):
                        fields = [[text_field(row, name, line) for name in FIELDS] for line, row in read_rows(file)]
                    lists.append([(prompt, text) for prompt, text in fields])
            self._answers[scenario] = lists
        return self._answers[scenario]


def system_folders(comparison: str, responses: Path | None) -> tuple[str, ...]:
    """Return the two folders named by "gpt3.5_vs_claude", such as gpt3.5 and claude-instant; empty if ambiguous."""
    names = [folder.name for folder in sorted(responses.iterdir()) if folder.is_dir()] if responses else []
    found = []
    for part in comparison.split("_vs_"):
        matching = [part] if part in names else [name for name in names if name.startswith(part)]
        found += matching if len(matching) == 1 else []
    return tuple(found) if len(found) == len(set(found)) == 2 and comparison.count("_vs_") == 1 else ()


def _matches(debate: Debate, answer: Answer, other: Answer) -> bool:
    """Return whether two answers to one prompt are the debate's submissions, in either order."""
    question, prompt, *texts = map(_words, (debate.question, answer[0], *debate.submissions, answer[1], other[1]))
    return question == prompt and texts[2:] in (texts[:2], texts[1::-1])


def _words(text: str) -> list[str]:
    """Return a text without whitespace: some of the files were stripped and others were not."""
    return text.split()


# Identifies the judges of a released ScaleEval debate.
#
# The debates name only "Speaker 1", in an order that was shuffled for each debate and not saved. The first opinions
# were also saved in a folder for each judge, so a speaker is identified by its text. The models are those that the
# paper names (Section 6, Setup).

# Folder of first opinions -> judge, in the paper's order.
JUDGES = {
    "gpt4_turbo_score": Judge(name="gpt-4-turbo", spec=Spec(model="gpt-4-1106-preview")),
    "claude2_score": Judge(name="claude-2", spec=Spec(model="claude-2")),
    "gpt35_turbo_score": Judge(name="gpt-3.5-turbo", spec=Spec(model="gpt-3.5-turbo-1106")),
}

# Folder -> number of the debate -> the judge's first opinion.
FirstOpinions = Mapping[str, Mapping[int, str]]


# The judges of one debate by speaker number.
Speakers = Mapping[int, Judge]


def read_first_opinions(criterion: Path, scenario: str) -> FirstOpinions:
    """Return the first opinions of each judge, without invalid records: debates can be imported without these files."""
    found = {}
    for name in JUDGES:
        file = criterion / name / f"{scenario}.jsonl"
        if file.is_file():
            with name_file_in_errors(file):
                pairs = [(row.get("ID"), row.get("Reasoning")) for _, row in read_rows(file)]
            found[name] = {id: text for id, text in pairs if isinstance(id, int) and isinstance(text, str)}
    return found


def identify_judges(debate: Debate, opinions: FirstOpinions) -> Speakers:
    """Return the judge of each speaker by its text, the last one by elimination.

    All stay unknown when two speakers are identified as the same judge, or when several cannot be identified.
    """
    texts = {speech.speaker: speech.text for speech in debate.speeches if speech.round == 0}
    folders: dict[int, str | None] = {}
    for speaker, text in texts.items():
        own = [name for name, given in opinions.items() if text.strip() and given.get(debate.number) == text]
        folders[speaker] = own[0] if len(own) == 1 else None
    unused = [name for name in JUDGES if name not in folders.values()]
    unidentified = [speaker for speaker, name in folders.items() if name is None]
    if len(unidentified) == 1 and len(unused) == 1 and len(opinions) == len(JUDGES):
        folders[unidentified[0]] = unused[0]
    judges = {speaker: JUDGES[name] for speaker, name in folders.items() if name is not None}
    if len({judge.name for judge in judges.values()}) < len(texts):
        judges = {}
    unknown = Spec(model="unknown")
    return {
        speaker: judges.get(speaker) or Judge(name=unknown_name(speaker), spec=unknown)
        for speaker in sorted({speech.speaker for speech in debate.speeches})
    }


# Definitions are stored in studies: with another text, a second import into the same study would be refused.
# Our own definitions; the rubrics of the judges' prompts belong to the release.
CRITERIA = {
    "creativity": "Which response has the fresher ideas, and still does what was asked.",
    "helpfulness": "Which response is of more use to the person who asked: right, complete and to the point.",
    "interpretability": "Which response is easier to follow: what it does, how, and why it is done so.",
    "reasoning": "Which response gets to its answer by sounder steps.",
}

# A debate, the file name of its scenario, and its judges.
IdentifiedDebate = tuple[Debate, str, Speakers]


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
        with name_file_in_errors(file):
            debates = [_parse_debate(row, line) for line, row in read_rows(file)]
        for debate in debates:
            yield debate, file.stem, identify_judges(debate, opinions)


def _run(name: str, criterion: str, debates: list[IdentifiedDebate]) -> RunRecord:
    """Return a run with the paper's settings: up to two rounds of discussion, one speaker after the other."""
    judges = _in_order(judge for _, _, speakers in debates for judge in speakers.values())
    settings = Settings(judges=tuple(judges), criterion=_criterion(criterion), rounds=3, reply_order="sequential")
    return RunRecord(name=name, protocol=NAME, criterion=criterion, settings=settings.model_dump(mode="json"))


def _in_order(judges: Iterable[Judge]) -> list[Judge]:
    """Return every judge once: the identified ones in the paper's order, then the others by name."""
    by_name = {judge.name: judge for judge in sorted(judges, key=lambda judge: judge.name)}
    known = [judge.name for judge in JUDGES.values()]
    names = [*(name for name in known if name in by_name), *(name for name in by_name if name not in known)]
    return [by_name[name] for name in names]


def _events(debate: Debate, speakers: Speakers, shown: tuple[int, int], criterion: str) -> Iterator[Event]:
    turns = [_turn(speech, speakers, shown) for speech in debate.speeches]
    for ask, turn in enumerate(turns):
        yield TurnCompleted(ask=ask, turn=turn)
    judges = [judge.name for judge in _in_order(speakers.values())]
    yield VerdictReached(verdict=conclude(turns, judges, criterion))


def _turn(speech: Speech, speakers: Speakers, shown: tuple[int, int]) -> Turn:
    """Return a speech as a turn; prompts, tokens and times were not published."""
    reading, problem = _reading(speech.score, shown)
    return Turn(
        speaker=speakers[speech.speaker].name,
        step="reply" if speech.round else "opinion",
        round=speech.round,
        model=speakers[speech.speaker].spec.model,
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
