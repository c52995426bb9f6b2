"""A study in a few numbers: what it contains, the agreement of its annotators, its best judge."""

from dataclasses import dataclass
from operator import itemgetter

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.statistics import catalogue
from core.statistics.reports.agreement import AgreementRow
from core.statistics.reports.judges import JudgeEvaluation, Ranking
from core.statistics.reports.label_plans import PairPlan
from storage.db.columns import START
from storage.db.guards import COUNTS, reading_for
from storage.db.tables import ItemRow, LabelRow, RunRow, TraceRow
from storage.labels import targets
from storage.reports import judge_ranking, label_plans
from storage.reports.agreement import OverallAgreement
from storage.reports.alignment import AlignmentData
from storage.reports.chosen_labels import ALL_TARGETS, Population
from storage.runs import traces
from storage.runs.traces import Filter


@dataclass(frozen=True)
class StudyCounts:
    """The size of a study."""

    items: int
    runs: int
    traces: int
    disputed: int
    without_verdict: int
    """Traces that ended without a verdict, or failed."""
    labels: int
    annotators: int


def size(session: Session, study_id: int) -> tuple[int, int]:
    """Return the numbers of items and of runs."""
    items = select(func.count()).select_from(ItemRow).where(col(ItemRow.study_id) == study_id)
    runs = select(func.count()).select_from(RunRow).where(col(RunRow.study_id) == study_id)
    return session.scalar(items) or 0, session.scalar(runs) or 0


@reading_for(COUNTS)
def find_dispute(session: Session, study_id: int) -> dict[str, str]:
    """Return how an address names the most disputed debate, or else all disputes."""
    wanted = Filter(study_id, status="disputed")
    found = traces.ordered_ids(session, wanted, after=START, limit=1, order="contention")
    return {"trace": str(found[0])} if found else {"outcome": "Disputed"}


@reading_for(COUNTS)
def counts(session: Session, study_id: int) -> StudyCounts:
    """Count the contents of a study in the database; of labels, those that count: a changed one once."""
    items, runs = size(session, study_id)
    outcomes = (
        select(col(TraceRow.outcome), func.count())
        .where(col(TraceRow.study_id) == study_id)
        .group_by(col(TraceRow.outcome))
    )
    labels = select(func.count(), func.count(col(LabelRow.annotator_id).distinct())).where(
        col(LabelRow.study_id) == study_id, targets.is_current(LabelRow)
    )
    by_outcome: dict[str, int] = {outcome: count for outcome, count in session.execute(outcomes)}
    given, annotators = session.execute(labels).one()
    return StudyCounts(
        items=items,
        runs=runs,
        traces=sum(by_outcome.values()),
        disputed=by_outcome.get("disputed", 0),
        without_verdict=by_outcome.get("no_verdict", 0) + by_outcome.get("failed", 0),
        labels=given,
        annotators=annotators,
    )


def agreement(overall: OverallAgreement) -> list[AgreementRow]:
    """Return the main statistic of each kind and criterion of which targets have two labels, the most items first.

    A row has no value, and a reason, if it is not defined; these are last.
    """
    best: dict[tuple[str, str], tuple[tuple[bool, int, int], AgreementRow]] = {}
    rows, scales = overall
    for row in rows:
        scale = scales.get((row.kind, row.criterion))
        statistics = catalogue.headlines_of(scale.level) if scale is not None else ()
        if row.items and row.statistic in statistics:
            candidate = (row.value is None, -row.items, statistics.index(row.statistic)), row
            subject = row.kind, row.criterion
            best[subject] = min(best.get(subject, candidate), candidate, key=itemgetter(0))
    return [row for _, row in sorted(best.values(), key=itemgetter(0))]


@dataclass(frozen=True)
class Leaders:
    """The judges by their accuracy, and the labels that separate the best from the second one."""

    ranking: Ranking
    plan: PairPlan | None
    """None if there is one judge only."""
    population: Population = ALL_TARGETS
    """The targets that the accuracy is of."""
    debate: str = ""
    """The title of the reference if it is a debate instead of labels of people."""

    @property
    def judge(self) -> JudgeEvaluation:
        """The most accurate judge; the first by name if none is ranked."""
        return self.ranking.judges[0]


def leading_judges(data: AlignmentData, overlap: int, *, resamples: int = 1000) -> Leaders | str:
    """Return the most accurate judges on the kind and criterion with the most targets, or why none can be ranked."""
    keys = judge_ranking.rankable(data)
    if not keys:
        return judge_ranking.why_unranked(data)
    query = judge_ranking.RankingQuery(*keys[0])
    report = judge_ranking.report(data, query, resamples=resamples)
    if report is None or not report.ranking.targets:
        return judge_ranking.NO_COMMON_TARGET
    plan = label_plans.leaders(data, query, report, overlap)
    debate = data.reference.title if data.reference.type == "debate" else ""
    return Leaders(report.ranking, plan, report.population, debate)
