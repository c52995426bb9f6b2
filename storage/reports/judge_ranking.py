"""Every judge of a study on the same targets against a reference, and every two judges compared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.tables import Column, in_file, records
from core.provenance import INTERVALS
from core.statistics.data.arrays import Estimate
from core.statistics.data.dataset import Dataset
from core.statistics.data.frames import ALL, as_text, distinct_keys
from core.statistics.measures.annotator_dependence import State
from core.statistics.measures.comparison import Comparison
from core.statistics.reports import judge_findings
from core.statistics.reports.alignment import RECALL_BY_KIND
from core.statistics.reports.judge_findings import Findings
from core.statistics.reports.judges import (
    ABSTENTION_POLICIES,
    MIN_SHARE,
    Abstentions,
    JudgeEvaluation,
    Ranking,
    Rule,
    common_targets,
    comparable_judges,
    compare_judges,
    describe_rule,
    has_verdict,
    rank_judges,
)
from core.wording import format_estimate, group_by_note, join_notes, scenario_name
from storage.reports import alignment, chosen_labels, judge_costs, opinions
from storage.reports.alignment import AlignmentData, categorical_scales, load_data
from storage.reports.chosen_labels import ALL_TARGETS, Population
from storage.reports.disagreements import Drilldown, list_places
from storage.reports.judge_costs import RunCost
from storage.studies.studies import Study

SILENT = "no readable verdict"
TOO_FEW = f"asked about fewer than {MIN_SHARE:.0%} of the targets of the judge with the most"
BETWEEN = "values between the categories of the scale are not right or wrong; the tab Alignment has the correlations"
NO_COMMON_TARGET = "No judge can be ranked: no target has both a reference and an opinion of every judge."


@dataclass(frozen=True)
class Selection:
    """A request for a ranking: None is the kind, criterion or scenario with the most targets, or all."""

    kind: str | None = None
    criterion: str | None = None
    scenario: str | None = None
    abstentions: Abstentions = "error"
    rule: Rule = field(default_factory=Rule)


@dataclass(frozen=True)
class RankingQuery(Selection):
    """The subject and the parameters of a ranking."""

    kind: str
    criterion: str
    """A criterion, or "all" for all criteria that share a scale."""


@dataclass(frozen=True)
class JudgeReport:
    """The ranking of judges, and those that are not in it."""

    query: RankingQuery
    ranking: Ranking
    not_compared: Mapping[str, str]
    """Judge -> why it is not compared."""
    reference: str = ""
    """The reference with the number of its values by source, such as "gold: 52 adjudicated, 8 by people"."""
    population: Population = ALL_TARGETS
    """The targets that accuracies are of."""
    of_labels: Population = ALL_TARGETS
    """The targets that the human ceiling is of."""
    chosen: str = ""
    """A sentence about labels that are mainly of disputed targets; empty if they are not."""

    @property
    def notes(self) -> list[str]:
        """Sentences that name the judges that are not compared."""
        return notes_of(self.not_compared)


def describe_method(report: JudgeReport) -> str:
    """Return what a caption of the ranking has to state: targets, reference, missing verdicts, rule, intervals."""
    query = report.query
    named = f"criterion {query.criterion!r}" if query.criterion else "no criterion"
    criterion = "all criteria" if query.criterion == ALL else named
    scenario = "all scenarios" if query.scenario is None else f"scenario {scenario_name(query.scenario)!r}"
    return (
        f"Accuracy against the reference {report.reference}; {query.kind}, {criterion}, {scenario}; targets without a "
        f"verdict {ABSTENTION_POLICIES[query.abstentions]}. {describe_rule(query.rule)} {INTERVALS}"
    )


def notes_of(not_compared: Mapping[str, str]) -> list[str]:
    """Return sentences that name judges (judge -> reason), one for each reason."""
    judges = group_by_note(not_compared, lambda judge: [not_compared[judge]])
    return [f"Not compared: {', '.join(names)} ({reason})." for reason, names in judges.items()]


def rankable(data: AlignmentData) -> list[tuple[str, str]]:
    """Return the (kind, criterion) whose verdicts are right or wrong against the reference, the largest first.

    If several criteria of a kind share a scale, "all" of them together come first.
    """
    sizes = {
        (dataset.kind, dataset.criterion): int((dataset.gold == dataset.gold).sum())
        for dataset in data.categorical_datasets
    }
    return sorted((key for key, size in sizes.items() if size), key=lambda key: (-sizes[key], key))


def keys(data: AlignmentData) -> list[tuple[str, str]]:
    """Return all (kind, criterion) that judges are compared with people on: those of `rankable` first."""
    return list(dict.fromkeys((*rankable(data), *alignment.compared_keys(data))))


def scenarios(data: AlignmentData, kind: str, criterion: str) -> list[str]:
    """Return the scenarios of the opinions of a kind and criterion, in the order of their names."""

    def find() -> list[str]:
        found = data.opinions
        of_key = found["kind"].isin(RECALL_BY_KIND if kind == "aiu" else (kind,))
        if criterion != ALL:
            of_key &= found["criterion"] == criterion
        return sorted(set(map(as_text, found.loc[of_key, "scenario"].unique())))

    return opinions.once(data.opinions, ("scenarios", kind, criterion), find)


def report(data: AlignmentData, query: RankingQuery, *, resamples: int = 1000) -> JudgeReport | None:
    """Rank the judges of a query, once for the same data; None if nothing can be ranked."""
    return opinions.once(data, ("ranking", query, resamples), lambda: _report(data, query, resamples))


def _report(data: AlignmentData, query: RankingQuery, resamples: int) -> JudgeReport | None:
    chosen = _ranked_dataset(data, query)
    if chosen is None:
        return None
    ranking = rank_judges(
        chosen, abstentions=query.abstentions, rule=query.rule, resamples=resamples, findings=findings(data, query)
    )
    population = _population(data, query)
    note = data.choices.note(query.kind, query.criterion, one_scenario=query.scenario is not None)
    of_labels = population_of_labels(data, query)
    ranking = chosen_labels.of_chosen_targets(ranking, population, of_labels)
    left_out = not_compared(data, query)
    return JudgeReport(query, ranking, left_out, f"{data.reference}: {ranking.sources}", population, of_labels, note)


def not_compared(data: AlignmentData, query: RankingQuery) -> dict[str, str]:
    """Return the judges of a query that are not compared, with the reason."""
    dataset, few = find_dataset(data, query), {}
    if dataset is not None:
        others = [name for name in dataset.judges if name not in comparable_judges(dataset)]
        few = {name: TOO_FEW if has_verdict(dataset, name) else SILENT for name in others}
    return few | dict.fromkeys(_averaging_judges(data, query), BETWEEN)


def compare(data: AlignmentData, query: RankingQuery, *, resamples: int = 1000) -> tuple[Comparison, ...]:
    """Compare every two judges of a query on the targets of its ranking."""
    chosen = _ranked_dataset(data, query)
    if chosen is None:
        return ()
    known = dependence(data, query)
    found = compare_judges(chosen, abstentions=query.abstentions, resamples=resamples, findings=known)
    return chosen_labels.named_by_targets(found, _population(data, query))


def population_of_labels(data: AlignmentData, query: RankingQuery, *, weighted: bool = True) -> Population:
    """Return the targets that figures of several labels of a query are of, such as the human ceiling and causes."""
    of_labels = _population(data, query, of_labels=True)
    return of_labels if of_labels != ALL_TARGETS else _population(data, query, weighted=weighted)


def _population(
    data: AlignmentData, query: RankingQuery, *, of_labels: bool = False, weighted: bool = True
) -> Population:
    """Return the targets that the figures of a query are of."""
    one_scenario = query.scenario is not None
    return data.choices.population(
        query.kind, query.criterion, of_labels=of_labels, one_scenario=one_scenario, weighted=weighted
    )


def dependence(data: AlignmentData, query: RankingQuery) -> Findings:
    """Return the annotators whose labels the judges of a query's targets repeat."""

    def compute() -> Findings:
        dataset = find_dataset(data, query)
        annotator = data.reference.name if data.reference.type == "annotator" else ""
        return Findings() if dataset is None else judge_findings.find_repeated(dataset, annotator)

    return opinions.once(data, ("dependence", query.kind, query.criterion, query.scenario), compute)


