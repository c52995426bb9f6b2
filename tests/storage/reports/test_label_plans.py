"""Plans of further labels, by hand and for a study with unlabelled targets."""

import random

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, Record
from storage.reports import alignment, judge_ranking, label_plans, overview
from storage.reports.judge_ranking import RankingQuery, Selection
from tests.conftest import make_item, make_label
from tests.storage.reports.test_alignment import import_study, make_trace
from tests.storage.shared import RUN


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
    assert sum(pair.waiting.values()) == len(differing - labelled)
    assert pair.differing_share == pytest.approx(len(differing) / 90)
    assert not pair.evidence.separated and pair.evidence.targets is not None
    assert pair.labels == pair.evidence.targets * study.rules.overlap
    assert pair.labels_at_random is not None and pair.labels_at_random > 2 * pair.labels
    assert f"About {pair.labels} more labels separate" in pair.sentence
    assert "in scenario math" in pair.sentence
    assert found.agreement is not None and found.agreement.reason == "nothing varies yet: label more items first"


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
