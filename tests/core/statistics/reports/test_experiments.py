import pandas as pd

from core.labels import Scale
from core.statistics.reports.experiments import RunOfCell, cell_statistics

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