def findings(data: AlignmentData, query: RankingQuery) -> Findings:
    """Return the same with the biases of these judges."""
    dataset = find_dataset(data, query)
    return replace(dependence(data, query), biases=() if dataset is None else judge_findings.find_biases(dataset))


def find_independent_dataset(data: AlignmentData, query: RankingQuery) -> Dataset | None:
    """Return the same as `find_dataset`, with the reference of the ranking."""
    dataset = find_dataset(data, query)
    return None if dataset is None else judge_findings.with_independent_reference(dataset, dependence(data, query))


def _ranked_dataset(data: AlignmentData, query: RankingQuery) -> Dataset | None:
    """Return the targets of a query with the verdicts of the judges that are ranked; None if there are none."""
    dataset = find_dataset(data, query)
    if dataset is None or not (names := comparable_judges(dataset)):
        return None
    return replace(dataset, judges={name: replace(dataset.judges[name], sides={}) for name in names})


def of_study(
    engine: Engine, study: Study, selection: Selection, *, reference: str | None = None, resamples: int = 1000
) -> JudgeReport:
    """Rank the judges of a study; raises TiebreakError if nothing can be ranked."""
    return of_data(load_data(engine, study, reference), selection, resamples=resamples)


def of_data(data: AlignmentData, selection: Selection, *, resamples: int = 1000) -> JudgeReport:
    """Rank the judges of loaded data; raises TiebreakError if nothing can be ranked."""
    ranked = report(data, selected_query(data, selection), resamples=resamples)
    if ranked is not None and not ranked.ranking.targets:
        raise TiebreakError(NO_COMMON_TARGET)
    if ranked is None:
        raise TiebreakError(f"No judge can be ranked{in_scenario(selection.scenario)}.")
    return ranked


