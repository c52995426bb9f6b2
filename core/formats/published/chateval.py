"""ChatEval's released files (Chan et al. 2023, arXiv:2308.07201; https://github.com/thunlp/ChatEval, `chateval`).

    faireval_test_80_human_majority.json          80 questions, answers of four systems, what two of three people prefer
    history_outputs/multi_role_two_turns_...json  recorded talks on the same questions: the last words of each persona
    history_outputs/nlg_eval_multi_2Round_...json recorded talks on summaries: four scores in the last words of each

Each file is one JSON array. Only what was said last was saved, so a recorded talk begins with its last turn. Prompts
and the order of the responses were not saved, nor most models; the answers stand in the order of the file.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.formats.published.chateval_files import Question, Record, Spoken, kind_of, questions, talks
from core.formats.records import (
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    Records,
    RunRecord,
    ScaleRecord,
    TraceRecord,
)
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, Label, Scale, Target, Value
from core.problems import FileRefused, Unreadable
from core.protocols import ratings
from core.protocols.chateval.protocol import NAME, Persona, Settings, conclude
from core.protocols.chateval.readings import vote
from core.trace import Event, Spec, Turn, TurnTaken, VerdictReached

ANNOTATOR = "majority of three"
SYSTEMS = ("gpt35", "vicuna")
"""Whose answers people compared, in the order of the file."""
PREFERRED = {"gpt35": 1, "vicuna": 2, "tie": 0}
OVERALL = Criterion(
    name="overall quality",
    definition="Which answer is better, all in all: helpful, relevant, accurate, and as detailed as it should be.",
)
FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
SUMMARY = {
    "relevance": "Does the summary tell what matters in the article, and nothing else?",
    "consistency": "Does the summary say only what the article says?",
    "fluency": "Is each sentence well written?",
    "coherence": "Do the sentences make one whole together?",
}
"""Our own words for the four things that the recorded talks score."""
NUMBERS = {"two": 2, "three": 3, "four": 4}
TURNS = re.compile(r"(\d+|two|three|four)[ _]?(?:turns?|rounds?)", re.I)
SILENCE = "[Silence]"
GPT = re.compile(r"gpt-?\d+(?:\.\d+)?", re.I)
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Recorded:
    """A file of recorded talks: what it is called, how long its talks were, between whom, and what was said."""

    name: str
    turns: int
    model: str
    talks: Sequence[Record]

    @property
    def names(self) -> list[str]:
        """The personas in the order in which they speak; one that was silent has no name in that record."""
        count = max(len(talk.spoken) for talk in self.talks)
        places = [Counter(talk.spoken[n].role for talk in self.talks if len(talk.spoken) > n) for n in range(count)]
        found = [place.most_common(1)[0][0] or f"persona {n}" for n, place in enumerate(places, start=1)]
        return [name if found.count(name) == 1 else f"{name} ({n})" for n, name in enumerate(found, start=1)]


def recognises(path: Path) -> bool:
    """A file of questions or of recorded talks, or a folder that holds some."""
    return bool(_files(path))


def read(path: Path) -> Records:
    """Criteria, items, the majority's labels, and a run for each file of talks (four for a file on summaries)."""
    files = _files(path)
    if not files:
        raise FileRefused(f"expected questions with human_results, or recorded evaluations, in {path.name}")
    of_kind = {kind: [file for file, found in files.items() if found == kind] for kind in ("questions", "pairs", "nlg")}
    if of_kind["questions"] or of_kind["pairs"]:
        yield from _compared(of_kind["questions"], of_kind["pairs"])
    if of_kind["nlg"]:
        yield from _summaries(of_kind["nlg"])


def _files(path: Path) -> dict[Path, str]:
    """File -> "questions", "pairs" or "nlg"; in a folder, those that stand in it or one level below."""
    there = [path] if path.is_file() else sorted([*path.glob("*.json"), *path.glob("*/*.json")])
    found = {file: kind_of(file) for file in there}
    return {file: kind for file, kind in found.items() if kind}


def _compared(asked: Sequence[Path], talked: Sequence[Path]) -> Records:
    """Two answers to a question: people's majority, and talks that end in votes."""
    yield CriterionRecord(criterion=OVERALL)
    yield ScaleRecord(kind="preference", criterion=OVERALL.name, scale=PREFERENCE)
    known = {item.prompt: item for file in asked or _beside(talked) for item in map(_item, questions(file))}
    told = set()
    for file in asked:
        for question in questions(file):
            item = known[question.question]
            told.add(item.id)
            yield ItemRecord(item=item)
            target = Target(item=item.id, kind="preference", criterion=OVERALL.name)
            value = PREFERRED[question.human_results]
            yield LabelRecord(label=Label(target=target, annotator=ANNOTATOR, value=value))
    for file in talked:
        yield from _pairs(_recorded(file), known, told)


def _beside(talked: Sequence[Path]) -> list[Path]:
    """The questions that talks are about, where they stand beside them or a level above: only they have categories."""
    for folder in (talked[0].parent, talked[0].absolute().parent.parent):
        found = [file for file in sorted(folder.glob("*.json")) if kind_of(file) == "questions"]
        if found:
            return found
    return []


def _item(question: Question) -> Item:
    return Item(
        id=f"faireval {question.question_id}",
        prompt=question.question,
        responses=tuple(Response(text=question.response[name], system=name) for name in SYSTEMS),
        scenario=question.category,
    )


