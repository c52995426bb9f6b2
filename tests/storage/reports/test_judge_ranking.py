"""Judges are ranked on the same targets, and each is compared with each."""

import random
from collections.abc import Mapping

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, ScaleRecord, TraceRecord
from core.labels import Label, Opinion, Scale, Target
from core.trace import Verdict, VerdictReached
from storage.reports import alignment, judge_ranking, label_plans, overview
from storage.reports.judge_ranking import RankingQuery, Selection
from tests.conftest import make_item, make_label
from tests.storage.reports.test_alignment import import_study, make_trace
from tests.storage.shared import RUN

ITEMS = 60


def planted_records() -> list[Record]:
    """Return pairs with three annotators who agree, a good judge, one that abstains on most, and one of few items."""
    rng = random.Random(3)
    records: list[Record] = [RUN.model_copy(update={"name": "r"})]
    for number in range(ITEMS):
        item, truth = f"i{number}", rng.choice((1, 2))
        scenario = "math" if number % 2 else "code"
        records.append(ItemRecord(item=make_item(item, scenario=scenario)))
        records += [make_label(truth, name, item) for name in ("ann", "ben", "cat")]
        opinions = [
            ("good", "verdict", truth if rng.random() < 0.9 else 3 - truth),
            ("silent", "verdict", truth if number % 3 == 0 else None),
            ("dead", "verdict", None),  # an outage is no accuracy of 0
        ]
        if number < 5:
            opinions.append(("rare", "verdict", truth))
        records.append(make_trace(item, *opinions))
    return records


@pytest.fixture(scope="module")
def data(module_engine: Engine) -> alignment.AlignmentData:
    return alignment.load_data(module_engine, import_study(module_engine, planted_records()))


def test_a_judge_that_abstains_is_ranked_last_and_one_of_few_items_is_left_out(data: alignment.AlignmentData) -> None:
    ((kind, criterion),) = judge_ranking.rankable(data)
    report = judge_ranking.report(data, RankingQuery(kind, criterion), resamples=200)
    assert report is not None
    assert [judge.judge for judge in report.ranking.judges] == ["good", "silent"]
    assert report.ranking.targets == ITEMS and set(report.not_compared) == {"rare", "dead"}
    assert report.not_compared["dead"] == judge_ranking.SILENT
    assert report.ranking.judges[1].accuracy.value == pytest.approx(20 / ITEMS)
    assert [row["reference"] for row in judge_ranking.table(report)[:2]] == [f"gold: {ITEMS} by people"] * 2
    (comparison,) = judge_ranking.compare(data, RankingQuery(kind, criterion), resamples=200)
    assert (comparison.judge, comparison.other_judge, comparison.items) == ("good", "silent", ITEMS)
    assert comparison.difference == pytest.approx((report.ranking.judges[0].accuracy.value or 0) - 20 / ITEMS)
    assert comparison.p_corrected is not None and comparison.p_corrected < 0.01


def test_a_scenario_has_its_own_ranking_and_an_unknown_one_has_none(data: alignment.AlignmentData) -> None:
    ((kind, criterion),) = judge_ranking.rankable(data)
    assert kind == "preference" and judge_ranking.scenarios(data, kind, criterion) == ["code", "math"]
    report = judge_ranking.report(data, RankingQuery(kind, criterion, scenario="math"), resamples=50)
    assert report is not None and report.ranking.targets == ITEMS // 2
    unknown = RankingQuery(kind, criterion, scenario="none")
    assert judge_ranking.report(data, unknown) is None and judge_ranking.compare(data, unknown) == ()


def test_a_study_without_opinions_has_nothing_to_rank(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, [ItemRecord(item=make_item("i"))], "empty"))
    assert judge_ranking.rankable(data) == []


def scored_records(shifts: Mapping[str, float], scale: Scale) -> list[Record]:
    """Return scores of 1 and 2 by three annotators, and by judges: each adds its shift (judge -> shift)."""
    records: list[Record] = [
        ScaleRecord(kind="score", criterion="tone", scale=scale),
        RunRecord(name="r", protocol="refer", criterion="tone"),
    ]
    for number in range(ITEMS):
        item, truth = f"i{number}", 1 + number % 2
        target = Target(item=item, kind="score", criterion="tone")
        opinions = tuple(
            Opinion(kind="score", judge=judge, stage="verdict", value=truth + shift, criterion="tone")
            for judge, shift in shifts.items()
        )
        verdict = VerdictReached(verdict=Verdict(outcome="agreed", value=truth, opinions=opinions))
        records += [ItemRecord(item=make_item(item)), TraceRecord(run="r", item=item, events=(verdict,))]
        labels = [Label(target=target, annotator=name, value=truth) for name in ("ann", "ben", "cat")]
        records += [LabelRecord(label=label) for label in labels]
    return records


