"""Where a judge and people differ, and what judges cost, on both databases."""

from typing import Any

import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, LabelRecord, Record, RulingRecord
from core.labels import PREFERENCE, Label, Ruling, Scale
from core.trace import Usage
from storage import labels, studies
from storage.database import reading, writing
from storage.reports import alignment, disagreements, judge_costs, opinion_changes
from storage.reports.alignment import Sides
from storage.reports.disagreements import DIVIDED, SILENT, Wanted
from storage.studies import Study
from storage.transfer import imports
from tests.conftest import a_label, a_target, an_item
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

LASTS: dict[str, tuple[object, ...]] = {"a": (1, 2, 2), "b": (2, 2, 2), "c": (0, None, 1), "d": (1, 2, 1)}
"""Last opinions of j0, j1 and j2, who all began with 1."""
GIVEN = {"a": (2, 2, 1), "b": (2, 1), "c": (1, 1)}
"""What ann, ben and cat said; nobody labelled d."""
PEOPLE = ("ann", "ben", "cat")


def records() -> list[Record]:
    """Four debates, three of them labelled."""
    told: list[Record] = [ItemRecord(item=an_item(name, scenario="math" if name == "a" else None)) for name in LASTS]
    told += [
        a_label(value, who, item) for item, said in GIVEN.items() for who, value in zip(PEOPLE, said, strict=False)
    ]
    return [*told, RUN, *(a_trace(item, a_turn(), a_turn(1), a_verdict(last=last)) for item, last in LASTS.items())]


def loaded(engine: Engine, more: list[Record] | None = None) -> tuple[Study, Sides]:
    imports.load(engine, "s", [*records(), *(more or [])])
    with reading(engine) as session:
        study = studies.get(session, "s")
    return study, alignment.sides(engine, study)


def wanted(judge: str = "j1", **fields: Any) -> Wanted:
    return Wanted(**{"judge": judge, "kind": "preference", "criterion": "helpfulness"} | fields)


def test_a_pair_holds_the_judge_and_the_strict_majority_of_people(engine: Engine) -> None:
    _, there = loaded(engine)
    found = {one.target.item: one for one in disagreements.pairs(there, wanted())}
    assert {item: one.place for item, one in found.items()} == {
        "a": ("2", "2"),
        "b": ("2", DIVIDED),
        "c": (SILENT, "1"),
        "d": ("2", DIVIDED),
    }
    assert found["a"].labels == {"ann": 2, "ben": 2, "cat": 1}
    assert [one.target.item for one in disagreements.compared(list(found.values()))] == ["a", "b", "c"]


def test_no_verdict_and_no_majority_are_no_disagreement(engine: Engine) -> None:
    _, there = loaded(engine)
    apart = disagreements.in_cell(disagreements.pairs(there, wanted("j0")), None, categorical=True)
    assert {one.target.item: one.place for one in apart} == {"a": ("1", "2"), "c": ("0", "1")}
    assert disagreements.in_cell(disagreements.pairs(there, wanted()), None, categorical=True) == []


def test_a_table_has_every_category_and_what_is_missing_only_where_it_occurs(engine: Engine) -> None:
    _, there = loaded(engine)
    said = disagreements.compared(disagreements.pairs(there, wanted()))
    found = disagreements.table([one.place for one in said], PREFERENCE, (SILENT, DIVIDED))
    assert found.down == ("1", "2", "0", SILENT) and found.across == ("1", "2", "0", DIVIDED)
    assert found.counts == {("2", "2"): 1, ("2", DIVIDED): 1, (SILENT, "1"): 1}
    assert disagreements.table([("1", "1")], PREFERENCE, (SILENT, DIVIDED)).down == ("1", "2", "0")


def test_a_scenario_narrows_the_pairs_and_none_means_every_one(engine: Engine) -> None:
    _, there = loaded(engine)
    assert [one.target.item for one in disagreements.pairs(there, wanted(scenario="math"))] == ["a"]
    assert [one.target.item for one in disagreements.pairs(there, wanted(scenario=""))] == ["b", "c", "d"]


def test_a_cell_opens_only_what_the_viewer_has_labelled(engine: Engine) -> None:
    _, there = loaded(engine)
    pairs = disagreements.compared(disagreements.pairs(there, wanted("j0")))
    told = disagreements.behind(pairs, "j0", "cat")
    assert [one.target.item for one in told.items] == ["a"] and told.hidden == 2
    assert told.items[0].said == {"j0": (1,), "ann": (2,), "ben": (2,), "cat": (1,)}
    assert len(disagreements.behind(pairs, "j0", None).items) == 3


def test_a_missing_verdict_says_so_beside_the_labels(engine: Engine) -> None:
    _, there = loaded(engine)
    (one,) = disagreements.in_cell(disagreements.pairs(there, wanted()), f"{SILENT} × 1", categorical=True)
    assert disagreements.behind([one], "j1", None).items[0].said["j1"] == (SILENT,)