def _pairs(recorded: Recorded, known: dict[str, Item], told: set[str]) -> Records:
    """A run; items that were not told before come with it."""
    settings = _settings(recorded, outcome="vote", criterion=OVERALL)
    yield _run(recorded.name, settings)
    for place, talk in enumerate(recorded.talks):
        item = known.setdefault(talk.question, _unknown(talk, place))
        if item.id not in told:
            told.add(item.id)
            yield ItemRecord(item=item)
        if [one.text for one in item.responses] != list(talk.response.values()):
            raise FileRefused(f"record {place + 1} compares other answers than the questions have", field="response")
        turns = [_turn(name, settings, spoken, _vote(spoken), (1, 2)) for name, spoken in _said(recorded, talk)]
        yield TraceRecord(run=recorded.name, item=item.id, events=tuple(_events(turns, settings)))


def _unknown(talk: Record, place: int) -> Item:
    """The item of a talk whose questions are not at hand."""
    responses = tuple(Response(text=text, system=name) for name, text in talk.response.items())
    return Item(id=f"faireval {place}", prompt=talk.question, responses=responses)


def _summaries(files: Sequence[Path]) -> Records:
    """A summary of an article: talks that end in scores from 1 to 5, a run for each of four criteria."""
    for name, definition in SUMMARY.items():
        yield CriterionRecord(criterion=Criterion(name=name, definition=definition, scale=FIVE))
        yield ScaleRecord(kind="score", criterion=name, scale=FIVE)
    known: dict[tuple[str, str], Item] = {}
    for file in files:
        recorded = _recorded(file)
        new = [talk for talk in recorded.talks if (talk.src, talk.outputs) not in known]
        for talk in new:
            item = Item(id=f"summary {len(known)}", prompt=talk.src, responses=(Response(text=talk.outputs),))
            yield ItemRecord(item=known.setdefault((talk.src, talk.outputs), item))
        for criterion, definition in SUMMARY.items():
            yield from _scored(recorded, Criterion(name=criterion, definition=definition, scale=FIVE), known)


def _scored(recorded: Recorded, criterion: Criterion, known: Mapping[tuple[str, str], Item]) -> Records:
    settings = _settings(recorded, outcome="rating", criterion=criterion)
    run = f"{recorded.name} · {criterion.name}"
    yield _run(run, settings)
    for talk in recorded.talks:
        turns = [
            _turn(name, settings, spoken, _score(spoken, criterion.name), ()) for name, spoken in _said(recorded, talk)
        ]
        item = known[talk.src, talk.outputs]
        yield TraceRecord(run=run, item=item.id, events=tuple(_events(turns, settings)))


def _recorded(file: Path) -> Recorded:
    found = TURNS.search(file.stem)
    words = found[1].lower() if found else ""
    name = file.stem.removesuffix("_results").removesuffix("_pair_comparison").replace("_", " ")
    model = GPT.search(file.stem)
    turns = NUMBERS.get(words) or int(words or 1)
    return Recorded(name, turns, model[0] if model else UNKNOWN, list(talks(file)))


def _settings(recorded: Recorded, **fields: object) -> Settings:
    """What is known of a recorded talk: who spoke, and for how many turns."""
    personas = [Persona(name=name, role="", spec=Spec(model=recorded.model)) for name in recorded.names]
    strategy = "one by one" if len(personas) > 1 else "alone"
    told = {"personas": personas, "turns": recorded.turns, "strategy": strategy, "both_orders": False}
    return Settings.model_validate(told | fields)


def _run(name: str, settings: Settings) -> RunRecord:
    criterion = settings.criterion.name if settings.criterion else ""
    return RunRecord(name=name, protocol=NAME, criterion=criterion, settings=settings.model_dump(mode="json"))


def _said(recorded: Recorded, talk: Record) -> Iterator[tuple[str, Spoken]]:
    """Who said what: by role where the record names it, by place where it does not."""
    for name, spoken in zip(recorded.names, talk.spoken, strict=False):
        yield (spoken.role if spoken.role in recorded.names else name), spoken


def _turn(
    name: str, settings: Settings, spoken: Spoken, read: tuple[Value | None, str], shown: tuple[int, ...]
) -> Turn:
    reading, problem = read
    return Turn(
        speaker=name,
        step="talk",
        round=settings.rounds - 1,
        model=settings.personas[0].spec.model,
        reply=spoken.evaluation,
        reading=reading,
        problem=problem,
        shown=shown,
    )


def _events(turns: Sequence[Turn], settings: Settings) -> Iterator[Event]:
    for ask, turn in enumerate(turns):
        yield TurnTaken(ask=ask, turn=turn)
    yield VerdictReached(verdict=conclude(turns, settings))


def _vote(spoken: Spoken) -> tuple[int | None, str]:
    """(1, 2 or 0, "") or (None, why not). The release calls a tie "Same"."""
    text = spoken.evaluation.strip()
    if text == SILENCE:
        return None, "it kept silent"
    last = re.sub(r"^Answer:\s*", "", text.splitlines()[-1] if text else "")
    if last == "Same":
        return 0, ""
    try:
        return vote(last), ""
    except Unreadable as trouble:
        return None, str(trouble)


def _score(spoken: Spoken, criterion: str) -> tuple[int | float | None, str]:
    """(1 to 5, "") from the line of that criterion, or (None, why not)."""
    if spoken.evaluation.strip() == SILENCE:
        return None, "it kept silent"
    found = [line for line in spoken.evaluation.splitlines() if re.match(rf"\W*{criterion}\b", line, re.I)]
    if not found:
        return None, f'no "{criterion.capitalize()}: …" line'
    try:
        return ratings.rating("\n".join(found), FIVE, (criterion,)), ""
    except Unreadable as trouble:
        return None, str(trouble)
