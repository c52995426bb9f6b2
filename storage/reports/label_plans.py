"""How many more labels tell the judges of a study apart, and make the agreement of its annotators precise."""

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.statistics.reports.label_plans import PairPlan, PlanReport, pair_plan, plan_report
from core.statistics.reports.recommendations import comparable_judges
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.judge_ranking import JudgeReport, RankingQuery, Selection, find_dataset
from storage.studies import Study


def report(data: AlignmentData, query: RankingQuery, overlap: int) -> PlanReport | None:
    """Return the plans for the judges of a query; None if it has no targets."""
    dataset = find_dataset(data, query)
    if dataset is None:
        return None
    return plan_report(dataset, query.judges or comparable_judges(dataset), overlap, abstentions=query.abstentions)


def leaders(data: AlignmentData, query: RankingQuery, ranked: JudgeReport, overlap: int) -> PairPlan | None:
    """Return the plan for the two most accurate judges of a ranking; None if it has fewer."""
    dataset, names = find_dataset(data, query), [judge.judge for judge in ranked.ranking.judges[:2]]
    if dataset is None or len(names) < 2:
        return None
    return pair_plan(dataset, names[0], names[1], overlap, query.abstentions)


def of_study(engine: Engine, study: Study, selection: Selection, *, reference: str | None = None) -> PlanReport:
    """Return the plans of a study; raises TiebreakError if no judge can be ranked."""
    data = load_data(engine, study, reference)
    keys = [
        key
        for key in judge_ranking.rankable(data)
        if selection.kind in (None, key[0]) and selection.criterion in (None, key[1])
    ]
    query = RankingQuery(*keys[0], scenario=selection.scenario, abstentions=selection.abstentions) if keys else None
    found = None if query is None else report(data, query, study.rules.overlap)
    if found is None:
        raise TiebreakError("No labels can be planned: no target has both a reference and a verdict.")
    return found


def table(found: PlanReport) -> list[dict[str, object]]:
    """Return one row for every two judges."""
    return [
        {
            "judge": pair.judge,
            "other_judge": pair.other_judge,
            "separated": pair.evidence.separated,
            "labelled": pair.evidence.labelled,
            "wins": pair.evidence.wins,
            "losses": pair.evidence.losses,
            "more_targets": pair.evidence.targets,
            "more_labels": pair.labels,
            "more_labels_at_random": pair.labels_at_random,
            "waiting": sum(pair.waiting.values()),
            "reason": pair.evidence.reason,
        }
        for pair in found.pairs
    ]
