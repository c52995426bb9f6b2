"""ChatEval's released files (Chan et al. 2023, arXiv:2308.07201; https://github.com/thunlp/ChatEval, `chateval`).

    faireval_test_80_human_majority.json          80 questions, answers of four systems, majority of three annotators
    history_outputs/multi_role_two_turns_...json  discussions of the same questions: the final message of each persona
    history_outputs/nlg_eval_multi_2Round_...json discussions of summaries: four scores in each final message

Each file is one JSON array. Only final messages were published, so an imported discussion starts with its last turn.
Prompts, the order in which responses were shown, and most model names were not published; the responses have the order
of the file.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from core.answers.choice import Choice
from core.errors import FileFormatError, UnreadableReply
from core.formats.records import CriterionRecord, ItemRecord, LabelRecord, Records, RunRecord, ScaleRecord, TraceRecord
from core.formats.text import begins_like, load_json
from core.formats.validation_errors import validated
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, Label, Scale, Target, Value
from core.protocols.chateval.settings import Persona, Settings
from core.protocols.chateval.verdicts import NAME, conclude
from core.protocols.prompt_parts import rating_answer
from core.trace import Spec, Turn, TurnCompleted, VerdictReached

Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
# The systems whose answers were compared, in the order of the file.
SYSTEMS = ("gpt35", "vicuna")
# Kind of file (questions, discussions of two answers, discussions of one summary) -> keys of its records.
KINDS = {
    "questions": ("question_id", "human_results"),
    "pairs": ("evaluation", "role", "response"),
    "summaries": ("evaluation", "role", "outputs"),
}
# Bytes read to recognise a file: its first record can contain a whole article.
HEAD_LENGTH = 65_536


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


class Discussion(BaseModel):
    """One discussion, of two answers to a question or of one summary of an article."""

    question: Text = ""
    response: dict[str, Text] = Field(default_factory=dict)
    src: Text = ""
    outputs: Text = ""
    evaluation: list[FinalMessage] = Field(min_length=1)
    """In the order of the personas."""


QUESTIONS: TypeAdapter[list[Question]] = TypeAdapter(list[Question])
DISCUSSIONS: TypeAdapter[list[Discussion]] = TypeAdapter(list[Discussion])


def _load(file: Path, adapter: TypeAdapter[Any]) -> Any:
    records = load_json(file)
    if isinstance(records, list) and len(records) == 1 and isinstance(records[0], list):
        records = records[0]  # the summaries' files have the array inside another
    return validated(adapter, records)


ANNOTATOR = "majority of three"
PREFERENCES = {"gpt35": 1, "vicuna": 2, "tie": 0}
# Definitions are stored in studies: with another text, a second import into the same study would be refused.
OVERALL = Criterion(
    name="overall quality",
    definition="Which answer is better, all in all: helpful, relevant, accurate, and as detailed as it should be.",
)
FIVE_POINT_SCALE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
# Our own definitions of the four criteria that the discussions of summaries score.
SUMMARY_CRITERIA = {
    "relevance": "Does the summary tell what matters in the article, and nothing else?",
    "consistency": "Does the summary say only what the article says?",
    "fluency": "Is each sentence well written?",
    "coherence": "Do the sentences make one whole together?",
}
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
    discussions: Sequence[Discussion]
    personas: Sequence[str]
    """In the order in which they speak."""


def recognises(path: Path) -> bool:
    """Return whether it is a file of questions or discussions, or a folder with some."""
    return bool(_files(path))


def read(path: Path) -> Records:
    """Yield criteria, items, the majority's labels, and a run for each file of discussions (four for summaries)."""
    files = _files(path)
    if not files:
        raise FileFormatError(f"expected questions with human_results, or recorded evaluations, in {path.name}")
    by_kind = {kind: [file for file, own in files.items() if own == kind] for kind in KINDS}
    if by_kind["questions"] or by_kind["pairs"]:
        yield from _read_comparisons(by_kind["questions"], by_kind["pairs"])
    if by_kind["summaries"]:
        yield from _read_summaries(by_kind["summaries"])


def _files(path: Path) -> dict[Path, str]:
    """Return file -> its kind, for a file, or for a folder and its subfolders."""
    candidates = [path] if path.is_file() else sorted([*path.glob("*.json"), *path.glob("*/*.json")])
    # Of several kinds the first one counts, which comes last here.
    found = ((file, kind) for file in candidates for kind in reversed(KINDS) if _is_of_kind(file, kind))
    return dict(found)


def _is_of_kind(file: Path, kind: str) -> bool:
    return begins_like(file, "[", *KINDS[kind], length=HEAD_LENGTH)


def _read_comparisons(question_files: Sequence[Path], discussion_files: Sequence[Path]) -> Records:
    """Yield the comparisons of two answers: the annotators' majority, and discussions that end in votes."""
    yield CriterionRecord(criterion=OVERALL)
    yield ScaleRecord(kind="preference", criterion=OVERALL.name, scale=PREFERENCE)
    items: dict[str, Item] = {}
    for file in question_files or _find_question_files(discussion_files):
        for index, question in enumerate(_load(file, QUESTIONS)):
            item = items[question.question] = _item(question, index)
            if question_files:
                yield ItemRecord(item=item)
                target = Target(item=item.id, kind="preference", criterion=OVERALL.name)
                value = PREFERENCES[question.human_results]
                yield LabelRecord(label=Label(target=target, annotator=ANNOTATOR, value=value))
    yielded = {item.id for item in items.values()} if question_files else set()
    for file in discussion_files:
        yield from _read_pair_discussions(_read_file(file), items, yielded)


