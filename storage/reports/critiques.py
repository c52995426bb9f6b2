"""The leaderboard of critiques, and the accuracy of judges on AIUs: MetaCritique's Tables 2, 4 and 6."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.critiques import (
    RECALL_SEPARATOR,
    Critique,
    CritiqueScore,
    hypothesis_critiques,
    precision_target,
    recall_target,
    reference_critique,
    score_critique,
)
from core.formats.tables import Column, in_file
from core.labels import Kind, Target
from core.protocols import registry
from core.statistics.data.arrays import Estimate
from core.wording import format_count, format_estimate, format_readable, join_notes, repeats_note
from storage.db import connections
from storage.db.tables import ItemRow, RunRow, TraceRow
from storage.labels import labels
from storage.reports.alignment import judge_models
from storage.reports.chosen_labels import NOTHING, Choices
from storage.reports.opinions import opinion_frame
from storage.runs import aius, runs
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

    from core.statistics.measures.means import AiuCounts


# Precision and recall of critiques, by the annotators and by each judge (MetaCritique).
#
# The annotators' scores follow from gold labels of the current AIUs; a judge's from its newest run over each critique,
# with the AIUs of that run, or from all repeats of that run of an experiment.

PEOPLE = "people"
KINDS: tuple[Kind, ...] = ("aiu_precision", "aiu_recall")
AiuValues = Mapping[Target, bool | None]
# Item -> its critiques with their current AIUs.
CritiquesByItem = Mapping[str, Sequence[Critique]]


@dataclass(frozen=True)
class ScoredCritique:
    """A critique with the truth values of its AIUs from one source."""

    item: str
    critique: Critique
    factual: tuple[bool | None, ...]
    covered: tuple[bool | None, ...]
    repeat: int = 1

    @property
    def score(self) -> CritiqueScore:
        """Precision, recall and F1."""
        return score_critique(self.factual, self.covered)


@dataclass(frozen=True)
class CritiqueData:
    """The truth values of the AIUs of a study."""

    critiques: CritiquesByItem
    people: AiuValues
    """Gold labels; None if there is no majority."""
    judges: Mapping[str, Mapping[int, AiuValues]]
    """By judge and repeat; None if a reply could not be read."""

    def scored(self) -> dict[str, list[ScoredCritique]]:
        """Return source -> its critiques with at least one value: "people", then each judge."""
        people = list(_score_by_annotators(self.critiques, self.people))
        judges = {
            judge: [one for n, values in repeats.items() for one in _score_by_judge(self.critiques, values, n)]
            for judge, repeats in self.judges.items()
        }
        return {PEOPLE: people} | judges


def load_data(session: Session, study_id: int, choices: Choices = NOTHING) -> CritiqueData:
    """Return the truth values of all AIUs of a study; those of people that figures are of, by `choices`."""
    critiques = {item: state.critiques for item, state in aius.current_states(session, study_id).items()}
    return CritiqueData(critiques, _gold_values(session, study_id, choices), _judge_values(session, study_id))


def critique_of_target(target_part: str) -> str:
    """Return the critique that an AIU was written for, or that was searched for it: see `core.critiques`."""
    return target_part.partition(RECALL_SEPARATOR)[2] or target_part.rpartition(".")[0]


def _gold_values(session: Session, study_id: int, choices: Choices) -> dict[Target, bool | None]:
    return {
        gold.target: gold.value if isinstance(gold.value, bool) else None
        for gold in labels.gold_labels(session, study_id, KINDS)
        if choices.has_figures_of(gold.target)
    }


def _judge_values(session: Session, study_id: int) -> dict[str, dict[int, dict[Target, bool | None]]]:
    """Return judge -> repeat -> AIU -> its value in the newest run over the AIU's critique, or that run's repeats."""
    opinions = opinion_frame(session, study_id, KINDS)
    opinions = opinions[opinions["stage"] == "verdict"]
    names = _judge_names(session, study_id, opinions)
    found: dict[tuple[str, str, str, str], dict[int, dict[Target, bool | None]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    columns = (opinions[name].tolist() for name in ("run", "rater", "item", "kind", "part", "value"))
    for run, rater, item, kind, part, value in zip(*columns, strict=True):
        key = (names[run, rater], item, kind, critique_of_target(part))
        found[key][run][Target(item=item, kind=kind, part=part)] = value
    cells = {run.id: (run.experiment_id, run.name_of_cell) for run in runs.of_study(session, study_id)}
    repeats: dict[str, dict[int, dict[Target, bool | None]]] = defaultdict(lambda: defaultdict(dict))
    for (judge, *_), by_run in found.items():
        of_cell = [run for run in sorted(by_run) if cells[run] == cells[max(by_run)]]
        for number, run in enumerate(of_cell, 1):
            repeats[judge][number] |= by_run[run]
    return repeats


def _judge_names(session: Session, study_id: int, opinions: "pd.DataFrame") -> dict[tuple[int, str], str]:
    """Return (run id, rater) -> the judge's name, with its model if judges of that name have different ones."""
    models, several = judge_models(session, study_id, opinions)
    return {(run, rater): f"{rater} ({model})" if rater in several else rater for (rater, run), model in models.items()}


