"""Targets on which a judge and the annotators disagree, and changed opinions."""

from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import Engine

from core.formats.records import ItemRecord, Record
from core.labels import PREFERENCE, Scale
from core.statistics.data.columns import Column
from storage.db.connections import reading, writing
from storage.labels import labels
from storage.reports import alignment, disagreements, judge_values
from storage.reports.alignment import AlignmentData
from storage.reports.judge_values import NO_MAJORITY, NO_VERDICT, JudgeQuery, JudgeValues
from storage.studies import studies
from storage.studies.studies import Study
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


def values_of(data: AlignmentData, asked: JudgeQuery) -> JudgeValues:
    return judge_values.load_values(data, asked, [asked.criterion])


def changes_of(data: AlignmentData, judge: str) -> JudgeValues:
    return judge_values.load_changes(data, query(judge), ["helpfulness"])


def items_at(values: JudgeValues, places: Any) -> list[str]:
    return values.opinions["item"].iloc[places].tolist()


def cells_at(values: JudgeValues, places: Any) -> dict[str, tuple[str, str]]:
    return dict(zip(items_at(values, places), values.cells.take(places).tolist(), strict=True))


def test_a_pair_has_the_judges_value_and_the_labels(engine: Engine) -> None:
    _, data = load(engine)
    pairs = {pair.target.item: pair for pair in disagreements.pairs(data, query())}
    assert {item: pair.judge for item, pair in pairs.items()} == {"a": 2, "b": 2, "c": None, "d": 2}
    assert pairs["a"].labels == {"ann": 2, "ben": 2, "cat": 1} and pairs["d"].labels == {}


def test_a_cell_has_the_judges_value_and_the_strict_majority(engine: Engine) -> None:
    _, data = load(engine)
    values = values_of(data, query())
    assert cells_at(values, np.arange(len(values))) == {
        "a": ("2", "2"),
        "b": ("2", NO_MAJORITY),
        "c": (NO_VERDICT, "1"),
        "d": ("2", NO_MAJORITY),
    }
    assert items_at(values, np.flatnonzero(values.labelled)) == ["a", "b", "c"]


def test_all_criteria_of_a_kind_are_one_query(engine: Engine) -> None:
    _, data = load(engine)
    every = disagreements.pairs(data, replace(query(), criterion="all"))
    assert every and every == disagreements.pairs(data, query())


def test_a_missing_verdict_or_majority_is_not_a_disagreement(engine: Engine) -> None:
    _, data = load(engine)
    values = values_of(data, query("j0"))
    assert cells_at(values, values.select(None, categorical=True)) == {"a": ("1", "2"), "c": ("0", "1")}
    assert not values_of(data, query()).select(None, categorical=True).size


def test_a_matrix_has_every_category_and_missing_values_where_they_occur(engine: Engine) -> None:
    _, data = load(engine)
    values = values_of(data, query())
    missing = (NO_VERDICT, NO_MAJORITY)
    matrix = disagreements.count_matrix(values.cells.take(values.labelled), PREFERENCE, missing)
    assert matrix.rows == ("1", "2", "0", NO_VERDICT) and matrix.columns == ("1", "2", "0", NO_MAJORITY)
    assert matrix.counts == {("2", "2"): 1, ("2", NO_MAJORITY): 1, (NO_VERDICT, "1"): 1}
    cells = Column.of([("1", "1")])
    assert disagreements.count_matrix(cells, PREFERENCE, missing).rows == ("1", "2", "0")


def test_pairs_can_be_limited_to_a_scenario(engine: Engine) -> None:
    _, data = load(engine)
    assert [pair.target.item for pair in disagreements.pairs(data, query(scenario="math"))] == ["a"]
    assert [pair.target.item for pair in disagreements.pairs(data, query(scenario=""))] == ["b", "c", "d"]


def test_a_drilldown_counts_targets_that_the_viewer_has_not_labelled(engine: Engine) -> None:
    _, data = load(engine)
    values = values_of(data, query("j0"))
    labelled = np.flatnonzero(values.labelled)
    drilldown = disagreements.list_targets(values, labelled, "j0", "cat", limit=9)
    assert [item.target.item for item in drilldown.items] == ["a"] and drilldown.hidden == 2
    assert drilldown.items[0].values == {"j0": (1,), "ann": (2,), "ben": (2,), "cat": (1,)}
    assert len(disagreements.list_targets(values, labelled, "j0", None, limit=9).items) == 3


def test_a_list_ends_at_its_limit_but_has_the_opened_item(engine: Engine) -> None:
    _, data = load(engine)
    values = values_of(data, query("j0"))
    places = np.arange(len(values))
    listed = disagreements.list_targets(values, places, "j0", None, limit=1)
    assert [item.target.item for item in listed.items] == ["a"] and (listed.total, listed.more) == (4, 3)
    opened = disagreements.list_targets(values, places, "j0", None, limit=1, item="c")
    assert [item.target.item for item in opened.items] == ["a", "c"] and (opened.total, opened.more) == (4, 2)


def test_a_missing_verdict_is_shown_beside_the_labels(engine: Engine) -> None:
    _, data = load(engine)
    values = values_of(data, query())
    places = values.select(f"{NO_VERDICT} × 1", categorical=True)
    (item,) = disagreements.list_targets(values, places, "j1", None, limit=9).items
    assert item.values["j1"] == (NO_VERDICT,)


def test_opinion_changes_are_counted_towards_and_away_from_the_majority(engine: Engine) -> None:
    _, data = load(engine)
    changes = changes_of(data, "j0")
    assert dict(zip(items_at(changes, np.arange(4)), changes.change_cells.tolist(), strict=True)) == {
        "a": ("1", "1"),
        "b": ("1", "2"),
        "c": ("1", "0"),
        "d": ("1", "1"),
    }
    counts = changes.count_changes()
    assert (counts.opinions, counts.changed, counts.towards, counts.away, counts.unknown) == (4, 2, 0, 1, 1)
    assert changes_of(data, "j2").count_changes().towards == 1


def test_an_unreadable_opinion_is_not_a_change(engine: Engine) -> None:
    _, data = load(engine)
    counts = changes_of(data, "j1").count_changes()
    assert (counts.opinions, counts.changed) == (3, 3)


def test_a_method_has_the_opinion_pairs_of_all_its_judges(engine: Engine) -> None:
    _, data = load(engine)
    method = "j0 · j1 · j2"
    pairs = disagreements.opinion_pairs(data, query(method))
    assert len(pairs) == 12 and {pair.judge for pair in pairs} == {"j0", "j1", "j2"}
    changes = changes_of(data, method)
    drilldown = disagreements.list_targets(changes, changes.select_change(("1", "2")), method, None, limit=99)
    assert {
        tuple(values for rater, values in item.values.items() if rater.startswith("j")) for item in drilldown.items
    } == {((1, 2),)}


def test_means_between_categories_are_not_categorical() -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    assert not judge_values.is_categorical(Column.of([2.5]), scale)
    assert judge_values.is_categorical(Column.of([2, None]), scale)
    assert not judge_values.is_categorical(Column.of([]), Scale(level="interval", low=0, high=1))


def test_booleans_and_whole_numbers_are_formatted_differently() -> None:
    assert [judge_values.format_value(value, "none") for value in (True, 1, 1.0, 2.5, None)] == [
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
