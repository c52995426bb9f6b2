"""ChatEval's released files (Chan et al. 2023, arXiv:2308.07201; https://github.com/thunlp/ChatEval, `chateval`).

    faireval_test_80_human_majority.json          80 questions, answers of four systems, majority of three annotators
    history_outputs/multi_role_two_turns_...json  discussions of the same questions: the final message of each persona
    history_outputs/nlg_eval_multi_2Round_...json discussions of summaries: four scores in each final message

Each file is one JSON array. Only final messages were published, so an imported discussion starts with its last turn.
Prompts, the order in which responses were shown, and most model names were not published; the responses have the order
of the file.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from core.answers import Choice
from core.errors import FileFormatError, UnreadableReply
from core.formats.records import (
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    Records,
    RunRecord,
    ScaleRecord,
    TraceRecord,
)
from core.formats.text import read_head, read_text
from core.formats.validation_errors import to_file_format_error
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, Label, Scale, Target, Value
from core.protocols.chateval.settings import Persona, Settings
from core.protocols.chateval.verdicts import NAME, conclude
from core.protocols.prompt_parts import rating_answer
from core.trace import Event, Spec, Turn, TurnCompleted, VerdictReached

# Parses the files of ChatEval's release: questions with the human majority, and the final messages of discussions.

Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
SYSTEMS = ("gpt35", "vicuna")
"""The systems whose answers were compared, in the order of the file."""
HEAD_LENGTH = 65_536
"""Bytes read to recognise a file: its first record can contain a whole article."""


class Question(BaseModel):
    """A question, the answers of several systems, and which of two the majority of three annotators prefers."""

    question_id: int
    question: Text
    category: Text
    response: dict[str, Text]
    human_results: Literal["gpt35", "vicuna", "tie"]


class FinalMessage(BaseModel):
    """The final message of a persona; its role is empty if it was silent."""

    role: Text
    evaluation: Text


class Record(BaseModel):
    """One discussion, of two answers to a question or of one summary of an article."""

    question: Text = ""
    response: dict[str, Text] = Field(default_factory=dict)
    src: Text = ""
    outputs: Text = ""
    evaluation: list[FinalMessage] = Field(min_length=1)

    @property
    def messages(self) -> list[FinalMessage]:
        """The final messages, in the order of the personas."""
        return self.evaluation


QUESTIONS: TypeAdapter[list[Question]] = TypeAdapter(list[Question])
DISCUSSIONS: TypeAdapter[list[Record]] = TypeAdapter(list[Record])


def detect_kind(file: Path) -> str:
    """Return "questions", "pairs" (discussions of two answers), "nlg" (of one summary), or "" for anything else."""
    if file.suffix != ".json" or not file.is_file():
        return ""
    head = read_head(file, HEAD_LENGTH)
    if not head.startswith("["):
        return ""
    if '"question_id"' in head and '"human_results"' in head:
        return "questions"
    if '"evaluation"' in head and '"role"' in head:
        return "pairs" if '"response"' in head else "nlg" if '"outputs"' in head else ""
    return ""


def read_questions(file: Path) -> Iterator[Question]:
    """Yield the questions of a file; raises FileFormatError with the field."""
    for index, question in enumerate(_parse(file, QUESTIONS)):
        for name in SYSTEMS:
            if name not in question.response:
                raise FileFormatError(f"expected an answer of {name}", field=f"{index}.response")
        yield question


def read_discussions(file: Path) -> Iterator[Record]:
    """Yield the discussions of a file; raises FileFormatError with the field."""
    yield from _parse(file, DISCUSSIONS)


def _parse(file: Path, adapter: TypeAdapter[Any]) -> Any:
    try:
        records = json.loads(read_text(file))
        if isinstance(records, list) and len(records) == 1 and isinstance(records[0], list):
            records = records[0]  # the summaries' files have the array inside another
        return adapter.validate_python(records)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected one JSON array: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise FileFormatError("expected one JSON array, and it is nested too deeply") from None
    except ValidationError as error:
        raise to_file_format_error(error) from None


ANNOTATOR = "majority of three"
PREFERENCES = {"gpt35": 1, "vicuna": 2, "tie": 0}
# Definitions are stored in studies: with another text, a second import into the same study would be refused.
OVERALL = Criterion(
    name="overall quality",
    definition="Which answer is better, all in all: helpful, relevant, accurate, and as detailed as it should be.",
)
FIVE_POINT_SCALE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
SUMMARY_CRITERIA = {
    "relevance": "Does the summary tell what matters in the article, and nothing else?",
    "consistency": "Does the summary say only what the article says?",
    "fluency": "Is each sentence well written?",
    "coherence": "Do the sentences make one whole together?",
}
"""Our own definitions of the four criteria that the discussions of summaries score."""
NUMBERS = {"two": 2, "three": 3, "four": 4}
TURNS = re.compile(r"(\d+|two|three|four)[ _]?(?:turns?|rounds?)", re.I)
SILENCE = "[Silence]"
VOTE = Choice(noun="Assistant")
MODEL = re.compile(r"gpt-?\d+(?:\.\d+)?", re.I)
UNKNOWN = "unknown"


@dataclass(frozen=True)
class DiscussionFile:
    """A file of discussions, with the properties in its name."""

    name: str
    turns: int
    model: str
    discussions: Sequence[Record]

    @property
    def personas(self) -> list[str]:
        """The personas in the order in which they speak. A persona that was silent has no name in that record."""
        count = max(len(discussion.messages) for discussion in self.discussions)
        roles = [Counter(d.messages[n].role for d in self.discussions if len(d.messages) > n) for n in range(count)]
        names = [counts.most_common(1)[0][0] or f"persona {n}" for n, counts in enumerate(roles, start=1)]
        return [name if names.count(name) == 1 else f"{name} ({n})" for n, name in enumerate(names, start=1)]


def recognises(path: Path) -> bool:
    """Return whether it is a file of questions or discussions, or a folder with some."""
    return bool(_files(path))


def read(path: Path) -> Records:
    """Yield criteria, items, the majority's labels, and a run for each file of discussions (four for summaries)."""
    files = _files(path)
    if not files:
        raise FileFormatError(f"expected questions with human_results, or recorded evaluations, in {path.name}")
    by_kind = {kind: [file for file, k in files.items() if k == kind] for kind in ("questions", "pairs", "nlg")}
    if by_kind["questions"] or by_kind["pairs"]:
        yield from _read_comparisons(by_kind["questions"], by_kind["pairs"])
    if by_kind["nlg"]:
        yield from _read_summaries(by_kind["nlg"])


