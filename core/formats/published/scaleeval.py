"""ScaleEval's released debates (Chern et al. 2024, arXiv:2401.16788; https://github.com/GAIR-NLP/scaleeval).

    results/gpt3.5_vs_claude/helpfulness/multiagent_score/math.jsonl      debates: comparison, criterion, scenario
    results/gpt3.5_vs_claude/helpfulness/claude2_score/math.jsonl         their first opinions, judge by judge
    responses/claude-instant/math.jsonl                                   answers, system by system

Each file is one indented JSON array, despite its suffix. Two things were shuffled without saving the order: which
answer was "Submission 1", and which judge was "Speaker 1". Both are recovered by comparing the texts.
"""

from collections.abc import Iterator
from pathlib import Path

from core.errors import FileFormatError
from core.formats.published.scaleeval_files import (
    DEBATES,
    Debate,
    Speech,
    comparison_folders,
    criterion_folders,
    find_responses_folder,
    read_debates,
)
from core.formats.published.scaleeval_items import ItemFinder
from core.formats.published.scaleeval_judges import JUDGES, Speakers, identify_judges, read_first_opinions
from core.formats.records import CriterionRecord, ItemRecord, Records, RunRecord, ScaleRecord, TraceRecord
from core.items import Criterion
from core.labels import PREFERENCE, Value
from core.protocols import Judge
from core.protocols.scaleeval.protocol import NAME, conclude
from core.protocols.scaleeval.settings import Settings
from core.trace import Event, Turn, TurnCompleted, VerdictReached

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
