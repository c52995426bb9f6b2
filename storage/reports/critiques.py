"""How good critiques are, and how well judges tell: rows for the leaderboard and for the command line.

People's scores stand on gold labels of the AIUs that stand now; a judge's on what it said in its newest run over each
critique. MetaCritique's Tables 2, 4 and 6.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.critiques import IN, Score, reference
from core.labels import Target
from core.protocols import registry
from storage import database
from storage.reports.critique_scores import PEOPLE, Said, Scored, Standing, Views, views
from storage.studies import Study
from storage.tables import ItemRow, RunRow, TraceRow

if TYPE_CHECKING:
    from core.statistics.data.estimate import Estimate
    from core.statistics.measures.critiques import Critiques

Level = Literal["micro", "macro"]
Task = Literal["precision", "recall"]
GROUPS = {"people": "human", "llm": "llm"}
REFERENCE = "reference"
"""Under this name the reference critiques are counted; nothing is said about them."""
LEVELS: tuple[Level, ...] = ("micro", "macro")


@dataclass(frozen=True)
class Row:
    """An author's scores, 0 to 1, as people or a judge see them; None where undefined."""

    author: str
    source: str
    """"people", or the name of a judge."""
    level: Level
    precision: float | None
    recall: float | None
    f1: float | None
    critiques: int
    aius: int
    """The AIUs of these critiques; those of the reference critiques come on top."""
    group: bool
    """All authors of one sort together: "human", "llm"."""
    precision_interval: tuple[float, float] | None = None
    recall_interval: tuple[float, float] | None = None
    f1_interval: tuple[float, float] | None = None
    reason: str = ""


@dataclass(frozen=True)
class Accuracy:
    """How often a judge says of an AIU what people say (Table 4)."""

    judge: str
    task: Task
    critiques: str
    """Whose: "all", "human" or "llm"."""
    accuracy: float | None
    interval: tuple[float, float] | None
    aius: int
    """AIUs of which both have said something."""
    unread: int
    """AIUs that people labelled, and of which the judge's reply could not be read."""
    reason: str


@dataclass(frozen=True)
class Pairs:
    """The better of each two critiques by models on the same item, by F1."""

    source: str
    first: int
    second: int
    tie: int
    undefined: int


@dataclass(frozen=True)
class Behind:
    """One critique behind a figure, and the newest trace in which it was judged."""

    item: str
    critique: str
    author: str
    text: str
    score: Score
    trace: int | None


@dataclass(frozen=True)
class Board:
    """Everything that the page shows."""

    rows: tuple[Row, ...]
    accuracies: tuple[Accuracy, ...]
    pairs: tuple[Pairs, ...]


def board(engine: Engine, study: Study, *, resamples: int = 1000) -> Board:
    """The leaderboard, the judges' accuracy and the pairs, from one look at the study."""
    with database.reading(engine) as session:
        seen = views(session, study.id)
    sources = seen.scored()
    rows = [row for source, scored in sources.items() for row in _rows(source, scored, resamples)]
    pairs = [_pairs(source, scored) for source, scored in sources.items() if scored]
    return Board((*rows, *_references(seen.standing)), tuple(_accuracies(seen, resamples)), tuple(pairs))


def rows(engine: Engine, study: Study, *, resamples: int = 1000) -> list[Row]:
    """The leaderboard: author, source, level; groups first."""
    return list(board(engine, study, resamples=resamples).rows)


def behind(session: Session, study_id: int, source: str, author: str, group: bool) -> list[Behind]:
    """The critiques of an author, or of a group of authors, as people or a judge see them; the lowest F1 first."""
    there = views(session, study_id).scored().get(source, [])
    wanted = [one for one in there if (GROUPS[one.critique.source] if group else one.critique.author) == author]
    traces = _traces(session, study_id)
    found = [
        Behind(one.item, one.critique.id, one.critique.author, one.critique.text, one.score, traces.get(one.item))
        for one in wanted
    ]
    return sorted(found, key=lambda one: (one.score.f1 is not None, one.score.f1 or 0.0))


