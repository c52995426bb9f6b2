"""The slices of a study's judges, and the targets behind them."""

from sqlalchemy import Engine

from core.formats.records import ItemRecord
from storage.reports import alignment, discordance
from storage.reports.judge_ranking import RankingQuery, Selection
from tests.conftest import make_item
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study

QUERY = RankingQuery("preference", "helpfulness")
SHORTER = ("people", "prefer the shorter response")


def test_a_judge_of_length_differs_if_people_prefer_the_shorter_response(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, planted_records()))
    rows = discordance.report(data, QUERY, {})
    assert (rows[0].judge, rows[0].slice, rows[0].found) == ("long", SHORTER, True)
    assert not [row for row in rows if row.found and row.judge == "fair"]
    (row,) = [row for row in rows if row.judge == "long" and row.slice == SHORTER]
    pairs = discordance.differing_pairs(data, QUERY, {}, "long", SHORTER)
    assert len(pairs) == row.differing and row.targets + row.targets_outside == 80
    assert all(pair.majority != pair.sides["longer"] and pair.judge == pair.sides["longer"] for pair in pairs)
    assert discordance.differing_pairs(data, QUERY, {}, "long", ("no such", "slice")) == []


def test_traces_without_contention_are_outside_of_its_slice(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, planted_records(40)))
    compared = discordance.compared_pairs(data, QUERY, "fair")
    by_trace = {pair.trace: number / 40 for number, pair in enumerate(compared[:30])}
    inside, known = discordance.slices_of(compared, by_trace)["contention", "above 0.36"]
    assert (int(inside.sum()), int(known.sum())) == (15, 30)


def test_a_study_without_labels_has_no_slices(engine: Engine) -> None:
    study = import_study(engine, [ItemRecord(item=make_item("i"))])
    assert discordance.of_study(engine, study, Selection()) == []
