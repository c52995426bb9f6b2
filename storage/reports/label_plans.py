"""How many more labels tell the judges of a study apart, and decide which verdicts may stand without a person."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.formats.tables import Column, in_file, records
from core.statistics.reports.judges import Decision, comparable_judges
from core.statistics.reports.label_plans import PairPlan, pair_plan, pair_plans
from storage.db import connections
from storage.reports import judge_ranking, policy
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.judge_ranking import JudgeReport, RankingQuery, Selection, find_independent_dataset
from storage.reports.policy import PolicyQuery
from storage.studies.studies import Study


@dataclass(frozen=True)
class StudyPlans:
    """The plans of a study."""

    ranked: JudgeReport | None
    pairs: tuple[PairPlan, ...] = ()
    leaders: PairPlan | None = None
    """Of the two most accurate judges; None if there are fewer."""
    threshold: str = ""
    """The labels that could decide which verdicts of the most accurate judge may stand; "" if none could, or no more
    are needed."""

    @property
    def sentences(self) -> list[str]:
        """What the labels of the most accurate judges are for."""
        return list(filter(None, (self.leaders.sentence if self.leaders else "", self.threshold)))


def leaders(data: AlignmentData, query: RankingQuery, ranked: JudgeReport, overlap: int) -> PairPlan | None:
    """Return the plan for the two most accurate judges of a ranking; None if it has fewer."""
    dataset, names = find_independent_dataset(data, query), _by_accuracy(ranked)
    if dataset is None or len(names) < 2:
        return None
    return pair_plan(dataset, names[0], names[1], overlap, query.abstentions)


def _by_accuracy(ranked: JudgeReport) -> list[str]:
    """Return the judges from the most accurate on, those not to be used last; a ranking has unranked ones by name."""
    judges = ranked.ranking.judges
    return [
        one.judge
        for one in sorted(judges, key=lambda one: (one.decision is Decision.do_not_use, -(one.accuracy.value or 0.0)))
    ]


def threshold(session: Session, study: Study, data: AlignmentData, query: RankingQuery, ranked: JudgeReport) -> str:
    """Return which labels could decide the policy of the most accurate judge, by people's decisions; "" if none."""
    of_people = str(data.reference) == policy.REFERENCE and query.scenario is None
    if not ranked.ranking.judges or not of_people:
        return ""
    wanted = PolicyQuery((_by_accuracy(ranked)[0],), query.kind, query.criterion)
    offered = policy.choices(data, wanted)
    found = policy.describe_more(policy.report(session, study, data, wanted)) if offered else ""
    return f"Which verdicts may stand without a person: {found}" if found else ""


def report(
    session: Session, study: Study, data: AlignmentData, query: RankingQuery, *, resamples: int = 1000
) -> StudyPlans | None:
    """Return the plans for the judges of a query, None without targets; `resamples` are those of the ranking."""
    ranked, dataset = judge_ranking.report(data, query, resamples=resamples), find_independent_dataset(data, query)
    if dataset is None:
        return None
    overlap = study.rules.overlap
    pairs = pair_plans(dataset, comparable_judges(dataset), overlap, query.abstentions)
    if ranked is None:
        return StudyPlans(None, pairs)
    best = threshold(session, study, data, query, ranked)
    return StudyPlans(ranked, pairs, leaders(data, query, ranked, overlap), best)


def of_study(
    engine: Engine, study: Study, selection: Selection, *, reference: str | None = None
) -> tuple[StudyPlans, Mapping[str, str]]:
    """Return the plans of a study, and judge without a plan -> reason.

    Raises TiebreakError if no judge can be ranked.
    """
    data = load_data(engine, study, reference)
    query = judge_ranking.selected_query(data, selection)
    with connections.reading(engine) as session:
        found = report(session, study, data, query, resamples=2)  # only the order of the judges is used
    if found is None:
        raise TiebreakError(f"No labels can be planned{judge_ranking.in_scenario(selection.scenario)}.")
    return found, judge_ranking.not_compared(data, query)


COLUMNS = (
    Column("Judge", "judge", key="judge"),
    Column("Other judge", "other_judge", key="other_judge"),
    Column("Separated", "evidence.separated", "yes", "separated"),
    Column(
        "Right",
        lambda pair: f"{pair.evidence.wins:,} : {pair.evidence.losses:,} of {pair.evidence.labelled:,}", "figure",
        help="How often the first judge is right : how often the second is, on the labelled targets on which they have "
        "different verdicts.",
    ),
    in_file("evidence.labelled evidence.wins evidence.losses evidence.targets", "labelled wins losses more_targets"),
    Column(
        "More labels", "labels", "count", "more_labels",
        "Labels of targets on which the two judges differ, so their difference is found at 95 % with a probability of "
        "80 %, if it is as large as it is now.",
    ),
    Column(
        "At random", "labels_at_random", "count", "more_labels_at_random",
        "The labels needed if targets are drawn from all of them.",
    ),
    Column("Waiting", "waiting", "count", "waiting", "Targets without a reference on which the two judges differ."),
    Column("Why", "evidence.reason", key="reason"),
)  # fmt: skip


def table(found: StudyPlans) -> list[dict[str, object]]:
    """Return one row for every two judges."""
    return records(found.pairs, COLUMNS)
