"""ScaleEval's released debates (Chern et al. 2024, arXiv:2401.16788; https://github.com/GAIR-NLP/scaleeval).

    results/gpt3.5_vs_claude/helpfulness/multiagent_score/math.jsonl      debates: comparison, criterion, scenario
    results/gpt3.5_vs_claude/helpfulness/claude2_score/math.jsonl         the same first opinions, judge by judge
    responses/claude-instant/math.jsonl                                   answers, system by system

Each file is one indented JSON array, whatever its name says. Two things were shuffled and not saved: which answer was
"Submission 1", and which judge was "Speaker 1". Both are found again by their words.
"""

from collections.abc import Iterator
from pathlib import Path

from core.formats.published.scaleeval_files import DEBATES, Debate, Speech, comparisons, criteria, debates, responses_of
from core.formats.published.scaleeval_items import Items
from core.formats.published.scaleeval_judges import JUDGES, Cast, alone, cast
from core.formats.records import CriterionRecord, ItemRecord, Records, RunRecord, ScaleRecord, TraceRecord
from core.items import Criterion
from core.labels import PREFERENCE, Value
from core.problems import FileRefused
from core.protocols.scaleeval.protocol import NAME, Judge, Settings, conclude
from core.trace import Event, Turn, TurnTaken, VerdictReached

CRITERIA = {
    "creativity": "Which response has the fresher ideas, and still does what was asked.",
    "helpfulness": "Which response is of more use to the person who asked: right, complete and to the point.",
    "interpretability": "Which response is easier to follow: what it does, how, and why it is done so.",
    "reasoning": "Which response gets to its answer by sounder steps.",
}
"""Our own words; the rubrics that the judges were given belong to the release."""

Told = tuple[Debate, str, Cast]
"""A debate, its scenario's file name, and who its speakers were."""


def recognises(path: Path) -> bool:
    """A folder of debates, one that holds such folders, or the one that holds results and responses."""
    return bool(comparisons(path))


def read(path: Path) -> Records:
    """Criteria, items as they are first debated, a run for each comparison and criterion, a trace for each debate.

    Raises FileRefused with file, line and field.
    """
    found = comparisons(path)
    if not found:
        raise FileRefused(f"expected folders <comparison>/<criterion>/{DEBATES} in {path.name}, and there are none")
    for name in sorted({folder.name for comparison in found for folder in criteria(comparison)}):
        yield CriterionRecord(criterion=_criterion(name))
        yield ScaleRecord(kind="preference", criterion=name, scale=PREFERENCE)
    for comparison in found:
        yield from _comparison(comparison)


def as_shown(turn: Turn) -> Value | None:
    """The submission that the judge named, in the order in which it read them: the score that the file holds.

    A reading speaks of the item's own order. Figures that were published on the scores as they stand, such as the
    agreement of the judges, are computed on this.
    """
    return turn.shown.index(turn.reading) + 1 if turn.reading in turn.shown else turn.reading


def _comparison(comparison: Path) -> Records:
    items = Items(comparison.name, responses_of(comparison))
    for folder in criteria(comparison):
        told = list(_told(folder))
        run = f"{comparison.name} · {folder.name}"
        yield _run(run, folder.name, told)
        for debate, scenario, who in told:
            known = len(items.met)
            item, shown = items.find(debate, scenario, folder.name)
            if len(items.met) > known:
                yield ItemRecord(item=item)
            yield TraceRecord(run=run, item=item.id, events=tuple(_events(debate, who, shown, folder.name)))


def _told(criterion: Path) -> Iterator[Told]:
    for file in sorted((criterion / DEBATES).glob("*.jsonl")):
        opinions = alone(criterion, file.stem)
        for debate in debates(file):
            yield debate, file.stem, cast(debate, opinions)


def _run(name: str, criterion: str, told: list[Told]) -> RunRecord:
    """The paper's settings: up to two rounds of discussion, one speaker after the other, everything shuffled."""
    settings = Settings(judges=_judges(told), criterion=_criterion(criterion), rounds=3, speaking="in turn")
    return RunRecord(name=name, protocol=NAME, criterion=criterion, settings=settings.model_dump(mode="json"))


def _judges(told: list[Told]) -> tuple[Judge, ...]:
    """Everybody who spoke, in the paper's order; those without a name follow."""
    met = {judge.name: judge for _, _, who in told for judge in who.judges.values()}
    order = [judge.name for judge in JUDGES.values()]
    return tuple(sorted(met.values(), key=lambda judge: (judge.name not in order, *_place(judge.name, order))))


def _place(name: str, order: list[str]) -> tuple[int, str]:
    return (order.index(name), "") if name in order else (len(order), name)


def _events(debate: Debate, who: Cast, shown: tuple[int, int], criterion: str) -> Iterator[Event]:
    turns = [_turn(speech, who, shown) for speech in debate.speeches]
    for ask, turn in enumerate(turns):
        yield TurnTaken(ask=ask, turn=turn)
    in_order = sorted(who.judges.values(), key=lambda judge: [*JUDGES.values(), judge].index(judge))
    yield VerdictReached(verdict=conclude(turns, [judge.name for judge in in_order], criterion))


def _turn(speech: Speech, who: Cast, shown: tuple[int, int]) -> Turn:
    """Prompts, tokens and times were not saved, so they are not told."""
    reading, problem = _reading(speech.score, shown)
    return Turn(
        speaker=who.name(speech.speaker),
        step="reply" if speech.round else "opinion",
        round=speech.round,
        model=who.model(speech.speaker),
        reply=speech.text,
        reading=reading,
        problem=problem,
        shown=shown,
    )


def _reading(score: object, shown: tuple[int, int]) -> tuple[Value | None, str]:
    """(the item's response, "") or (None, why not): a score is only a choice when it is 0, 1 or 2."""
    if score is None:
        return None, "no score was recorded"
    if isinstance(score, bool) or str(score) not in ("0", "1", "2"):
        return None, f"the recorded score is {str(score)[:40]}, which is not one of 1, 2 or 0"
    return (0, *shown)[int(str(score))], ""


def _criterion(name: str) -> Criterion:
    return Criterion(name=name, definition=CRITERIA.get(name, ""))