def comparisons_of_study(
    engine: Engine, study: Study, selection: Selection, *, reference: str | None = None
) -> tuple[tuple[Comparison, ...], dict[str, str]]:
    """Compare every two judges of a study; raises TiebreakError if none can be compared.

    Returned with the judges that are not compared: judge -> reason.
    """
    data = load_data(engine, study, reference)
    query = selected_query(data, selection)
    chosen = _ranked_dataset(data, query)
    if chosen is None:
        raise TiebreakError(f"No judge can be ranked{in_scenario(selection.scenario)}.")
    if not common_targets(chosen).any():
        raise TiebreakError(NO_COMMON_TARGET)
    return compare(data, query), not_compared(data, query)


def in_scenario(scenario: str | None) -> str:
    """Return the end of a sentence about a scenario; "" for all scenarios."""
    return "" if scenario is None else f" in the scenario {scenario_name(scenario)!r}"


def selected_query(data: AlignmentData, selection: Selection) -> RankingQuery:
    """Return the query of a selection; raises TiebreakError if it names what there is not, or has no right verdicts."""
    alignment.check_scenario_of_items(data, selection.scenario)
    keys = [key for key in rankable(data) if _is_selected(key, selection)]
    if not keys:
        alignment.check_key(data, selection.kind, selection.criterion)
        raise TiebreakError(why_unranked(data, selection))
    return RankingQuery(**vars(selection) | dict(zip(("kind", "criterion"), keys[0], strict=True)))


