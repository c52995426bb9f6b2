"""Targets on which a judge and the annotators disagree, and changed opinions."""

from dataclasses import replace
from typing import Any

from sqlalchemy import Engine

from core.formats.records import ItemRecord, Record
from core.labels import PREFERENCE, Scale
from storage import labels, studies
from storage.database import reading, writing
from storage.reports import alignment, disagreements
from storage.reports.alignment import AlignmentData
from storage.reports.disagreements import NO_MAJORITY, NO_VERDICT, JudgeQuery
from storage.studies import Study
from storage.transfer import imports
from tests.conftest import make_item, make_label, make_target
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

LAST_OPINIONS: dict[str, tuple[object, ...]] = {"a": (1, 2, 2), "b": (2, 2, 2), "c": (0, None, 1), "d": (1, 2, 1)}
"""Item -> the last opinions of j0, j1 and j2, whose first opinions are 1."""
LABELS = {"a": (2, 2, 1), "b": (2, 1), "c": (1, 1)}
"""Item -> the labels of ann, ben and cat; "d" has none."""
ANNOTATORS = ("ann", "ben", "cat")


def records() -> list[Record]:
    """Return four debates, three of them with labels."""
    items = [ItemRecord(item=make_item(name, scenario="math" if name == "a" else None)) for name in LAST_OPINIONS]
    given = [
        make_label(value, annotator, item)
        for item, values in LABELS.items()
        for annotator, value in zip(ANNOTATORS, values, strict=False)
    ]
    return [
        *items,
        *given,
        RUN,
        *(a_trace(item, a_turn(), a_turn(1), a_verdict(last=last)) for item, last in LAST_OPINIONS.items()),
    ]


def load(engine: Engine, extra: list[Record] | None = None) -> tuple[Study, AlignmentData]:
    imports.import_records(engine, "s", [*records(), *(extra or [])])
    with reading(engine) as session:
        study = studies.get(session, "s")
    return study, alignment.load_data(engine, study)


def query(judge: str = "j1", **fields: Any) -> JudgeQuery:
    return JudgeQuery(**{"judge": judge, "kind": "preference", "criterion": "helpfulness"} | fields)


def test_a_pair_has_the_judges_value_and_the_strict_majority(engine: Engine) -> None:
    _, data = load(engine)
    pairs = {pair.target.item: pair for pair in disagreements.pairs(data, query())}
    assert {item: pair.cell for item, pair in pairs.items()} == {
        "a": ("2", "2"),
        "b": ("2", NO_MAJORITY),
        "c": (NO_VERDICT, "1"),
        "d": ("2", NO_MAJORITY),
    }
    assert pairs["a"].labels == {"ann": 2, "ben": 2, "cat": 1}
    assert [pair.target.item for pair in disagreements.labelled_pairs(list(pairs.values()))] == ["a", "b", "c"]


def test_all_criteria_of_a_kind_are_one_query(engine: Engine) -> None:
    _, data = load(engine)
    every = disagreements.pairs(data, replace(query(), criterion="all"))
    assert [pair.target for pair in every] == [pair.target for pair in disagreements.pairs(data, query())]
    assert every and all(pair.labels for pair in disagreements.labelled_pairs(every))


def test_a_missing_verdict_or_majority_is_not_a_disagreement(engine: Engine) -> None:
    _, data = load(engine)
    differing = disagreements.select_pairs(disagreements.pairs(data, query("j0")), None, categorical=True)
    assert {pair.target.item: pair.cell for pair in differing} == {"a": ("1", "2"), "c": ("0", "1")}
    assert disagreements.select_pairs(disagreements.pairs(data, query()), None, categorical=True) == []


def test_a_matrix_has_every_category_and_missing_values_where_they_occur(engine: Engine) -> None:
    _, data = load(engine)
    pairs = disagreements.labelled_pairs(disagreements.pairs(data, query()))
    matrix = disagreements.count_matrix([pair.cell for pair in pairs], PREFERENCE, (NO_VERDICT, NO_MAJORITY))
    assert matrix.rows == ("1", "2", "0", NO_VERDICT) and matrix.columns == ("1", "2", "0", NO_MAJORITY)
    assert matrix.counts == {("2", "2"): 1, ("2", NO_MAJORITY): 1, (NO_VERDICT, "1"): 1}
    assert disagreements.count_matrix([("1", "1")], PREFERENCE, (NO_VERDICT, NO_MAJORITY)).rows == ("1", "2", "0")


