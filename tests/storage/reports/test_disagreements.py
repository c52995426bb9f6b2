"""Targets on which a judge and the annotators disagree."""

from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sqlalchemy import Engine

from core.formats.records import ItemRecord, Record
from core.labels import PREFERENCE, Scale, majority_value
from core.statistics.data.frames import select_rows, target_codes
from storage.db import connections
from storage.labels import labels
from storage.reports import alignment, disagreements, opinions
from storage.reports.alignment import AlignmentData
from storage.reports.disagreements import (
    NO_MAJORITY,
    NO_VERDICT,
    Drilldown,
    JudgeQuery,
    JudgeValues,
    format_value,
)
from storage.reports.references import Reference
from storage.studies.studies import Study
from tests.conftest import make_item, make_label, make_target
from tests.sessions import read, write
from tests.storage.reports.planted_judges import planted_records
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


@pytest.fixture(scope="module")
def data(module_engine: Engine) -> AlignmentData:
    return load(module_engine)[1]


def query(judge: str = "j1", **fields: Any) -> JudgeQuery:
    return JudgeQuery(**{"judge": judge, "kind": "preference", "criterion": "helpfulness"} | fields)


def values_of(data: AlignmentData, asked: JudgeQuery) -> JudgeValues:
    values = disagreements.load_values(data, asked)
    assert values is not None
    return values


def test_a_cell_has_the_judges_value_and_the_strict_majority(data: AlignmentData) -> None:
    values = values_of(data, query())
    cells = dict(zip(values.dataset.item.tolist(), zip(*values.texts, strict=True), strict=True))
    assert cells == {
        "a": ("2", "2"),
        "b": ("2", NO_MAJORITY),
        "c": (NO_VERDICT, "1"),
        "d": ("2", NO_MAJORITY),
    }
    assert values.dataset.item[values.labelled].tolist() == ["a", "b", "c"]


def test_a_matrix_has_every_category_and_missing_values_where_they_occur(data: AlignmentData) -> None:
    values = values_of(data, query())
    missing = (NO_VERDICT, NO_MAJORITY)
    down, across = (side[values.labelled] for side in values.texts)
    matrix = disagreements.count_matrix(PREFERENCE, down, across, missing)
    assert matrix.rows == ("1", "2", "0", NO_VERDICT) and matrix.columns == ("1", "2", "0", NO_MAJORITY)
    assert matrix.counts == {("2", "2"): 1, ("2", NO_MAJORITY): 1, (NO_VERDICT, "1"): 1}
    assert disagreements.count_matrix(PREFERENCE, down[:1], across[:1], missing).rows == ("1", "2", "0")


def test_pairs_can_be_limited_to_a_scenario(data: AlignmentData) -> None:
    for scenario, items in (("math", ["a"]), ("", ["b", "c", "d"])):
        assert values_of(data, query(scenario=scenario)).dataset.item.tolist() == items


def test_a_list_ends_at_its_limit_but_has_the_opened_item(data: AlignmentData) -> None:
    listed = disagreements.list_places(values_of(data, query("j0")).dataset, np.arange(4), ["j0"], None, limit=1)
    assert [item.target.item for item in listed.items] == ["a"] and (listed.total, listed.more) == (4, 3)
    dataset = values_of(data, query("j0")).dataset
    opened = disagreements.list_places(dataset, np.arange(4), ["j0"], None, limit=1, item="c")
    assert [item.target.item for item in opened.items] == ["a", "c"] and (opened.total, opened.more) == (4, 2)


def test_a_method_has_the_first_opinions_of_all_its_judges(data: AlignmentData) -> None:
    changes = disagreements.load_changes(data, query("j0 · j1 · j2"))
    assert changes is not None and set(changes.first) == {"j0", "j1", "j2"}
    listed = disagreements.list_places(changes.dataset, np.arange(3), ["j0"], None, first=changes.first)
    assert [item.values["j0"] for item in listed.items] == [(1, 1), (1, 2), (1, 0)]


def test_scales_of_numbers_and_of_many_categories_have_no_table() -> None:
    assert disagreements.is_categorical(Scale(level="ordinal", categories=(1, 2, 3)))
    assert not disagreements.is_categorical(Scale(level="ordinal", categories=tuple(range(20))))
    assert not disagreements.is_categorical(Scale(level="interval", low=0, high=1))


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
    before = read(engine, disagreements.version, study.id)
    write(engine, labels.adjudicate, study.id, make_target("b"), 1, rule="expert", reason="clear", adjudicator="eve")
    assert read(engine, disagreements.version, study.id) != before


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
    """Return each opinion of the judge with the labels and the distance from their mean."""
    data = planted(query.kind, given)
    opinions = data.opinions.to_dict("records")
    rows = [row for row in opinions if row["judge"] == query.judge]
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
                    {"row": row, "judge": judge, "labels": labels}
                    | {"cell": (format_value(judge, NO_VERDICT), format_value(majority, NO_MAJORITY))}
                    | {"differs": None not in (judge, majority) and judge != majority, "distance": distance}
                )
    return found