def _files(path: Path) -> dict[Path, str]:
    """Return file -> "questions", "pairs" or "nlg", for a file, or for a folder and its subfolders."""
    candidates = [path] if path.is_file() else sorted([*path.glob("*.json"), *path.glob("*/*.json")])
    kinds = {file: detect_kind(file) for file in candidates}
    return {file: kind for file, kind in kinds.items() if kind}


def _read_comparisons(question_files: Sequence[Path], discussion_files: Sequence[Path]) -> Records:
    """Yield the comparisons of two answers: the annotators' majority, and discussions that end in votes."""
    yield CriterionRecord(criterion=OVERALL)
    yield ScaleRecord(kind="preference", criterion=OVERALL.name, scale=PREFERENCE)
    sources = question_files or _find_question_files(discussion_files)
    items = {item.prompt: item for file in sources for item in map(_item, read_questions(file))}
    yielded = set()
    for file in question_files:
        for question in read_questions(file):
            item = items[question.question]
            yielded.add(item.id)
            yield ItemRecord(item=item)
            target = Target(item=item.id, kind="preference", criterion=OVERALL.name)
            value = PREFERENCES[question.human_results]
            yield LabelRecord(label=Label(target=target, annotator=ANNOTATOR, value=value))
    for file in discussion_files:
        yield from _read_pair_discussions(_read_file(file), items, yielded)


def _find_question_files(discussion_files: Sequence[Path]) -> list[Path]:
    """Return the questions next to the discussions or one folder above: only they have categories."""
    for folder in (discussion_files[0].parent, discussion_files[0].absolute().parent.parent):
        files = [file for file in sorted(folder.glob("*.json")) if detect_kind(file) == "questions"]
        if files:
            return files
    return []


def _item(question: Question) -> Item:
    return Item(
        id=f"faireval {question.question_id}",
        prompt=question.question,
        responses=tuple(Response(text=question.response[name], system=name) for name in SYSTEMS),
        scenario=question.category,
    )


def _read_pair_discussions(file: DiscussionFile, items: dict[str, Item], yielded: set[str]) -> Records:
    """Yield one run, and those of its items that have not been yielded before."""
    settings = _settings(file, outcome="vote", criterion=OVERALL)
    yield _run(file.name, settings)
    for index, discussion in enumerate(file.discussions):
        item = items.setdefault(discussion.question, _item_without_question(discussion, index))
        if item.id not in yielded:
            yielded.add(item.id)
            yield ItemRecord(item=item)
        if [response.text for response in item.responses] != list(discussion.response.values()):
            raise FileFormatError(
                f"record {index + 1} compares other answers than the questions have", field="response"
            )
        turns = [
            _turn(name, settings, message, _read_vote(message), (1, 2)) for name, message in _messages(file, discussion)
        ]
        yield TraceRecord(run=file.name, item=item.id, events=tuple(_events(turns, settings)))


def _item_without_question(discussion: Record, index: int) -> Item:
    """Return the item of a discussion when the file of questions is not available."""
    responses = tuple(Response(text=text, system=name) for name, text in discussion.response.items())
    return Item(id=f"faireval {index}", prompt=discussion.question, responses=responses)