def test_pairs_can_be_limited_to_a_scenario(engine: Engine) -> None:
    _, data = load(engine)
    assert [pair.target.item for pair in disagreements.pairs(data, query(scenario="math"))] == ["a"]
    assert [pair.target.item for pair in disagreements.pairs(data, query(scenario=""))] == ["b", "c", "d"]


def test_a_drilldown_counts_targets_that_the_viewer_has_not_labelled(engine: Engine) -> None:
    _, data = load(engine)
    pairs = disagreements.labelled_pairs(disagreements.pairs(data, query("j0")))
    drilldown = disagreements.drill_down(pairs, "j0", "cat")
    assert [item.target.item for item in drilldown.items] == ["a"] and drilldown.hidden == 2
    assert drilldown.items[0].values == {"j0": (1,), "ann": (2,), "ben": (2,), "cat": (1,)}
    assert len(disagreements.drill_down(pairs, "j0", None).items) == 3


def test_a_missing_verdict_is_shown_beside_the_labels(engine: Engine) -> None:
    _, data = load(engine)
    (pair,) = disagreements.select_pairs(disagreements.pairs(data, query()), f"{NO_VERDICT} × 1", categorical=True)
    assert disagreements.drill_down([pair], "j1", None).items[0].values["j1"] == (NO_VERDICT,)


def test_opinion_changes_are_counted_towards_and_away_from_the_majority(engine: Engine) -> None:
    _, data = load(engine)
    changes = disagreements.opinion_pairs(data, query("j0"))
    assert {change.pair.target.item: change.cell for change in changes} == {
        "a": ("1", "1"),
        "b": ("1", "2"),
        "c": ("1", "0"),
        "d": ("1", "1"),
    }
    counts = disagreements.count_changes(changes)
    assert (counts.opinions, counts.changed, counts.towards, counts.away, counts.unknown) == (4, 2, 0, 1, 1)
    assert disagreements.count_changes(disagreements.opinion_pairs(data, query("j2"))).towards == 1


def test_an_unreadable_opinion_is_not_a_change(engine: Engine) -> None:
    _, data = load(engine)
    counts = disagreements.count_changes(disagreements.opinion_pairs(data, query("j1")))
    assert (counts.opinions, counts.changed) == (3, 3)


def test_a_method_has_the_opinion_pairs_of_all_its_judges(engine: Engine) -> None:
    _, data = load(engine)
    changes = disagreements.opinion_pairs(data, query("j0 · j1 · j2"))
    assert len(changes) == 12 and {change.judge for change in changes} == {"j0", "j1", "j2"}
    drilldown = disagreements.drill_down_changes([change for change in changes if change.cell == ("1", "2")], None)
    assert {
        tuple(values for rater, values in item.values.items() if rater.startswith("j")) for item in drilldown.items
    } == {((1, 2),)}


def test_means_between_categories_are_not_categorical() -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    pair = disagreements.Pair(make_target(), "", 1, 2.5, 2, {"ann": 2, "ben": 3})
    assert not disagreements.is_categorical([pair], scale)
    assert disagreements.is_categorical([disagreements.Pair(make_target(), "", 1, 2, 2, {})], scale)
    assert not disagreements.is_categorical([], Scale(level="interval", low=0, high=1))
    assert (pair.mean, pair.distance) == (2.5, 0.0)


def test_the_largest_distance_comes_first() -> None:
    near, far, missing = (
        disagreements.Pair(make_target(), "", 1, score, None, {"ann": 2}) for score in (2.5, 4.0, None)
    )
    assert disagreements.select_pairs([near, far, missing], None, categorical=False) == [far, near]


def test_booleans_and_whole_numbers_are_formatted_differently() -> None:
    assert [disagreements.format_value(value, "none") for value in (True, 1, 1.0, 2.5, None)] == [
        "true",
        "1",
        "1",
        "2.5",
        "none",
    ]


def test_an_adjudication_changes_the_version(engine: Engine) -> None:
    study, _ = load(engine)
    with reading(engine) as session:
        before = disagreements.version(session, study.id)
    with writing(engine) as session:
        labels.adjudicate(session, study.id, make_target("b"), 1, rule="expert", reason="clear", adjudicator="eve")
    with reading(engine) as session:
        assert disagreements.version(session, study.id) != before
