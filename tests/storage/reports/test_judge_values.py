"""Opinions of a judge as columns, compared with one opinion at a time."""

from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.labels import PREFERENCE, Scale, majority_value
from storage.reports import disagreements, judge_values
from storage.reports.alignment import AlignmentData
from storage.reports.judge_values import NO_MAJORITY, NO_VERDICT, JudgeQuery, JudgeValues, format_value
from storage.reports.references import Reference

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


def one_at_a_time(data: AlignmentData, query: JudgeQuery, criteria: list[str]) -> list[dict[str, Any]]:
    """Return each opinion of the judge with what `JudgeValues` has in columns."""
    rows = [row for row in data.opinions.to_dict("records") if row["judge"] == query.judge]
    first = {
        (row["trace"], row["criterion"]): row["value"]
        for row in data.opinions.to_dict("records")
        if (row["rater"], row["stage"]) == ("j", "first")
    }
    given: dict[tuple[str, str], dict[str, Any]] = {}
    for row in data.labels.to_dict("records"):
        given.setdefault((row["item"], row["criterion"]), {})[row["rater"]] = row["value"]
    found = []
    for criterion in criteria:
        for row in rows:
            if row["criterion"] == criterion and query.scenario in (None, row["scenario"]):
                labels = given.get((row["item"], criterion), {})
                majority, judge = majority_value([*labels.values()]), row["value"]
                distance = abs(judge - fmean(labels.values())) if labels and judge is not None else None
                found.append(
                    {"row": row, "judge": judge, "first": first[row["trace"], criterion], "labels": labels}
                    | {"cell": (format_value(judge, NO_VERDICT), format_value(majority, NO_MAJORITY))}
                    | {"differs": None not in (judge, majority) and judge != majority, "distance": distance}
                )
    return found


def selected(data: AlignmentData, query: JudgeQuery, click: str) -> tuple[JudgeValues, Any, list[dict[str, Any]]]:
    """Return the opinions, the places of those that a click selects, and the same one at a time."""
    criteria = judge_values.compared_criteria(data, query)
    every = one_at_a_time(data, query, criteria)
    labelled = [row for row in every if row["labels"]]
    values = judge_values.load_values(data, query, criteria)
    match click:
        case "differ":
            return values, values.select(None, categorical=True), [row for row in labelled if row["differs"]]
        case "distance":
            scored = [row for row in labelled if row["distance"] is not None]
            return values, values.select(None, categorical=False), sorted(scored, key=lambda row: -row["distance"])
        case "change":
            changes = judge_values.load_changes(data, query, criteria)
            moved = [row for row in every if (row["first"], row["judge"]) == (1, 2)]
            return changes, changes.select_change(("1", "2")), moved
        case "longer" | "shown_first":
            chose = [row for row in every if row["judge"] is not None and row["judge"] == row["row"][click] != 0]
            return values, np.flatnonzero(values.chose(click)), chose
    return values, values.select(click, categorical=True), [row for row in labelled if " × ".join(row["cell"]) == click]


@pytest.mark.parametrize("criterion", [*CRITERIA, "all"])
@pytest.mark.parametrize("scenario", [None, "scenario 1"])
@pytest.mark.parametrize("viewer", [None, "ben", "nobody"])
@pytest.mark.parametrize("click", [*CELLS, "differ", "distance", "change", "longer", "shown_first"])
def test_every_click_lists_the_targets_of_its_opinions(
    click: str, viewer: str | None, scenario: str | None, criterion: str
) -> None:
    kind, given = ("score", (1, 2, 3.5, 4, 5)) if click == "distance" else ("preference", (1, 2, 0))
    values, places, expected = selected(planted(kind, given), JudgeQuery("j", kind, criterion, scenario), click)
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
    values = judge_values.load_values(data, JudgeQuery("j", "preference", "depth"), ["depth"])
    rows = one_at_a_time(data, JudgeQuery("j", "preference", "depth"), ["depth"])
    assert values.cells.tolist() == [row["cell"] for row in rows]
    assert {("true", "1"), ("1", "true")} <= set(values.cells.tolist())


def test_a_judge_without_opinions_has_no_places() -> None:
    data = planted("preference", (1, 2, 0))
    query = JudgeQuery("nobody", "preference", "depth")
    values = judge_values.load_values(data, query, ["depth"])
    assert not len(values) and not values.select(None, categorical=True).size and not values.labelled.any()
    assert not len(judge_values.load_changes(data, query, []))
    assert disagreements.list_targets(values, np.arange(0), "nobody", "ann", limit=4).selected == 0