def _score_by_annotators(critiques_by_item: CritiquesByItem, gold: AiuValues) -> Iterator[ScoredCritique]:
    """Yield the critiques of which at least one current AIU has a label."""
    for item, critiques in critiques_by_item.items():
        reference = reference_critique(critiques)
        for critique in hypothesis_critiques(critiques):
            precision = [precision_target(item, aiu.id) for aiu in critique.aius or ()]
            recall = [recall_target(item, aiu.id, critique.id) for aiu in (reference.aius or () if reference else ())]
            if any(target in gold for target in (*precision, *recall)):
                yield ScoredCritique(item, critique, tuple(map(gold.get, precision)), tuple(map(gold.get, recall)))


def _score_by_judge(critiques_by_item: CritiquesByItem, values: AiuValues, repeat: int) -> Iterator[ScoredCritique]:
    """Yield the critiques that a judge has judged, with the AIUs of its run."""
    owners = aiu_owners(critiques_by_item)
    by_critique: dict[tuple[str, str], tuple[list[bool | None], list[bool | None]]] = {}
    for target, value in values.items():
        key = (target.item, owners.get((target.item, target.part)) or critique_of_target(target.part))
        by_critique.setdefault(key, ([], []))[target.kind == "aiu_recall"].append(value)
    for item, critiques in critiques_by_item.items():
        for critique in hypothesis_critiques(critiques):
            if (item, critique.id) in by_critique:
                factual, covered = by_critique[item, critique.id]
                yield ScoredCritique(item, critique, tuple(factual), tuple(covered), repeat)


def aiu_owners(critiques_by_item: CritiquesByItem) -> dict[tuple[str, str], str]:
    """Return (item, AIU) -> the critique that has the AIU."""
    return {
        (item, aiu.id): critique.id
        for item, critiques in critiques_by_item.items()
        for critique in critiques
        for aiu in critique.aius or ()
    }


Level = Literal["micro", "macro"]
SCORES = ("precision", "recall", "f1")
Task = Literal["precision", "recall"]
# Source of a critique -> the name of the group of its authors.
GROUPS = {"people": "human", "llm": "llm"}
# The author of the rows that count reference critiques; they have no scores.
REFERENCE = "reference"
UNDEFINED = Estimate(None, None, None, 0, 0, 0, 0)
LEVELS: tuple[Level, ...] = ("micro", "macro")
TASKS: Mapping[Task, str] = {"precision": "aiu_precision", "recall": "aiu_recall"}


@dataclass(frozen=True)
class Row:
    """The scores of an author's critiques, 0 to 1."""

    author: str
    source: str
    """The source of the judgements: "people", or the name of a judge."""
    level: Level
    precision: Estimate
    recall: Estimate
    f1: Estimate
    critiques: int
    aius: int
    """The AIUs of these critiques, without those of the reference critiques."""
    items: int
    """The items of these critiques."""
    group: bool
    """Whether `author` is a group of authors: "human" or "llm"."""
    unread: int = 0
    """Judgements of AIUs, for precision and for recall, that could not be read; of people, those without a label or
    without a majority."""
    coverage: float | None = None
    """The share of the judgements that have a value; None without a judgement."""
    reason: str = ""


@dataclass(frozen=True)
class Accuracy:
    """The share of AIUs on which a judge's value equals the gold label (Table 4)."""

    judge: str
    task: Task
    critiques: str
    """The authors of the critiques: "all", "human" or "llm"."""
    accuracy: Estimate
    aius: int
    """AIUs with a gold label and a readable reply."""
    read: int
    """Readable replies about AIUs with a gold label, in all repeats."""
    unread: int
    """Unreadable ones."""
    reason: str


