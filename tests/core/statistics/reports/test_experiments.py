import pandas as pd
import pytest

from core.labels import Scale
from core.statistics.reports.experiments import (
    AxisDifference,
    RunOfCell,
    cell_statistics,
    correct_differences,
    describe_correction,
)

PREFERENCE = {"kind": "preference", "criterion": "c", "part": ""}
SCALES = {("preference", "c"): Scale(level="nominal", categories=(1, 2, 0))}


def test_a_cell_has_the_items_of_any_repeat_and_of_each() -> None:
    verdicts = {1: {"a": 1, "b": 1}, 2: {"b": 2, "c": 1}, 3: {}}
    opinions = [
        PREFERENCE | {"item": item, "run": run, "value": values.get(item)}
        for run, values in verdicts.items()
        for item in "abcd"
    ]
    gold = [PREFERENCE | {"item": item, "value": 1, "source": "by people"} for item in "abcd"]
    labels = [PREFERENCE | {"item": item, "rater": "ann", "value": 1} for item in "abcd"]
    runs = {run: RunOfCell(("general",), repeat=run) for run in verdicts}
    cells = cell_statistics(*map(pd.DataFrame, (labels, opinions, gold)), SCALES, runs, resamples=10)
    (cell,) = cells["accuracy_gold"]
    assert (cell.value, cell.items, cell.items_of_repeats, cell.repeats) == (0.75, 3, (2, 2, 0), 3)
    assert cell.reason.startswith("2 of 3 repeats have a value; only 3 groups") and cell.reference == "3 by people"
    (asked,) = cells["no_verdict_rate"]
    assert (asked.items, asked.items_of_repeats) == (4, (4, 4, 4))


@pytest.mark.parametrize(
    ("p", "corrected", "sentence"),
    [
        ([0.034, None, 0.5], [0.068, None, 0.5], "by Holm's method for the 2 of 3 differences that have a p"),
        ([0.01, 0.02], [0.02, 0.02], "by Holm's method for all 2 differences"),
        ([None, 0.01], [None, 0.01], "p: paired bootstrap"),
        ([None], [None], "none of the differences has a p"),
    ],
)
def test_the_correction_is_for_the_differences_that_have_a_p(
    p: list[float | None], corrected: list[float | None], sentence: str
) -> None:
    rows = [
        AxisDifference("words", "50", "150", {}, "c", "accuracy_gold", None, None, None, 3, value, None) for value in p
    ]
    assert [row.p_corrected for row in correct_differences(rows)] == pytest.approx(corrected)
    assert describe_correction(rows).endswith(sentence)