def test_changes_of_mind_are_counted_towards_and_away_from_people(engine: Engine) -> None:
    _, there = loaded(engine)
    moves = opinion_changes.moves(there, wanted("j0"))
    assert {one.pair.target.item: one.place for one in moves} == {
        "a": ("1", "1"),
        "b": ("1", "2"),
        "c": ("1", "0"),
        "d": ("1", "1"),
    }
    found = opinion_changes.turned(moves)
    assert (found.opinions, found.changed, found.towards, found.away, found.unknown) == (4, 2, 0, 1, 1)
    assert opinion_changes.turned(opinion_changes.moves(there, wanted("j2"))).towards == 1


def test_an_opinion_that_could_not_be_read_is_no_change_of_mind(engine: Engine) -> None:
    _, there = loaded(engine)
    found = opinion_changes.turned(opinion_changes.moves(there, wanted("j1")))
    assert (found.opinions, found.changed) == (3, 3)


def test_a_method_as_a_whole_has_the_moves_of_all_its_judges(engine: Engine) -> None:
    _, there = loaded(engine)
    moves = opinion_changes.moves(there, wanted("j0 · j1 · j2"))
    assert len(moves) == 12 and {one.judge for one in moves} == {"j0", "j1", "j2"}
    told = opinion_changes.behind([one for one in moves if one.place == ("1", "2")], None)
    assert {tuple(value for who, value in one.said.items() if who.startswith("j")) for one in told.items} == {((1, 2),)}


def test_means_lie_between_categories_so_that_no_table_holds_them() -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    one = disagreements.Pair(a_target(), "", 1, 2.5, 2, {"ann": 2, "ben": 3})
    assert not disagreements.categorical([one], scale)
    assert disagreements.categorical([disagreements.Pair(a_target(), "", 1, 2, 2, {})], scale)
    assert not disagreements.categorical([], Scale(level="interval", low=0, high=1))
    assert (one.mean, one.distance) == (2.5, 0.0)


def test_numbers_that_are_furthest_apart_come_first() -> None:
    near, far, silent = (disagreements.Pair(a_target(), "", 1, said, None, {"ann": 2}) for said in (2.5, 4.0, None))
    assert disagreements.in_cell([near, far, silent], None, categorical=False) == [far, near]


def test_truth_is_not_one_and_a_whole_number_has_no_point() -> None:
    assert [disagreements.key(value, "none") for value in (True, 1, 1.0, 2.5, None)] == [
        "true",
        "1",
        "1",
        "2.5",
        "none",
    ]


def test_a_ruling_makes_a_new_version(engine: Engine) -> None:
    study, _ = loaded(engine)
    with reading(engine) as session:
        before = disagreements.version(session, study.id)
    with writing(engine) as session:
        labels.rule(session, study.id, a_target("b"), 1, rule="expert", reason="clear", adjudicator="eve")
    with reading(engine) as session:
        assert disagreements.version(session, study.id) != before


def test_a_judge_costs_its_own_calls_and_a_verdict_the_whole_run(engine: Engine) -> None:
    study, there = loaded(engine)
    with reading(engine) as session:
        found = judge_costs.costs(session, study.id, there.opinions)
    assert found["j0"].per_thousand == pytest.approx(250)
    assert found["j0 · j1 · j2"].per_thousand == pytest.approx(500)
    assert "j0, first opinion" not in found and "j2" not in found


def test_a_call_of_unknown_price_leaves_the_judge_without_one(engine: Engine) -> None:
    free = a_turn(0, usage=Usage(seconds=1.0))
    study, there = loaded(engine, [ItemRecord(item=an_item("e")), a_trace("e", free, a_verdict())])
    with reading(engine) as session:
        found = judge_costs.costs(session, study.id, there.opinions)
    assert (found["j0"].per_thousand, found["j0"].unpriced) == (None, 1)
    assert found["j1"].per_thousand == pytest.approx(250)


def test_by_scenario_criteria_on_one_scale_are_pooled_too(engine: Engine) -> None:
    other = [
        ItemRecord(item=an_item("f")),
        LabelRecord(label=Label(target=a_target("a", criterion="clarity"), annotator="ann", value=1)),
        RulingRecord(
            ruling=Ruling(target=a_target("a"), value=2, rule="expert", reason="clear", adjudicator="eve"),
        ),
    ]
    study, _ = loaded(engine, [*other, *second_criterion()])
    rows = alignment.rows(engine, study, "scenario", resamples=10)
    assert {row.group for row in rows if row.criterion == "all"} == {"", "math"}


def second_criterion() -> list[Record]:
    """The same judges in a run on clarity."""
    run = RUN.model_copy(update={"name": "r2", "criterion": "clarity"})
    verdict = a_verdict()
    opinions = tuple(one.model_copy(update={"criterion": "clarity"}) for one in verdict.verdict.opinions)
    told = verdict.model_copy(update={"verdict": verdict.verdict.model_copy(update={"opinions": opinions})})
    return [run, a_trace("a", a_turn(), told, run="r2")]