def _traces(session: Session, study_id: int) -> dict[str, int]:
    """The newest trace of each item."""
    query = (
        select(col(ItemRow.key), col(TraceRow.id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .where(col(TraceRow.study_id) == study_id, col(RunRow.protocol).in_(registry.with_artifact("aius")))
        .order_by(col(RunRow.id))
    )
    return dict(session.execute(query).all())


def _rows(source: str, scored: Sequence[Scored], resamples: int) -> Iterator[Row]:
    """Groups, then authors, each at both levels."""
    for group, name in GROUPS.items():
        yield from _levels(name, source, [one for one in scored if one.critique.source == group], resamples, True)
    for author in sorted({one.critique.author for one in scored} - set(GROUPS.values())):
        yield from _levels(author, source, [one for one in scored if one.critique.author == author], resamples, False)


def _levels(author: str, source: str, scored: Sequence[Scored], resamples: int, group: bool) -> Iterator[Row]:
    from core.statistics.measures import critiques

    if not scored:
        return
    found = critiques.scores(counted(scored), groups=[one.item for one in scored], resamples=resamples)
    for level in LEVELS:
        precision, recall, f1 = (found[f"{name}_{level}"] for name in ("precision", "recall", "f1"))
        yield Row(
            author,
            source,
            level,
            precision.value,
            recall.value,
            f1.value,
            critiques=len(scored),
            aius=sum(len(one.factual) for one in scored),
            group=group,
            precision_interval=_interval(precision),
            recall_interval=_interval(recall),
            f1_interval=_interval(f1),
            reason="; ".join(dict.fromkeys(one.reason for one in (precision, recall, f1) if one.reason)),
        )


def counted(scored: Sequence[Scored]) -> "Critiques":
    """True and all AIUs of each critique, for precision and for recall."""
    import numpy as np

    from core.statistics.measures.critiques import Critiques

    counts = [
        np.array([(said.count(True), len(said) - said.count(None)) for said in task], float).reshape(-1, 2)
        for task in ([one.factual for one in scored], [one.covered for one in scored])
    ]
    return Critiques(tuple(f"{one.item}\n{one.critique.id}" for one in scored), *counts)


def _references(standing: Standing) -> Iterator[Row]:
    """How many reference critiques there are, and their AIUs."""
    held = [one for there in standing.values() if (one := reference(there)) is not None and one.aius is not None]
    many = sum(len(one.aius or ()) for one in held)
    for level in LEVELS if held else ():
        reason = "what critiques are held against has no score"
        yield Row(REFERENCE, PEOPLE, level, None, None, None, len(held), many, True, reason=reason)


TASKS: Mapping[Task, str] = {"precision": "aiu_precision", "recall": "aiu_recall"}


def _accuracies(seen: Views, resamples: int) -> Iterator[Accuracy]:
    """Each judge's, by task and by who wrote the critique."""
    sort = {(item, one.id): GROUPS[one.source] for item, there in seen.standing.items() for one in there}
    owner = {(item, aiu.id): one.id for item, there in seen.standing.items() for one in there for aiu in one.aius or ()}
    for judge, said in seen.judges.items():
        for task, kind in TASKS.items():
            here = [target for target in said if target.kind == kind and seen.people.get(target) is not None]
            whose = [sort.get((target.item, _critique(target, owner)), "") for target in here]
            for group in ("all", *GROUPS.values()):
                some = [target for target, name in zip(here, whose, strict=True) if group in ("all", name)]
                yield _accuracy(judge, task, group, some, said, seen.people, resamples)


def _accuracy(
    judge: str, task: Task, group: str, some: Sequence[Target], said: Said, people: Said, resamples: int
) -> Accuracy:
    from core.statistics.measures.means import mean

    read = [target for target in some if said[target] is not None]
    unread = len(some) - len(read)
    if not read:
        return Accuracy(judge, task, group, None, None, 0, unread, "people and the judge have no AIU in common")
    right = [float(said[target] == people[target]) for target in read]
    found = mean(right, groups=[target.item for target in read], resamples=resamples)
    return Accuracy(judge, task, group, found.value, _interval(found), len(read), unread, found.reason)


def _critique(target: Target, owner: Mapping[tuple[str, str], str]) -> str:
    return target.part.partition(IN)[2] or owner.get((target.item, target.part), "")


def _pairs(source: str, scored: Sequence[Scored]) -> Pairs:
    """Acceptance row 5: the first two critiques by models of each item, in its own order."""
    by_item: dict[str, list[Scored]] = defaultdict(list)
    for one in scored:
        if one.critique.source == "llm":
            by_item[one.item].append(one)
    f1 = [[one.score.f1 for one in pair[:2]] for pair in by_item.values() if len(pair) > 1]
    there = [(a, b) for a, b in f1 if a is not None and b is not None]
    first, second = sum(a > b for a, b in there), sum(a < b for a, b in there)
    return Pairs(source, first, second, len(there) - first - second, len(f1) - len(there))


def _interval(one: "Estimate") -> tuple[float, float] | None:
    return None if one.low is None or one.high is None else (one.low, one.high)
