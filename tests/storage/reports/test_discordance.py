"""The slices of a study's judges, and the targets behind them."""

from sqlalchemy import Engine

from core.formats.records import ItemRecord
from storage.reports import alignment, disagreements, discordance, judge_ranking
from storage.reports.disagreements import JudgeQuery
from storage.reports.judge_ranking import RankingQuery
from tests.conftest import make_item, make_label
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study, make_trace

NONE = discordance.Contentions({}, {})
JUDGED = ("preference", "helpfulness")
QUERY = RankingQuery(*JUDGED)
SHORTER = ("people", "prefer the shorter response")


def test_a_judge_of_length_differs_if_people_prefer_the_shorter_response(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, planted_records()))
    rows = discordance.report(data, QUERY, NONE)
    assert (rows[0].judge, rows[0].slice, rows[0].found) == ("long", SHORTER, True)
    assert not [row for row in rows if row.found and row.judge == "fair"]
    (row,) = [row for row in rows if row.judge == "long" and row.slice == SHORTER]
    listed = discordance.differing_targets(data, QUERY, NONE, "long", SHORTER)
    assert len(listed.items) == row.differing and row.targets + row.targets_outside == 80
    values = disagreements.load_values(data, JudgeQuery("long", *JUDGED))
    assert values is not None
    items = {item.target.item for item in listed.items}
    assert items <= set(values.dataset.item[values.select()])
    assert discordance.differing_targets(data, QUERY, NONE, "long", ("no such", "slice")).items == ()
    stranger = discordance.differing_targets(data, QUERY, NONE, "long", SHORTER, "stranger")
    assert (stranger.items, stranger.hidden) == ((), row.differing)


def test_traces_without_contention_are_outside_of_its_slice(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, planted_records(40)))
    dataset = judge_ranking.find_dataset(data, QUERY)
    assert dataset is not None
    traces = dataset.judges["fair"].sides["trace"][:30]
    by_trace = {trace: place / 40 for place, trace in enumerate(traces.tolist())}
    measured = discordance.Contentions(by_trace, {})
    compared = discordance.compare_with_people(dataset, "fair", measured)
    inside, known = discordance.slices_of(compared)["contention", "above 0.362"]
    assert (int(inside.sum()), int(known.sum())) == (15, 30)


def test_targets_with_one_label_or_no_scenario_are_counted(engine: Engine) -> None:
    few = [
        record
        for number in range(3)
        for record in (
            ItemRecord(item=make_item(f"single {number}", scenario="")),
            make_label(1, "ann", f"single {number}"),
            make_trace(f"single {number}", *((name, "verdict", 1) for name in ("fair", "own", "long"))),
        )
    ]
    data = alignment.load_data(engine, import_study(engine, [*planted_records(), *few]))
    rows = [row for row in discordance.report(data, QUERY, NONE) if row.judge == "fair"]
    counts = {row.slice: row.targets + row.targets_outside for row in rows}
    assert counts["scenario", "math"] == 83 and counts["people", discordance.NOT_UNANIMOUS] == 80
    assert discordance.without_scenario(data, QUERY)["fair"] == 3


def test_a_study_without_scenarios_leaves_none_out(engine: Engine) -> None:
    named = planted_records(40)
    unnamed = [
        record.model_copy(update={"item": record.item.model_copy(update={"scenario": ""})})
        if isinstance(record, ItemRecord)
        else record
        for record in named
    ]
    data = alignment.load_data(engine, import_study(engine, unnamed))
    assert set(discordance.without_scenario(data, QUERY).values()) == {0}
