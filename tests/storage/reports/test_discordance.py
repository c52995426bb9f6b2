"""The slices of a study's judges, and the targets behind them."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, StudyRecord, StudyRules
from core.items import Item
from core.labels import majority_value
from core.statistics.measures.bias import Untested
from core.statistics.measures.planning import entropy
from core.statistics.reports.judge_findings import PEOPLE, BiasRow, correct_rows
from core.trace import Usage
from storage.db import connections
from storage.db.connections import reading, writing
from storage.labelling import home
from storage.reports import (
    alignment,
    disagreements,
    discordance,
    judge_biases,
    judge_costs,
    judge_errors,
    judge_ranking,
    rationales,
)
from storage.reports.disagreements import JudgeQuery
from storage.reports.discordance import compare_with_people, targets_of
from storage.reports.judge_errors import INFORMATIVE
from storage.reports.judge_ranking import RankingQuery, Selection
from storage.studies import studies
from storage.studies.studies import Study
from tests.conftest import make_item, make_label
from tests.core.statistics.measures.test_texts import WORDS, text_of
from tests.sessions import read, write
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study, make_trace
from tests.storage.reports.test_disagreements import load
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, store_label, stored_study

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


# Slices saved under a name, and two slices compared


@pytest.fixture
def study(engine: Engine) -> Study:
    return import_study(engine, planted_records())


def reload(engine: Engine, study: Study) -> Study:
    return read(engine, studies.by_id, study.id)


def test_a_slice_is_saved_replaced_and_deleted_and_other_rules_stay(engine: Engine, study: Study) -> None:
    assert write(engine, studies.save_slice, study.id, " against  length ", [SHORTER, SHORTER]) == "against length"
    saved = reload(engine, study).rules
    assert saved.slices == {"against length": (SHORTER,)}
    assert saved.model_copy(update={"slices": {}}) == study.rules
    with connections.writing(engine) as session:
        studies.save_slice(session, study.id, "against length", [("length gap", "above 2")])
        with pytest.raises(TiebreakError, match="no slice 'other'"):
            studies.delete_slice(session, study.id, "other")
        with pytest.raises(TiebreakError, match="needs a condition"):
            studies.save_slice(session, study.id, "empty", [])
    assert reload(engine, study).rules.slices == {"against length": (("length gap", "above 2"),)}
    write(engine, studies.delete_slice, study.id, "against length")
    assert not reload(engine, study).rules.slices


def test_a_judge_of_length_differs_between_a_saved_slice_and_another_one(engine: Engine, study: Study) -> None:
    write(engine, studies.save_slice, study.id, "short", [SHORTER])
    rows = discordance.of_two_slices(engine, reload(engine, study), Selection(), "short", "scenario: math")
    first = rows[0]
    assert (first.judge, first.slice, first.found) == ("long", ("short", "scenario: math"), True)
    assert first.excess > 0 and first.targets + first.targets_outside <= 80


def test_conditions_are_met_together_and_unknown_ones_by_no_target(engine: Engine, study: Study) -> None:
    data = alignment.load_data(engine, study)
    dataset = judge_ranking.find_dataset(data, QUERY)
    assert dataset is not None
    all_targets = (("length gap", "above 0"),)
    of_two = discordance.compare_slices(data, QUERY, NONE, ("a", "b"), (all_targets, (SHORTER,)))
    assert not of_two, "targets of both slices are in neither"
    compared = compare_with_people(dataset, "long", NONE)
    shorter, _ = targets_of(compared, [SHORTER])
    both, _ = targets_of(compared, [SHORTER, ("scenario", "math"), ("length gap", "above 1.5")])
    assert 0 < both.sum() < shorter.sum()
    assert both.tolist() == (shorter & (compared.scenario == "math") & (compared.numbers["length_gap"] > 1.5)).tolist()
    assert not targets_of(compared, [("length gap", "above 100")])[0].any()
    for unknown in (("length gap", "above x"), ("weather", "rain")):
        assert not targets_of(compared, [unknown])[0].any()


@pytest.mark.parametrize("text", ["math", "weather: rain", "people: unhappy"])
def test_an_unknown_condition_is_refused(text: str) -> None:
    with pytest.raises(TiebreakError):
        discordance.parse_condition(text, {}, [])


def test_the_targets_without_a_scenario_are_a_slice_and_an_unknown_scenario_is_refused(
    engine: Engine, study: Study
) -> None:
    data = alignment.load_data(engine, study)
    dataset = judge_ranking.find_dataset(data, QUERY)
    assert dataset is not None
    compared = compare_with_people(dataset, "long", NONE)
    half = np.arange(compared.scenario.size) % 2 == 0
    partly = replace(compared, scenario=np.where(half, "", compared.scenario).astype(object))
    (condition,) = discordance.parse_condition("scenario: (no scenario)", {}, ["math"])
    assert targets_of(partly, [condition])[0].tolist() == half.tolist()
    assert discordance.parse_condition('scenario: "(no scenario)"', {}, ["(no scenario)"]) == (
        ("scenario", '"(no scenario)"'),
    )
    with pytest.raises(TiebreakError, match="There is no scenario"):
        discordance.parse_condition('scenario: "(no scenario)"', {}, ["math"])
    with pytest.raises(TiebreakError, match="There is no scenario 'nope'; there are math"):
        discordance.parse_condition("scenario: nope", {}, ["math"])


# Clusters of a judge's replies, compared with people's labels


def replies(items: int = 80) -> Iterator[Record]:
    """Yield a judge that is wrong on 70 % of the items where it writes about length, and on 5 % elsewhere."""
    rng, texts = random.Random(2), np.random.default_rng(3)
    yield RUN.model_copy(update={"name": "r"})
    for number in range(items):
        topic, item = number % 2, f"i{number}"
        wrong = rng.random() < (0.7 if topic == 0 else 0.05)
        yield ItemRecord(item=make_item(item))
        yield from (make_label(1, name, item) for name in ("ann", "ben"))
        trace = make_trace(item, ("j", "verdict", 2 if wrong else 1)).model_dump()
        trace["events"][0]["turn"]["reply"] = text_of(topic, texts)
        yield make_trace(item).model_validate(trace)


def test_the_cluster_in_which_the_judge_is_wrong_is_found_and_opens_its_targets(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, replies()), "majority")
    with engine.connect() as connection, rationales.Session(connection) as session:
        found = rationales.report(session, data, QUERY, "j")
    assert len(found.places) == 80 and not found.reason
    about_length = [row for row in found.rows if row.found and row.excess > 0]
    assert about_length and all(set(row.slice[1].replace(",", "").split()) <= set(WORDS[0]) for row in about_length)
    listed = rationales.differing_targets(data, QUERY, found, "j", about_length[0].slice)
    assert len(listed.items) == about_length[0].differing > 0
    assert all(int(item.target.item[1:]) % 2 == 0 for item in listed.items)
    hidden = rationales.differing_targets(data, QUERY, found, "j", about_length[0].slice, "stranger")
    assert (hidden.items, hidden.hidden) == ((), about_length[0].differing)
    assert not rationales.differing_targets(data, QUERY, found, "j", ("rationale", "unknown")).items


def test_few_replies_have_a_reason_and_an_unknown_judge_a_sentence(engine: Engine) -> None:
    study = import_study(engine, replies(20))
    name, found = rationales.of_study(engine, study)
    assert (name, found.rows) == ("j", ()) and "20 replies" in found.reason
    with pytest.raises(TiebreakError, match="no judge called 'k'"):
        rationales.of_study(engine, study, "k")


# The causes of the disagreements of a study's judges, and labels requested of them


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
        assert judge_errors.request_labels(session, study.id, chosen[:3], errors, QUERY) == 3
    with reading(engine) as session:
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


# The biases of a study's judges, with families from models' names and from the study's rules


def biases_of(engine: Engine, families: Mapping[str, str] | None = None, **options: str) -> list[BiasRow]:
    rules = StudyRecord(rules=StudyRules(families=dict(families or {})))
    study = import_study(engine, [rules, *planted_records()])
    return judge_biases.of_study(engine, study, Selection(**options))


def test_each_planted_bias_is_found_and_no_other(engine: Engine) -> None:
    rows = biases_of(engine)
    assert {(row.judge, row.bias) for row in rows if row.found} == {("own", "self-preference"), ("long", "length")}
    by_judge = {(row.judge, row.bias): row for row in rows}
    assert by_judge["fair", "position"].effect.items == 80
    in_math = judge_biases.of_study(engine, stored_study(engine), Selection(scenario="math"))
    assert {row.effect.items for row in in_math if row.bias == "position"} == {40}
    # Neither system is of the families of the judges "fair" and "long".
    assert ("fair", "self-preference") not in by_judge and ("long", "self-preference") not in by_judge
    assert PEOPLE not in {row.judge for row in rows}, "labels without a known order tell nothing of their position bias"


def test_length_counts_targets_with_two_labels_also_without_a_majority(engine: Engine) -> None:
    single = [f"i{number}" for number in range(5)]
    records = [
        record
        for record in planted_records()
        if not isinstance(record, LabelRecord)
        or record.label.annotator == "ann"
        or (record.label.annotator == "ben" and record.label.target.item not in single)
    ]
    rows = judge_biases.of_study(engine, import_study(engine, records), Selection())
    assert {row.effect.items for row in rows if row.bias == "length"} == {75}


def test_a_family_can_be_named_in_the_rules(engine: Engine) -> None:
    rows = biases_of(engine, {"fair": "Meta", "gpt-3.5-turbo": "ours"})
    families = {row.judge for row in rows if row.bias == "self-preference"}
    assert families == {"fair"}


def with_order(record: Record, number: int, *, counterbalanced: bool) -> Record:
    """Return a label as of somebody who always chooses the response shown first."""
    if not isinstance(record, LabelRecord):
        return record
    shown = (2, 1) if counterbalanced and number % 2 else (1, 2)
    return LabelRecord(label=record.label.model_copy(update={"value": shown[0], "shown": shown}))


@pytest.mark.parametrize("counterbalanced", [True, False])
def test_people_who_choose_what_is_shown_first_are_found_if_the_order_was_counterbalanced(
    engine: Engine, counterbalanced: bool
) -> None:
    records = [
        with_order(record, number, counterbalanced=counterbalanced) for number, record in enumerate(planted_records())
    ]
    study = import_study(engine, records)
    rows = judge_biases.of_study(engine, study, Selection())
    (people,) = (row for row in rows if row.judge == PEOPLE)
    judges = [row for row in rows if row.judge != PEOPLE]
    assert (people.bias, people.found, people.effect.value) == (
        "position",
        counterbalanced,
        0.5 if counterbalanced else None,
    )
    assert people.effect.untested is (None if counterbalanced else Untested.ONE_ORDER)
    assert ("people prefer the response shown first" in judge_biases.sentence(engine, study, rows)) == counterbalanced
    assert correct_rows(judges) == judges  # the correction of the judges counts no test of people
    assert judge_biases.table(rows)[-1]["people_share"] == (1.0 if counterbalanced else None)


def test_a_study_without_judges_has_one_sentence(engine: Engine) -> None:
    study = import_study(engine, [ItemRecord(item=make_item("i"))])
    with pytest.raises(TiebreakError, match="No bias can be measured"):
        judge_biases.of_study(engine, study, Selection())


def test_untested_self_preference_names_systems_of_unknown_family(engine: Engine) -> None:
    records = [
        record.model_copy(update={"item": rename_systems(record.item)}) if isinstance(record, ItemRecord) else record
        for record in planted_records()
    ]
    study = import_study(engine, records)
    sentence = judge_biases.sentence(engine, study, judge_biases.of_study(engine, study, Selection()))
    assert "self-preference (no response is known to be of a judge's own model family; the model family of " in sentence
    assert "of ours, theirs is not known and can be named in the study's setting Families of models)" in sentence


def rename_systems(item: Item) -> Item:
    names = ("ours", "theirs")
    pairs = zip(item.responses, names, strict=True)
    return item.model_copy(update={"responses": tuple(one.model_copy(update={"system": name}) for one, name in pairs)})


# The effect of the criterion's format, from runs that differ in it only


SHARES_WRONG = {"general": 0.1, "shortened": 0.1, "masked": 0.5}


def format_records(items: int = 80, names: tuple[str, ...] = ("j",)) -> Iterator[Record]:
    """Yield a judge with three formats: masked is wrong on half of the items, and has no verdict on the first five."""
    rng = random.Random(5)
    judges = [{"name": name, "spec": {"model": "m"}} for name in names]
    for form in SHARES_WRONG:
        settings = {"judges": judges} | ({} if form == "general" else {"format": form})
        yield RunRecord(name=form, protocol="scaleeval", criterion="helpfulness", settings=settings)
    yield RunRecord(
        name="other", protocol="scaleeval", criterion="helpfulness", settings={"judges": judges, "words": 99}
    )
    for number in range(items):
        truth = rng.choice((1, 2))
        yield ItemRecord(item=make_item(f"i{number}"))
        yield from (make_label(truth, name, f"i{number}") for name in ("ann", "ben"))
        for form, wrong in SHARES_WRONG.items():
            value = None if form == "masked" and number < 5 else truth if rng.random() > wrong else 3 - truth
            yield make_trace(f"i{number}", ("j", "verdict", value), run=form)
        yield make_trace(f"i{number}", ("j", "verdict", truth), run="other")


def test_only_the_format_that_changes_the_accuracy_is_found(engine: Engine) -> None:
    rows = judge_biases.formats_of_study(engine, import_study(engine, format_records()), Selection())
    assert [(row.judge, row.base, row.format) for row in rows] == [
        ("j", "general", "shortened"), ("j", "general", "masked"),
    ]  # fmt: skip
    shortened, masked = rows
    assert not shortened.found and masked.found
    assert masked.effect is not None and masked.effect == pytest.approx(
        (masked.accuracy or 0) - (masked.base_accuracy or 0)
    )
    assert (masked.low or 0) < masked.effect < (masked.high or 0) < 0
    assert (masked.targets, masked.judged, masked.no_verdict, masked.base_no_verdict) == (80, 80, 5, 0)
    assert masked.changed is not None and masked.changed > (shortened.changed or 0)
    assert masked.p_corrected is not None and masked.p is not None and masked.p_corrected >= masked.p


def test_a_study_without_formats_has_one_sentence(engine: Engine) -> None:
    with pytest.raises(TiebreakError, match="No two runs differ in the format"):
        judge_biases.formats_of_study(engine, import_study(engine, planted_records(20)), Selection())
