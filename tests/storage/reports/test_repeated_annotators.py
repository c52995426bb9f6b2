"""A judge that repeats the labels of one annotator, as the ranking, the causes, the plans and the report state it."""

import random
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, Record, RunRecord
from core.items import Item, Response
from storage.reports import alignment, judge_errors, judge_ranking, label_plans, study_report
from storage.reports.judge_ranking import RankingQuery, Selection
from storage.studies.studies import Study
from tests.conftest import make_label
from tests.storage.reports.test_alignment import import_study, make_trace

NOISE = {"ann": 0.06, "ben": 0.12, "cat": 0.22}
QUERY = RankingQuery("preference", "helpfulness")


def records(items: int = 260) -> Iterator[Record]:
    """Yield pairs with three annotators, a judge that repeats cat on 97 %, and one that errs on 3 %."""
    rng = random.Random(3)

    def noisy(value: int, share: float) -> int:
        return 3 - value if rng.random() < share else value

    judges = [{"name": name, "spec": {"model": name}} for name in ("copy", "own")]
    yield RunRecord(name="r", protocol="scaleeval", criterion="helpfulness", settings={"judges": judges})
    for number in range(items):
        truth, item = rng.choice((1, 2)), f"i{number}"
        yield ItemRecord(item=Item(id=item, prompt="?", responses=(Response(text="a"), Response(text="b"))))
        labels = {name: noisy(truth, share) for name, share in NOISE.items()}
        for name, value in labels.items():
            yield make_label(value, name, item)
        verdicts = {"copy": noisy(labels["cat"], 0.03), "own": noisy(truth, 0.03)}
        yield make_trace(item, *((name, "verdict", value) for name, value in verdicts.items()), shown=(1, 2))


@pytest.fixture(scope="module")
def study(module_engine: Engine) -> Study:
    return import_study(module_engine, records())


@pytest.fixture(scope="module")
def data(module_engine: Engine, study: Study) -> alignment.AlignmentData:
    return alignment.load_data(module_engine, study)


def test_the_ranking_states_whom_a_judge_repeats_and_is_without_that_annotator(data: alignment.AlignmentData) -> None:
    report = judge_ranking.of_data(data, Selection(), resamples=100)
    rows = {row["judge"]: row for row in judge_ranking.table(report)}
    assert (rows["copy"]["repeats"], rows["own"]["repeats"]) == ("cat", "")
    assert rows["copy"]["decision"] != "use" and rows["copy"]["from_ceiling"] < 0
    assert "repeats the labels of cat" in rows["copy"]["reason"]
    assert report.reference.endswith(", without the labels of cat, which a judge repeats")
    assert [judge.judge for judge in report.ranking.judges] == ["own", "copy"]
    (comparison,) = judge_ranking.compare(data, QUERY, resamples=100)
    assert abs(comparison.difference or 0) == pytest.approx(rows["own"]["accuracy"] - rows["copy"]["accuracy"])


def test_the_causes_of_a_judge_are_without_the_annotator_whom_it_repeats(data: alignment.AlignmentData) -> None:
    found = {errors.judge: errors for errors in judge_errors.report(data, QUERY, resamples=100)}
    assert (found["copy"].without, found["own"].without) == (("cat",), ())
    assert found["copy"].sentence.endswith(" It repeats the labels of cat, which are left out.")
    share = {one.cause: one for one in found["copy"].causes.shares}["judge error"]
    assert share.high > 0.6
    assert {row["judge"]: row["without"] for row in judge_errors.table(list(found.values()))}["copy"] == "cat"


def test_plans_use_the_reference_of_the_ranking(data: alignment.AlignmentData) -> None:
    report = judge_ranking.report(data, QUERY, resamples=2)
    assert report is not None
    plan = label_plans.leaders(data, QUERY, report, 3)
    assert plan is not None
    gold = judge_ranking.find_independent_dataset(data, QUERY)
    assert gold is not None and int((gold.gold == gold.gold).sum()) == report.ranking.targets


def test_the_report_of_a_study_says_whom_a_judge_repeats(module_engine: Engine, study: Study) -> None:
    judges = next(one for one in study_report.sections(module_engine, study) if one.title == "Judges")
    assert any("copy: repeats the labels of cat (with cat on " in sentence for sentence in judges.sentences)


def test_alignment_compares_a_judge_with_the_others_only(module_engine: Engine, study: Study) -> None:
    rows = alignment.rows(module_engine, study, resamples=20)
    copy = {row.statistic: row for row in rows if row.judge == "copy" and row.criterion == "helpfulness"}
    own = {row.statistic: row for row in rows if row.judge == "own" and row.criterion == "helpfulness"}
    for name in ("accuracy_gold", "accuracy_majority", "winning_rate"):
        assert copy[name].reason.startswith("without the labels of cat, which the judge repeats")
        assert "without the labels" not in own[name].reason
    assert (copy["accuracy_gold"].value or 1) < 0.9
    assert copy["winning_rate"].raters == 2 and own["winning_rate"].raters == 3
