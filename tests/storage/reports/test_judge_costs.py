"""The cost of each judge per 1,000 items."""

import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord
from core.trace import Usage
from storage.db.connections import reading
from storage.reports import judge_costs
from tests.conftest import make_item
from tests.storage.reports.test_disagreements import load
from tests.storage.shared import a_trace, a_turn, a_verdict


def test_an_opinion_costs_the_judges_calls_and_a_verdict_the_whole_run(engine: Engine) -> None:
    study, data = load(engine)
    with reading(engine) as session:
        costs = judge_costs.cost_by_judge(session, study.id, data.opinions)
    assert costs["j0"].dollars_per_thousand == pytest.approx(250)
    assert costs["j0 · j1 · j2"].dollars_per_thousand == pytest.approx(500)
    assert "j0, first opinion" not in costs and "j2" not in costs


def test_a_judge_with_a_call_of_unknown_price_has_no_cost(engine: Engine) -> None:
    free = a_turn(0, usage=Usage(seconds=1.0))
    study, data = load(engine, [ItemRecord(item=make_item("e")), a_trace("e", free, a_verdict())])
    with reading(engine) as session:
        costs = judge_costs.cost_by_judge(session, study.id, data.opinions)
    assert (costs["j0"].dollars_per_thousand, costs["j0"].unpriced) == (None, 1)
    assert costs["j1"].dollars_per_thousand == pytest.approx(250)
