"""Slices saved under a name, and two slices compared."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from storage.db import connections
from storage.reports import alignment, discordance, judge_ranking
from storage.reports.discordance import compare_with_people, targets_of
from storage.reports.judge_ranking import Selection
from storage.studies import studies
from storage.studies.studies import Study
from tests.sessions import read, write
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study
from tests.storage.reports.test_discordance import NONE, QUERY, SHORTER


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
