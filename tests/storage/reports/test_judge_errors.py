"""The causes of the disagreements of a study's judges, and labels requested of them."""

import numpy as np
import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord
from core.labels import majority_value
from core.statistics.measures.planning import entropy
from core.trace import Usage
from storage.db.connections import reading, writing
from storage.labelling import home
from storage.reports import alignment, judge_costs, judge_errors
from storage.reports.judge_errors import INFORMATIVE
from storage.reports.judge_ranking import RankingQuery
from tests.conftest import make_item
from tests.sessions import read, write
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study
from tests.storage.reports.test_disagreements import load
from tests.storage.shared import a_trace, a_turn, a_verdict, store_label

QUERY = RankingQuery("preference", "helpfulness")


def test_disagreements_are_counted_and_explained(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, planted_records()))
    found = {errors.judge: errors for errors in judge_errors.report(data, QUERY, resamples=50)}
    assert set(found) == {"fair", "own", "long"}
    for errors in found.values():
        chosen = judge_errors.informative(data, QUERY, errors).items
        assert len(chosen) == min(errors.causes.disagreements, INFORMATIVE)
        for one in chosen:
            (verdict,), *labels = one.values.values()
            assert verdict != majority_value([value for (value,) in labels])
        uncertainties = entropy(np.array([chances for _, chances in errors.uncertain])).tolist()
        assert uncertainties == sorted(uncertainties, reverse=True)
    # "long" and "own" ignore people on many pairs; "fair" errs as rarely as one annotator.
    rates = {name: errors.causes.error_rate or 0 for name, errors in found.items()}
    assert rates["fair"] < min(rates["long"], rates["own"])
    assert "differs from people on" in found["own"].sentence and "judge error" in found["own"].sentence


def test_requested_targets_are_in_the_queue_until_they_have_one_more_label(engine: Engine) -> None:
    study = import_study(engine, planted_records())
    data = alignment.load_data(engine, study)
    errors = judge_errors.report(data, QUERY, resamples=10)[0]
    chosen = [one.target for one in judge_errors.informative(data, QUERY, errors).items]
    home.prepare(engine, study.id, "dan")
    with writing(engine) as session:
        assert home.summaries(session, study, "dan") == []
        assert judge_errors.last_request(session, study.id, errors.judge, QUERY) is None
        assert judge_errors.request_labels(session, study.id, chosen[:3], errors, QUERY) == 3
    with reading(engine) as session:
        before = judge_errors.last_request(session, study.id, errors.judge, QUERY)
        assert before is not None and before[1:] == (3, errors.sentence)
        assert judge_errors.last_request(session, study.id, "another judge", QUERY) is None
        (queue,) = home.summaries(session, study, "dan")
    assert (queue.name, queue.todo) == ("disagreements", 3)
    write(engine, store_label, study.id, chosen[0], "dan", 1)
    home.prepare(engine, study.id, "eve")
    (queue,) = read(engine, home.summaries, study, "eve")
    assert queue.todo == 2


# The cost of each judge per 1,000 items


def test_an_opinion_costs_the_judges_calls_and_a_verdict_the_whole_run(engine: Engine) -> None:
    study, data = load(engine)
    costs = read(engine, judge_costs.cost_by_judge, study.id, data.opinions)
    assert costs["j0"].dollars_per_thousand == pytest.approx(250)
    assert costs["j0 · j1 · j2"].dollars_per_thousand == pytest.approx(500)
    assert "j0, first opinion" not in costs and "j2" not in costs


def test_a_judge_with_a_call_of_unknown_price_has_no_cost(engine: Engine) -> None:
    free = a_turn(0, usage=Usage(seconds=1.0))
    study, data = load(engine, [ItemRecord(item=make_item("e")), a_trace("e", free, a_verdict())])
    costs = read(engine, judge_costs.cost_by_judge, study.id, data.opinions)
    assert (costs["j0"].dollars_per_thousand, costs["j0"].unpriced) == (None, 1)
    assert costs["j1"].dollars_per_thousand == pytest.approx(250)