def why_unranked(data: AlignmentData, selection: Selection | None = None) -> str:
    """Return why no judge of a study, kind or criterion has verdicts that are right or wrong."""
    judged, referenced = (set(distinct_keys(frame, ("kind", "criterion"))[1]) for frame in (data.opinions, data.gold))
    keys = [key for key in judged & referenced if _is_selected(key, selection or Selection())]
    between = {(kind, criterion) for _, kind, criterion in data.averaging}
    categorical = categorical_scales(data.scales)
    if all(key in categorical and key not in between for key in keys):
        return "No judge can be ranked: no target has both a value of the reference and a verdict."
    return (
        "Judges are ranked by the share of right verdicts. Values between the categories of a scale, and those of a "
        "scale without categories, are not right or wrong. The tab Alignment and cli.py judges alignment compare "
        "them with people by correlation."
    )


def _is_selected(key: tuple[str, str], selection: Selection) -> bool:
    return selection.kind in (None, key[0]) and selection.criterion in (None, key[1])


@dataclass(frozen=True)
class RankedRow:
    """A judge, the human ceiling or a baseline, as a row of the table of a ranking."""

    evaluation: JudgeEvaluation
    """That of the ceiling or a baseline has an accuracy only."""
    decision: str
    reference: str
    population: Population
    number: int | None = None
    """The number of a judge, by which charts refer to it."""
    rank: int | None = None
    """The place of a judge among those that are ranked."""
    cost: RunCost | None = None
    efficient: tuple[str, ...] = ()
    """ "dollars" or "seconds", if no other judge is cheaper and as accurate."""

    def joined(self, names: Iterable[str]) -> str | None:
        """Return names as one cell; None for a row that is no judge."""
        return None if self.number is None else ", ".join(names)

    def annotators(self, state: State) -> str | None:
        """Return the annotators whose labels the judge repeats, or may repeat."""
        return self.joined(one.annotator for one in self.evaluation.dependence if one.state is state)


COLUMNS = (
    Column("No.", lambda row: row.number or "", "figure"),
    Column("Judge", "evaluation.judge", key="judge"),
    Column("", "rank", key="rank"),
    Column("Decision", "decision", key="decision"),
    Column(
        "Accuracy", "evaluation.accuracy.value evaluation.accuracy.low evaluation.accuracy.high", "estimate",
        "accuracy low high",
        "The share of the common targets on which the verdict is the value of the reference. Where missing verdicts "
        "are left out, each judge has its own targets.",
    ),
    Column(
        "Range", lambda row: " to ".join(f"{end:.2f}" for end in row.evaluation.accuracy_range or ()), "figure",
        help="The accuracy if every missing verdict were wrong, and if every one were right. Empty if none is missing. "
        "The distance from the ceiling and ω have no such range: read them with the coverage.",
    ),
    Column("", lambda row: row.evaluation.accuracy_range or (None, None), key="lowest highest"),
    in_file("evaluation.accuracy.items evaluation.accuracy.effective", "targets effective"),
    Column(
        "Coverage", "evaluation.coverage.value evaluation.coverage.low evaluation.coverage.high", "estimate",
        help="The share of the common targets with a verdict of the judge.",
    ),
    in_file("evaluation.coverage.value", "coverage"),
    Column(
        "From ceiling",
        "evaluation.less_ceiling.value evaluation.less_ceiling.low evaluation.less_ceiling.high", "difference",
        "from_ceiling from_ceiling_low from_ceiling_high",
        "Accuracy against the majority of the other annotators, each left out in turn, minus the annotators' own "
        "accuracy against it. It also counts targets without a majority of all, so it is not the difference of the "
        "column Accuracy from the ceiling.",
    ),
    Column(
        "ω", lambda row: format_estimate(row.evaluation.winning_rate, None, None), "figure",
        help="The winning rate of the alternative-annotator test: the share of the annotators for whom a test shows "
        "that the judge is not worse than they are by more than ε, on the targets that they share with others. ε is "
        "the advantage conceded to a judge for its lower cost.",
    ),
    in_file("evaluation.winning_rate"),
    Column("", lambda row: row.annotators(State.repeats), key="repeats"),
    Column("", lambda row: row.annotators(State.unclear), key="may_repeat"),
    Column("", lambda row: row.joined(bias.bias for bias in row.evaluation.biases), key="biases"),
)  # fmt: skip
COST_COLUMNS = (
    Column("", lambda row: row.cost and row.cost.amount("dollars"), key="dollars_per_1000"),
    Column("", lambda row: row.cost and row.cost.amount("seconds"), key="seconds_per_1000"),
    Column("", lambda row: row.cost and ", ".join(row.efficient), key="efficient"),
)
LAST_COLUMNS = (
    Column(
        "",
        lambda row: join_notes(row.evaluation.reason, row.evaluation.accuracy.reason),
        key="reason",
    ),
    in_file("reference population"),
)
NO_ESTIMATE = Estimate(None, None, None, 0, 0, 0, 0)