def selected(
    given: tuple[object, ...], query: JudgeQuery, click: str, viewer: str | None
) -> tuple[Drilldown, list[dict[str, Any]]]:
    """Return the targets that a click lists, and the same opinions one at a time."""
    data = planted(query.kind, given)
    every = one_at_a_time(given, query, CRITERIA if query.criterion == "all" else (query.criterion,))
    labelled = [row for row in every if row["labels"]]
    values = values_of(data, query)
    places = values.select(None if click in ("differ", "distance") else click)
    expected = {
        "differ": [row for row in labelled if row["differs"]],
        "distance": [row for row in labelled if row["distance"] is not None],
    }.get(click, [row for row in labelled if " × ".join(row["cell"]) == click])
    return disagreements.list_places(values.dataset, places, ["j"], viewer, limit=None), expected


@pytest.mark.parametrize("criterion", ["depth", "all"])
@pytest.mark.parametrize("scenario", [None, "scenario 1"])
@pytest.mark.parametrize("viewer", [None, "ben", "nobody"])
@pytest.mark.parametrize("click", [*CELLS, "differ", "distance"])
def test_every_click_lists_the_targets_of_its_opinions(
    click: str, viewer: str | None, scenario: str | None, criterion: str
) -> None:
    kind, given = ("score", (1, 2, 3.5, 4, 5)) if click == "distance" else ("preference", (1, 2, 0))
    drilldown, expected = selected(given, JudgeQuery("j", kind, criterion, scenario), click, viewer)
    visible = [row for row in expected if viewer is None or viewer in row["labels"]]
    assert expected and drilldown.selected == len(expected)
    assert (drilldown.total, drilldown.hidden) == (len(visible), len(expected) - len(visible))
    rows = {(row["row"]["item"], row["row"]["criterion"]): row for row in visible}
    for one in drilldown.items:
        row = rows[one.target.item, one.target.criterion]
        assert (one.trace, one.scenario) == (row["row"]["trace"], row["row"]["scenario"])
        of_judge = {"j": (NO_VERDICT if row["judge"] is None else row["judge"],)}
        assert one.values == of_judge | {rater: (value,) for rater, value in row["labels"].items()}
    if click == "distance":
        listed = [rows[one.target.item, one.target.criterion]["distance"] for one in drilldown.items]
        assert listed == pytest.approx(sorted(listed, reverse=True))


def test_a_judge_without_opinions_has_no_values() -> None:
    data = planted("preference", (1, 2, 0))
    nobody = JudgeQuery("nobody", "preference", "depth")
    assert disagreements.load_values(data, nobody) is None and disagreements.load_changes(data, nobody) is None


# Opinions as data frames: with texts, and with categories for large studies


def test_categories_are_the_texts_in_less_memory_and_some_kinds_are_read(engine: Engine) -> None:
    study = import_study(engine, planted_records(20))
    with connections.reading(engine) as session:
        texts = opinions.opinion_frame(session, study.id)
        categories = opinions.categorical_opinions(session, study.id)
        for kinds in (["preference"], ["score"], ["preference", "score"], []):
            expected = texts[texts["kind"].isin(kinds)].reset_index(drop=True)
            found = opinions.opinion_frame(session, study.id, kinds)
            assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    assert len(texts) and list(texts.columns) == opinions.OPINION_COLUMNS
    assert (categories[["item", "criterion", "rater", "stage"]].dtypes == "category").all()
    assert_frame_equal(opinions.with_texts(categories), texts)
    assert pd.factorize(target_codes(categories))[0].tolist() == pd.factorize(target_codes(texts))[0].tolist()
    criterion, scenario = texts["criterion"].iloc[0], texts["scenario"].iloc[0]
    for chosen in (("preference", criterion, scenario), ("preference", criterion, "none"), ("preference", "", None)):
        assert select_rows(categories, *chosen).index.tolist() == select_rows(texts, *chosen).index.tolist()


def test_targets_of_several_frames_are_numbered_together() -> None:
    labels = pd.DataFrame({"item": ["a", "b"], "criterion": ["x", "x"], "part": [None, "1"]})
    judged = pd.DataFrame({"item": ["b", "a", "c"], "criterion": ["x", "x", "x"], "part": ["1", "", "1"]})
    codes = target_codes(labels, judged.astype("category")).tolist()
    assert codes[:2] == [codes[3], codes[2]] and len(set(codes)) == 3