@dataclass(frozen=True)
class PairCounts:
    """Which of two critiques by models of the same item has the higher F1."""

    source: str
    first: int
    second: int
    tie: int
    undefined: int


@dataclass(frozen=True)
class CritiqueDetail:
    """One critique with its score, and the newest trace in which it was judged."""

    item: str
    critique: str
    author: str
    text: str
    score: CritiqueScore
    unread: int
    """Judgements of its AIUs without a value."""
    trace: int | None


@dataclass(frozen=True)
class Leaderboard:
    """The scores by author, the judges' accuracies, and the pairs."""

    rows: tuple[Row, ...]
    accuracies: tuple[Accuracy, ...]
    pairs: tuple[PairCounts, ...]


def leaderboard(engine: Engine, study: Study, *, choices: Choices = NOTHING, resamples: int = 1000) -> Leaderboard:
    """Return the leaderboard of a study, from one state of the database; `choices` as in `load_data`."""
    with connections.reading(engine) as session:
        data = load_data(session, study.id, choices)
    sources = data.scored()
    rows = [row for source, scored in sources.items() for row in _rows(source, scored, resamples)]
    pairs = [_count_pairs(source, scored) for source, scored in sources.items() if scored]
    return Leaderboard((*rows, *_reference_rows(data.critiques)), tuple(_accuracies(data)), tuple(pairs))


def drill_down(session: Session, study_id: int, source: str, author: str, group: bool) -> list[CritiqueDetail]:
    """Return the critiques of an author, or of a group of authors, as judged by a source; the lowest F1 first."""
    scored = load_data(session, study_id).scored().get(source, [])
    scored = list({(entry.item, entry.critique.id): entry for entry in scored}.values())  # as in the newest trace
    traces = _newest_traces(session, study_id)
    details = []
    for entry in scored:
        one, unread = entry.critique, (*entry.factual, *entry.covered).count(None)
        if (GROUPS[one.source] if group else one.author) == author:
            trace = traces.get(entry.item)
            details.append(CritiqueDetail(entry.item, one.id, one.author, one.text, entry.score, unread, trace))
    return sorted(details, key=lambda detail: (detail.score.f1 is not None, detail.score.f1 or 0.0))