def ranked_rows(report: JudgeReport, costs: Mapping[str, RunCost] | None = None) -> list[RankedRow]:
    """Return one row for each judge, then one for the human ceiling and for each baseline."""
    ranking = report.ranking
    shown = judge_costs.with_efficiency(costs or {}, {one.judge: one.accuracy.value for one in ranking.judges})
    rows = []
    for number, judge in enumerate(ranking.judges, start=1):
        cost, efficient = shown.get(judge.judge, (None, ()))
        rank = sum(one.is_ranked for one in ranking.judges[:number]) if judge.is_ranked else None
        rows.append(
            RankedRow(judge, judge.decision, report.reference, report.population, number, rank, cost, efficient)
        )
    others = [("human ceiling", "ceiling", ranking.ceiling)]
    others += [(baseline.name, "baseline", baseline.accuracy) for baseline in ranking.baselines]
    for name, decision, accuracy in others:
        evaluation = JudgeEvaluation(name, accuracy, None, NO_ESTIMATE, NO_ESTIMATE, None, 0)
        of_ceiling = decision == "ceiling"
        population = report.of_labels if of_ceiling else report.population
        rows.append(RankedRow(evaluation, decision, "" if of_ceiling else report.reference, population))
    return rows


def table(report: JudgeReport, costs: Mapping[str, RunCost] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a ranking as they are in files.

    With `costs`, judges have dollars and seconds per 1,000 items, and "efficient" if no other is cheaper and as
    accurate.
    """
    columns = (*COLUMNS, *(COST_COLUMNS if costs is not None else ()), *LAST_COLUMNS)
    return records(ranked_rows(report, costs), columns)


def differing_targets(
    data: AlignmentData, query: RankingQuery, judge: str, other_judge: str, viewer: str | None
) -> Drilldown:
    """Return the first targets on which two judges have different values; see `disagreements.list_places`."""
    dataset = find_dataset(data, query)
    if dataset is None or not {judge, other_judge} <= dataset.judges.keys():
        return Drilldown((), 0)
    first, second = dataset.judges[judge], dataset.judges[other_judge]
    both_missing = np.isnan(first.values) & np.isnan(second.values)
    differ = first.asked & second.asked & (first.values != second.values) & ~both_missing
    return list_places(dataset, np.flatnonzero(differ), (judge, other_judge), viewer)


def find_dataset(data: AlignmentData, query: RankingQuery) -> Dataset | None:
    """Return the targets of a query with every judge; None if there are none."""
    for dataset in data.categorical_datasets:
        if (dataset.kind, dataset.criterion) == (query.kind, query.criterion):
            chosen = np.ones(dataset.gold.size, bool) if query.scenario is None else dataset.scenario == query.scenario
            return dataset.subset(ALL if query.scenario is None else query.scenario, chosen) if chosen.any() else None
    return None


def _averaging_judges(data: AlignmentData, query: RankingQuery) -> tuple[str, ...]:
    """Return the judges of a query whose scores are means, except first opinions."""
    judges = {
        judge for judge, kind, criterion in data.averaging if kind == query.kind and query.criterion in (ALL, criterion)
    }
    opinions = data.opinions[data.opinions["judge"].isin(judges)] if judges else data.opinions[:0]
    return tuple(sorted(opinions.loc[opinions["stage"] != "first", "judge"].unique()))