def _find_question_files(discussion_files: Sequence[Path]) -> list[Path]:
    """Return the questions next to the discussions or one folder above: only they have categories."""
    for folder in (discussion_files[0].parent, discussion_files[0].absolute().parent.parent):
        files = [file for file in sorted(folder.glob("*.json")) if _is_of_kind(file, "questions")]
        if files:
            return files
    return []


def _item(question: Question, index: int) -> Item:
    if missing := [name for name in SYSTEMS if name not in question.response]:
        raise FileFormatError(f"expected an answer of {missing[0]}", field=f"{index}.response")
    responses = tuple(Response(text=question.response[name], system=name) for name in SYSTEMS)
    id = f"faireval {question.question_id}"
    return Item(id=id, prompt=question.question, responses=responses, scenario=question.category)


def _read_pair_discussions(file: DiscussionFile, items: dict[str, Item], yielded: set[str]) -> Records:
    """Yield one run, and those of its items that have not been yielded before."""
    settings = _settings(file, outcome="vote", criterion=OVERALL)
    yield _run(file.name, settings)
    for index, discussion in enumerate(file.discussions):
        texts = discussion.response
        if discussion.question not in items:  # the file of questions is not available
            responses = tuple(Response(text=text, system=name) for name, text in texts.items())
            items[discussion.question] = Item(id=f"faireval {index}", prompt=discussion.question, responses=responses)
        item = items[discussion.question]
        if item.id not in yielded:
            yielded.add(item.id)
            yield ItemRecord(item=item)
        if [response.text for response in item.responses] != list(texts.values()):
            message = f"record {index + 1} compares other answers than the questions have"
            raise FileFormatError(message, field="response")
        yield _trace(file.name, item, file, discussion, settings, _read_vote, (1, 2))


def _read_summaries(files: Sequence[Path]) -> Records:
    """Yield summaries of articles, and discussions that end in scores from 1 to 5: a run for each of four criteria."""
    criteria = [
        Criterion(name=name, definition=definition, scale=FIVE_POINT_SCALE)
        for name, definition in SUMMARY_CRITERIA.items()
    ]
    for criterion in criteria:
        yield CriterionRecord(criterion=criterion)
        yield ScaleRecord(kind="score", criterion=criterion.name, scale=FIVE_POINT_SCALE)
    items: dict[tuple[str, str], Item] = {}
    for file in map(_read_file, files):
        for discussion in file.discussions:
            key = (discussion.src, discussion.outputs)
            if key not in items:
                response = Response(text=discussion.outputs)
                items[key] = Item(id=f"summary {len(items)}", prompt=discussion.src, responses=(response,))
                yield ItemRecord(item=items[key])
        for criterion in criteria:
            settings, run = _settings(file, outcome="rating", criterion=criterion), f"{file.name} · {criterion.name}"
            yield _run(run, settings)
            read_score = partial(_read_score, criterion=criterion.name)
            for discussion in file.discussions:
                item = items[discussion.src, discussion.outputs]
                yield _trace(run, item, file, discussion, settings, read_score, ())


def _read_file(file: Path) -> DiscussionFile:
    match = TURNS.search(file.stem)
    number = match[1].lower() if match else ""
    name = file.stem.removesuffix("_results").removesuffix("_pair_comparison").replace("_", " ")
    model = MODEL.search(file.stem)
    turns = NUMBERS.get(number) or int(number or 1)
    discussions: list[Discussion] = _load(file, DISCUSSIONS)
    places = zip_longest(*([message.role for message in discussion.evaluation] for discussion in discussions))
    # A persona that was silent has no name in that record.
    roles = [Counter(role for role in place if role is not None).most_common(1)[0][0] for place in places]
    names = [role or f"persona {n}" for n, role in enumerate(roles, start=1)]
    personas = [own if names.count(own) == 1 else f"{own} ({n})" for n, own in enumerate(names, start=1)]
    return DiscussionFile(name, turns, model[0] if model else UNKNOWN, discussions, personas)


def _settings(file: DiscussionFile, **fields: object) -> Settings:
    """Return the known settings of a recorded discussion: its personas and its number of turns."""
    personas = [Persona(name=name, role="", spec=Spec(model=file.model)) for name in file.personas]
    strategy = "one by one" if len(personas) > 1 else "independent"
    known = {"personas": personas, "turns": file.turns, "strategy": strategy, "both_orders": False}
    return Settings.model_validate(known | fields)


def _run(name: str, settings: Settings) -> RunRecord:
    criterion = settings.criterion.name if settings.criterion else ""
    return RunRecord(name=name, protocol=NAME, criterion=criterion, settings=settings.model_dump(mode="json"))


def _trace(
    run: str,
    item: Item,
    file: DiscussionFile,
    discussion: Discussion,
    settings: Settings,
    read: Callable[[FinalMessage], tuple[Value | None, str]],
    shown: tuple[int, ...],
) -> TraceRecord:
    """Return a discussion: the persona of a message is its role if the record has one, otherwise by position."""
    turns = []
    for name, message in zip(file.personas, discussion.evaluation, strict=False):
        value, problem = read(message)
        turns.append(
            Turn(
                speaker=message.role if message.role in file.personas else name,
                step="talk",
                round=settings.rounds - 1,
                model=file.model,
                reply=message.evaluation,
                reading=value,
                problem=problem,
                shown=shown,
            )
        )
    completed = [TurnCompleted(ask=ask, turn=turn) for ask, turn in enumerate(turns)]
    verdict = VerdictReached(verdict=conclude(turns, settings))
    return TraceRecord(run=run, item=item.id, events=(*completed, verdict))


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