def _read_summaries(files: Sequence[Path]) -> Records:
    """Yield summaries of articles, and discussions that end in scores from 1 to 5: a run for each of four criteria."""
    for name, definition in SUMMARY_CRITERIA.items():
        yield CriterionRecord(criterion=Criterion(name=name, definition=definition, scale=FIVE_POINT_SCALE))
        yield ScaleRecord(kind="score", criterion=name, scale=FIVE_POINT_SCALE)
    items: dict[tuple[str, str], Item] = {}
    for path in files:
        file = _read_file(path)
        new = [d for d in file.discussions if (d.src, d.outputs) not in items]
        for discussion in new:
            responses = (Response(text=discussion.outputs),)
            item = Item(id=f"summary {len(items)}", prompt=discussion.src, responses=responses)
            yield ItemRecord(item=items.setdefault((discussion.src, discussion.outputs), item))
        for name, definition in SUMMARY_CRITERIA.items():
            yield from _read_scores(file, Criterion(name=name, definition=definition, scale=FIVE_POINT_SCALE), items)


def _read_scores(file: DiscussionFile, criterion: Criterion, items: Mapping[tuple[str, str], Item]) -> Records:
    settings = _settings(file, outcome="rating", criterion=criterion)
    run = f"{file.name} · {criterion.name}"
    yield _run(run, settings)
    for discussion in file.discussions:
        turns = [
            _turn(name, settings, message, _read_score(message, criterion.name), ())
            for name, message in _messages(file, discussion)
        ]
        item = items[discussion.src, discussion.outputs]
        yield TraceRecord(run=run, item=item.id, events=tuple(_events(turns, settings)))


def _read_file(file: Path) -> DiscussionFile:
    match = TURNS.search(file.stem)
    number = match[1].lower() if match else ""
    name = file.stem.removesuffix("_results").removesuffix("_pair_comparison").replace("_", " ")
    model = MODEL.search(file.stem)
    turns = NUMBERS.get(number) or int(number or 1)
    return DiscussionFile(name, turns, model[0] if model else UNKNOWN, list(read_discussions(file)))


def _settings(file: DiscussionFile, **fields: object) -> Settings:
    """Return the known settings of a recorded discussion: its personas and its number of turns."""
    personas = [Persona(name=name, role="", spec=Spec(model=file.model)) for name in file.personas]
    strategy = "one by one" if len(personas) > 1 else "independent"
    known = {"personas": personas, "turns": file.turns, "strategy": strategy, "both_orders": False}
    return Settings.model_validate(known | fields)


def _run(name: str, settings: Settings) -> RunRecord:
    criterion = settings.criterion.name if settings.criterion else ""
    return RunRecord(name=name, protocol=NAME, criterion=criterion, settings=settings.model_dump(mode="json"))


def _messages(file: DiscussionFile, discussion: Record) -> Iterator[tuple[str, FinalMessage]]:
    """Yield (persona, message): the persona by its role if the record has one, otherwise by position."""
    for name, message in zip(file.personas, discussion.messages, strict=False):
        yield (message.role if message.role in file.personas else name), message


def _turn(
    name: str, settings: Settings, message: FinalMessage, reading: tuple[Value | None, str], shown: tuple[int, ...]
) -> Turn:
    value, problem = reading
    return Turn(
        speaker=name,
        step="talk",
        round=settings.rounds - 1,
        model=settings.personas[0].spec.model,
        reply=message.evaluation,
        reading=value,
        problem=problem,
        shown=shown,
    )


def _events(turns: Sequence[Turn], settings: Settings) -> Iterator[Event]:
    for ask, turn in enumerate(turns):
        yield TurnCompleted(ask=ask, turn=turn)
    yield VerdictReached(verdict=conclude(turns, settings))


def _read_vote(message: FinalMessage) -> tuple[int | None, str]:
    """Return (1, 2 or 0, ""), or (None, reason). The release calls a tie "Same"."""
    text = message.evaluation.strip()
    if text == SILENCE:
        return None, "no answer ([Silence])"
    answer = re.sub(r"^Answer:\s*", "", text.splitlines()[-1] if text else "")
    if answer == "Same":
        return 0, ""
    try:
        # The last line alone: a message that was cut off in its answer has none, regardless of the text before.
        return VOTE.parse(answer).value, ""
    except UnreadableReply as error:
        return None, str(error)


def _read_score(message: FinalMessage, criterion: str) -> tuple[Value | None, str]:
    """Return (1 to 5, "") from the line of that criterion, or (None, reason)."""
    if message.evaluation.strip() == SILENCE:
        return None, "no answer ([Silence])"
    lines = [line for line in message.evaluation.splitlines() if re.match(rf"\W*{criterion}\b", line, re.I)]
    if not lines:
        return None, f'no "{criterion.capitalize()}: …" line'
    try:
        return rating_answer(FIVE_POINT_SCALE, criterion).parse("\n".join(lines)).value, ""
    except UnreadableReply as error:
        return None, str(error)
