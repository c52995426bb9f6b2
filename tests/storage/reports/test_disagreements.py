"""Targets on which a judge and the annotators disagree, and changed opinions."""

from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, Record
from core.labels import PREFERENCE, Scale, majority_value
from core.statistics.data.columns import Column
from storage.db.connections import reading, writing
from storage.labels import labels
from storage.reports import alignment, disagreements
from storage.reports.alignment import AlignmentData
from storage.reports.disagreements import NO_MAJORITY, NO_VERDICT, JudgeQuery, JudgeValues, format_value
from storage.reports.references import Reference
from storage.studies.studies import Study
from tests.conftest import make_item, make_label, make_target
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, import_study

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
    study = import_study(engine, [*records(), *(extra or [])])
    return study, alignment.load_data(engine, study)


def query(judge: str = "j1", **fields: Any) -> JudgeQuery:
    return JudgeQuery(**{"judge": judge, "kind": "preference", "criterion": "helpfulness"} | fields)


def values_of(data: AlignmentData, asked: JudgeQuery) -> JudgeValues:
    return disagreements.load_values(data, asked, [asked.criterion])


def changes_of(data: AlignmentData, judge: str) -> JudgeValues:
    return disagreements.load_changes(data, query(judge), ["helpfulness"])


def items_at(values: JudgeValues, places: Any) -> list[str]:
    return values.opinions["item"].iloc[places].tolist()


def cells_at(values: JudgeValues, places: Any) -> dict[str, tuple[str, str]]:
    return dict(zip(items_at(values, places), values.cells.take(places).tolist(), strict=True))


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
    for scenario, items in (("math", ["a"]), ("", ["b", "c", "d"])):
        assert items_at(values_of(data, query(scenario=scenario)), slice(None)) == items


def test_a_list_ends_at_its_limit_but_has_the_opened_item(engine: Engine) -> None:
    _, data = load(engine)
    values = values_of(data, query("j0"))
    places = np.arange(len(values))
    listed = disagreements.list_targets(values, places, "j0", None, limit=1)
    assert [item.target.item for item in listed.items] == ["a"] and (listed.total, listed.more) == (4, 3)
    opened = disagreements.list_targets(values, places, "j0", None, limit=1, item="c")
    assert [item.target.item for item in opened.items] == ["a", "c"] and (opened.total, opened.more) == (4, 2)


def test_opinion_changes_are_counted_towards_and_away_from_the_majority(engine: Engine) -> None:
    _, data = load(engine)
    changes = changes_of(data, "j0")
    assert dict(zip(items_at(changes, np.arange(4)), changes.change_cells.tolist(), strict=True)) == {
        "a": ("1", "1"),
        "b": ("1", "2"),
        "c": ("1", "0"),
        "d": ("1", "1"),
    }
    assert changes.count_changes() == (4, 2, 1, 0, 1)
    assert changes_of(data, "j2").count_changes()[3] == 1


def test_an_unreadable_opinion_is_not_a_change(engine: Engine) -> None:
    _, data = load(engine)
    assert changes_of(data, "j1").count_changes()[:2] == (3, 3)


def test_a_method_has_the_opinion_pairs_of_all_its_judges(engine: Engine) -> None:
    _, data = load(engine)
    method = "j0 · j1 · j2"
    changes = changes_of(data, method)
    assert len(changes) == 12 and set(changes.opinions["rater"]) == {"j0", "j1", "j2"}
    drilldown = disagreements.list_targets(changes, changes.select_change(("1", "2")), method, None, limit=99)
    assert {
        tuple(values for rater, values in item.values.items() if rater.startswith("j")) for item in drilldown.items
    } == {((1, 2),)}


def test_means_between_categories_are_not_categorical() -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    assert not disagreements.is_categorical(Column.of([2.5]), scale)
    assert disagreements.is_categorical(Column.of([2, None]), scale)
    assert not disagreements.is_categorical(Column.of([]), Scale(level="interval", low=0, high=1))


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


# Selections of many planted opinions, compared with the same ones made one at a time.

SCORES = Scale(level="interval", low=0, high=5)
CRITERIA = ("clarity", "depth")
ITEMS = 300
CELLS = ("1 × 2", f"{NO_VERDICT} × 1", f"2 × {NO_MAJORITY}")


@cache
def planted(kind: str, values: tuple[object, ...]) -> AlignmentData:
    """Return opinions of two judges and labels of three annotators with these values, some of them missing."""
    rng = np.random.default_rng(5)

    def draw(shares_missing: float) -> Any:
        return None if rng.random() < shares_missing else values[rng.integers(len(values))]

    targets = [(f"item {place}", f"scenario {place % 3}", name) for place in range(ITEMS) for name in CRITERIA]
    rng.shuffle(targets)
    opinions = [
        {"item": item, "scenario": scenario, "group": None, "kind": kind, "criterion": criterion, "part": ""}
        | {"trace": trace, "run": 1, "judge": judge + ", first opinion" * (stage == "first"), "rater": judge}
        | {"stage": stage, "value": draw(0.1)}
        | {"shown_first": rng.choice([1.0, 2.0, np.nan]), "longer": rng.choice([0.0, 1.0, 2.0])}
        for trace, (item, scenario, criterion) in enumerate(targets)
        for judge in ("j", "other")
        for stage in ("first", "last")
    ]
    labels = [
        {"item": item, "scenario": scenario, "group": None, "kind": kind, "criterion": criterion, "part": ""}
        | {"rater": rater, "value": draw(0)}
        for item, scenario, criterion in targets
        for rater in ("ann", "ben", "cat")
        if rng.random() < 0.6
    ]
    # As objects from the start: numbers next to None would become floats and nan.
    frames = [
        pd.DataFrame(rows).assign(value=pd.Series([row["value"] for row in rows], dtype=object))
        for rows in (labels, opinions)
    ]
    scale = PREFERENCE if kind == "preference" else SCORES
    scales = {(kind, name): scale for name in CRITERIA}
    return AlignmentData(*frames, pd.DataFrame(), scales, Reference(), {}, {})