def _newest_traces(session: Session, study_id: int) -> dict[str, int]:
    """Return item -> its newest trace with AIUs."""
    query = (
        select(col(ItemRow.key), col(TraceRow.id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .where(col(TraceRow.study_id) == study_id, col(RunRow.protocol).in_(registry.with_artifact("aius")))
        .order_by(col(RunRow.id))
    )
    return dict(session.execute(query).all())


def _rows(source: str, scored: Sequence[ScoredCritique], resamples: int) -> Iterator[Row]:
    """Yield the rows of groups, then of authors, each at both levels."""
    for group, name in GROUPS.items():
        by_group = [entry for entry in scored if entry.critique.source == group]
        yield from _author_rows(name, source, by_group, resamples, True)
    for author in sorted({entry.critique.author for entry in scored} - set(GROUPS.values())):
        by_author = [entry for entry in scored if entry.critique.author == author]
        yield from _author_rows(author, source, by_author, resamples, False)


def _author_rows(
    author: str, source: str, scored: Sequence[ScoredCritique], resamples: int, group: bool
) -> Iterator[Row]:
    from core.statistics.measures import means

    if not scored:
        return
    estimates = means.critique_scores(count_aius(scored), groups=[entry.item for entry in scored], resamples=resamples)
    unread = sum((*entry.factual, *entry.covered).count(None) for entry in scored)
    judgements = sum(len(entry.factual) + len(entry.covered) for entry in scored)
    counts = {(entry.item, entry.critique.id): len(entry.factual) for entry in scored}
    aius, coverage = sum(counts.values()), 1 - unread / judgements if judgements else None
    repeats = repeats_note(len({entry.repeat for entry in scored}))
    items = len({entry.item for entry in scored})
    for level in LEVELS:
        found = {name: estimates[f"{name}_{level}"] for name in SCORES}
        reason = join_notes(*dict.fromkeys((repeats, *(estimate.reason for estimate in found.values()))))
        yield Row(
            author, source, level, **found, critiques=len(counts), aius=aius, items=items, group=group, unread=unread,
            coverage=coverage, reason=reason,
        )  # fmt: skip


def count_aius(scored: Sequence[ScoredCritique]) -> "AiuCounts":
    """Count the true and the readable AIUs of each critique, for precision and for recall."""
    import numpy as np

    from core.statistics.measures.means import AiuCounts

    counts = [
        np.array([(values.count(True), len(values) - values.count(None)) for values in task], float).reshape(-1, 2)
        for task in ([entry.factual for entry in scored], [entry.covered for entry in scored])
    ]
    return AiuCounts(*counts)


def _reference_rows(critiques: CritiquesByItem) -> Iterator[Row]:
    """Yield rows that count the reference critiques and their AIUs."""
    references = [reference_critique(of_item) for of_item in critiques.values()]
    aius = [reference.aius for reference in references if reference is not None and reference.aius is not None]
    for level in LEVELS if aius else ():
        reason = "a reference critique has no score: other critiques are compared with it"
        counts = len(aius), sum(map(len, aius)), len(aius)
        yield Row(REFERENCE, PEOPLE, level, UNDEFINED, UNDEFINED, UNDEFINED, *counts, True, reason=reason)


def _accuracies(data: CritiqueData) -> Iterator[Accuracy]:
    """Yield each judge's accuracy by task and by group of authors."""
    owners = aiu_owners(data.critiques)
    groups = {
        (item, critique.id): GROUPS[critique.source]
        for item, critiques in data.critiques.items()
        for critique in critiques
    }
    for judge, repeats in data.judges.items():
        of_judge = [judgement for values in repeats.values() for judgement in values.items()]
        for task, kind in TASKS.items():
            given = [(t, value) for t, value in of_judge if t.kind == kind and data.people.get(t) is not None]
            labelled = [target for target, _ in given]
            # The critique whose precision or recall an AIU decides; none for an AIU that is not current.
            of_recall = [target.part.partition(RECALL_SEPARATOR)[2] for target in labelled]
            owned = [of or owners.get((one.item, one.part), "") for of, one in zip(of_recall, labelled, strict=True)]
            authors = [groups.get((one.item, owner), "") for one, owner in zip(labelled, owned, strict=True)]
            for group in ("all", *GROUPS.values()):
                selected = [one for one, author in zip(given, authors, strict=True) if group in ("all", author)]
                found = _accuracy(judge, task, group, selected, data.people)
                yield replace(found, reason=join_notes(repeats_note(len(repeats)), found.reason))


def _accuracy(
    judge: str, task: Task, group: str, selected: Sequence[tuple[Target, bool | None]], gold: AiuValues
) -> Accuracy:
    """Return the accuracy of values of AIUs, each of one repeat, with an interval over items."""
    from core.statistics.measures import means

    read = [(target, value == gold[target]) for target, value in selected if value is not None]
    hits, unread = [hit for _, hit in read], len(selected) - len(read)
    none = "people and the judge have no AIU in common"
    estimate = means.share_estimate(hits, [target.item for target, _ in read], reason=none)
    counts = len({target for target, _ in read}), len(read), unread
    return Accuracy(judge, task, group, estimate, *counts, estimate.reason)


def _count_pairs(source: str, scored: Sequence[ScoredCritique]) -> PairCounts:
    """Compare the first two critiques by models of each item, in the item's order."""
    by_item: dict[tuple[str, int], list[ScoredCritique]] = defaultdict(list)
    for entry in scored:
        if entry.critique.source == "llm":
            by_item[entry.item, entry.repeat].append(entry)
    scores = [[entry.score.f1 for entry in pair[:2]] for pair in by_item.values() if len(pair) > 1]
    defined = [(a, b) for a, b in scores if a is not None and b is not None]
    first, second = sum(a > b for a, b in defined), sum(a < b for a, b in defined)
    return PairCounts(source, first, second, len(defined) - first - second, len(scores) - len(defined))


# The tables of a page and their files, and the answer in words.

GROUP_NAMES = {"human": "all people", "llm": "all models"}


def display_name(row: Row) -> str:
    """Return the author, or "all people" and "all models" for groups."""
    return GROUP_NAMES[row.author] if row.group else row.author


COLUMNS = (
    Column("Author", display_name),
    in_file("author source level"),
    Column(
        "Precision", "precision.value precision.low precision.high", "estimate",
        "precision precision_low precision_high",
        help="The share of a critique's AIUs that are true. AIU: atomic information unit, one claim of a critique.",
    ),
    Column(
        "Recall", "recall.value recall.low recall.high", "estimate", "recall recall_low recall_high",
        help="The share of the reference critique's AIUs that it has.",
    ),
    Column(
        "F1", "f1.value f1.low f1.high", "estimate", "f1 f1_low f1_high",
        help="The harmonic mean of precision and recall.",
    ),
    Column("Critiques", "critiques", "count", "critiques"),
    Column("AIUs", "aius", "count", "aius"),
    in_file("unread"),
    Column(
        "Coverage", "coverage", "share", "coverage",
        help="The share of judgements of AIUs that have a value; the others are left out.",
    ),
    in_file("group"),
    Column("Note", "reason", key="reason"),
)  # fmt: skip


# Of files.
ACCURACY_KEYS = in_file(
    "judge task critiques accuracy.value accuracy.low accuracy.high aius read unread reason",
    "judge task critiques accuracy low high aius read unread reason",
)


def _accuracy_column(title: str, critiques: str) -> Column:
    """Return the column of the critiques by a group of authors, of rows that have the accuracy on each group's."""

    def text(row: Mapping[str, Accuracy]) -> str:
        one = row[critiques]
        return f"{_estimate_text(one.accuracy)} ({one.aius:,})" if one.aius else "–"

    return Column(title, text, "figure")


ACCURACY_COLUMNS = (
    Column("Judge", lambda row: row["all"].judge),
    Column("Task", lambda row: row["all"].task.capitalize()),
    _accuracy_column("All critiques", "all"),
    _accuracy_column("By people", "human"),
    _accuracy_column("By models", "llm"),
    Column("Readable", lambda row: format_readable(row["all"].read, row["all"].read + row["all"].unread), "figure"),
)  # fmt: skip


def describe_authors(rows: Sequence[Row]) -> str:
    """Return the author with the highest F1, compared with the next one; `rows` are of one source and level."""
    authors = [row for row in rows if not row.group and row.f1.value is not None]
    if not authors:
        return "No author has an F1: it needs judged AIUs of a critique and of the reference critique of its item."
    best, *others = sorted(authors, key=lambda row: -(row.f1.value or 0.0))
    if not others:
        return f"Author {best.author} has the only F1, {_format_f1(best)}."
    second = others[0]
    if best.f1.low is None or second.f1.high is None:
        verdict = "without intervals to compare it with"
    elif best.f1.low > second.f1.high:
        verdict = "and is ahead of"
    else:
        verdict = "but is not clearly ahead of"
    return (
        f"Author {best.author} has the highest F1, {_format_f1(best)}, {verdict} {second.author}, {_format_f1(second)}."
    )


def _format_f1(row: Row) -> str:
    return f"{_estimate_text(row.f1)} ({format_count(row.critiques, 'critique')})"


def _estimate_text(estimate: Estimate) -> str:
    return format_estimate(estimate.value, estimate.low, estimate.high)


def describe_judges(accuracies: Sequence[Accuracy]) -> str:
    """Return the judge with the highest accuracy on AIUs for each task; "" if no accuracy is defined."""
    best = []
    for task in TASKS:
        defined = [
            row for row in accuracies if row.task == task and row.critiques == "all" and row.accuracy.value is not None
        ]
        if defined:
            row = max(defined, key=lambda row: row.accuracy.value or 0.0)
            best.append(f"of {task} {row.judge}, {_estimate_text(row.accuracy)} ({format_count(row.aius, 'AIU')})")
    return f"Most accurate judge {', '.join(best)}." if best else ""


def describe_pairs(counts: PairCounts) -> str:
    """Return the win rates of two models' critiques on the same item; "" without a comparison."""
    total = counts.first + counts.second + counts.tie
    undefined = f"; undefined for {format_count(counts.undefined, 'pair')}" if counts.undefined else ""
    return (
        f"Pairs of critiques by models on the same item, compared by F1: the first is better in {counts.first} "
        f"of {total}, the second in {counts.second}, equal in {counts.tie}{undefined}."
        if total
        else ""
    )