STARS = Scale(level="ordinal", categories=(1, 2, 3))


@pytest.mark.parametrize("scale", [STARS, Scale(level="interval", low=1, high=3)], ids=["between", "continuous"])
def test_values_that_are_not_right_or_wrong_are_why_no_judge_is_ranked(engine: Engine, scale: Scale) -> None:
    study = import_study(engine, scored_records({"decimal": 0.3, "mean": 0.5}, scale))
    reason = judge_ranking.why_unranked(alignment.load_data(engine, study))
    assert "are not right or wrong" in reason and "Alignment" in reason


def test_judges_with_categories_are_ranked_beside_one_between_them(engine: Engine) -> None:
    study = import_study(engine, scored_records({"decimal": 0.3, "whole": 0}, STARS))
    report = judge_ranking.of_study(engine, study, judge_ranking.Selection(), resamples=100)
    assert [judge.judge for judge in report.ranking.judges] == ["whole"]
    assert report.ranking.judges[0].accuracy.value == 1 and "between the categories" in report.not_compared["decimal"]


# Plans of further labels, by hand and for a study with unlabelled targets


def partly_labelled_records(labelled: int = 60, unlabelled: int = 30) -> list[Record]:
    """Return pairs of which the first ones are labelled twice, judged by a good and by a fair judge."""
    rng = random.Random(5)
    records: list[Record] = [RUN.model_copy(update={"name": "r"})]
    for number in range(labelled + unlabelled):
        item, truth = f"i{number}", rng.choice((1, 2))
        records.append(ItemRecord(item=make_item(item, scenario="math" if number % 3 else "code")))
        if number < labelled:
            records += [make_label(truth, name, item) for name in ("ann", "ben")]
        verdicts = [truth if rng.random() < right else 3 - truth for right in (0.85, 0.75)]
        records.append(make_trace(item, ("good", "verdict", verdicts[0]), ("fair", "verdict", verdicts[1])))
    return records


def test_the_plan_counts_targets_on_which_the_judges_differ(engine: Engine) -> None:
    study = import_study(engine, partly_labelled_records())
    found, not_compared = label_plans.of_study(engine, study, Selection())
    assert found.leaders is not None and not not_compared
    assert (found.leaders.judge, found.leaders.other_judge) == ("good", "fair")
    (pair,) = found.pairs
    data = alignment.load_data(engine, study)
    verdicts = data.opinions.pivot(index="item", columns="judge", values="value")
    differing = set(verdicts.index[verdicts["good"] != verdicts["fair"]])
    labelled = {item for item in differing if int(item[1:]) < 60}
    assert pair.evidence.labelled == len(labelled)
    assert pair.waiting == len(differing - labelled)
    assert pair.differing_share == pytest.approx(len(differing) / 90)
    assert not pair.evidence.separated and pair.evidence.targets is not None
    assert pair.labels == pair.evidence.targets * study.rules.overlap
    assert pair.labels_at_random is not None and pair.labels_at_random > 2 * pair.labels
    assert f"About {pair.labels} more labels separate" in pair.sentence


def test_the_two_most_accurate_judges_lead(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, partly_labelled_records()))
    query = RankingQuery("preference", "helpfulness")
    ranked = judge_ranking.report(data, query, resamples=50)
    assert ranked is not None
    plan = label_plans.leaders(data, query, ranked, overlap=3)
    assert plan is not None and (plan.judge, plan.other_judge) == ("good", "fair")
    leaders = overview.leading_judges(data, 3, resamples=50)
    assert not isinstance(leaders, str) and leaders.judge.judge == "good" and leaders.plan == plan


def test_a_study_without_labels_has_no_plan(engine: Engine) -> None:
    study = import_study(engine, partly_labelled_records(0, 3))
    with pytest.raises(TiebreakError, match="No judge can be ranked"):
        label_plans.of_study(engine, study, Selection())