@cache
def one_at_a_time(given: tuple[object, ...], query: JudgeQuery, criteria: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return each opinion of the judge with what `JudgeValues` has in columns."""
    data = planted(query.kind, given)
    opinions = data.opinions.to_dict("records")
    rows = [row for row in opinions if row["judge"] == query.judge]
    first = {
        (row["trace"], row["criterion"]): row["value"]
        for row in opinions
        if (row["rater"], row["stage"]) == ("j", "first")
    }
    labels_of: dict[tuple[str, str], dict[str, Any]] = {}
    for row in data.labels.to_dict("records"):
        labels_of.setdefault((row["item"], row["criterion"]), {})[row["rater"]] = row["value"]
    found = []
    for criterion in criteria:
        for row in rows:
            if row["criterion"] == criterion and query.scenario in (None, row["scenario"]):
                labels = labels_of.get((row["item"], criterion), {})
                majority, judge = majority_value([*labels.values()]), row["value"]
                distance = abs(judge - fmean(labels.values())) if labels and judge is not None else None
                found.append(
                    {"row": row, "judge": judge, "first": first[row["trace"], criterion], "labels": labels}
                    | {"cell": (format_value(judge, NO_VERDICT), format_value(majority, NO_MAJORITY))}
                    | {"differs": None not in (judge, majority) and judge != majority, "distance": distance}
                )
    return found


def selected(given: tuple[object, ...], query: JudgeQuery, click: str) -> tuple[JudgeValues, Any, list[dict[str, Any]]]:
    """Return the opinions, the places of those that a click selects, and the same one at a time."""
    data = planted(query.kind, given)
    criteria = disagreements.compared_criteria(data, query)
    every = one_at_a_time(given, query, tuple(criteria))
    labelled = [row for row in every if row["labels"]]
    values = disagreements.load_values(data, query, criteria)
    match click:
        case "differ":
            return values, values.select(None, categorical=True), [row for row in labelled if row["differs"]]
        case "distance":
            scored = [row for row in labelled if row["distance"] is not None]
            return values, values.select(None, categorical=False), sorted(scored, key=lambda row: -row["distance"])
        case "change":
            changes = disagreements.load_changes(data, query, criteria)
            moved = [row for row in every if (row["first"], row["judge"]) == (1, 2)]
            return changes, changes.select_change(("1", "2")), moved
    return values, values.select(click, categorical=True), [row for row in labelled if " × ".join(row["cell"]) == click]


@pytest.mark.parametrize("criterion", [*CRITERIA, "all"])
@pytest.mark.parametrize("scenario", [None, "scenario 1"])
@pytest.mark.parametrize("viewer", [None, "ben", "nobody"])
@pytest.mark.parametrize("click", [*CELLS, "differ", "distance", "change"])
def test_every_click_lists_the_targets_of_its_opinions(
    click: str, viewer: str | None, scenario: str | None, criterion: str
) -> None:
    kind, given = ("score", (1, 2, 3.5, 4, 5)) if click == "distance" else ("preference", (1, 2, 0))
    values, places, expected = selected(given, JudgeQuery("j", kind, criterion, scenario), click)
    drilldown = disagreements.list_targets(values, places, "j", viewer, limit=4)
    visible = [row for row in expected if viewer is None or viewer in row["labels"]]
    assert expected and drilldown.selected == len(expected)
    assert (drilldown.total, drilldown.hidden) == (len(visible), len(expected) - len(visible))
    for one, row in zip(drilldown.items, visible[:4], strict=True):
        place = (one.target.item, one.target.criterion, one.trace, one.scenario)
        assert place == tuple(row["row"][name] for name in ("item", "criterion", "trace", "scenario"))
        opinions = (row["first"], row["judge"]) if click == "change" else (row["judge"],)
        of_judge = {"j": tuple(NO_VERDICT if value is None else value for value in opinions)}
        assert one.values == of_judge | {rater: (value,) for rater, value in row["labels"].items()}


def test_true_is_not_the_majority_of_ones() -> None:
    data = planted("preference", (True, 1))
    values = disagreements.load_values(data, JudgeQuery("j", "preference", "depth"), ["depth"])
    rows = one_at_a_time((True, 1), JudgeQuery("j", "preference", "depth"), ("depth",))
    assert values.cells.tolist() == [row["cell"] for row in rows]
    assert {("true", "1"), ("1", "true")} <= set(values.cells.tolist())


def test_a_judge_without_opinions_has_no_places() -> None:
    data = planted("preference", (1, 2, 0))
    query = JudgeQuery("nobody", "preference", "depth")
    values = disagreements.load_values(data, query, ["depth"])
    assert not len(values) and not values.select(None, categorical=True).size and not values.labelled.any()
    assert not len(disagreements.load_changes(data, query, []))
    assert disagreements.list_targets(values, np.arange(0), "nobody", "ann", limit=4).selected == 0
