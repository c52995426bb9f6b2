from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.formats.cell_table import cell_table
from core.labels import Scale
from core.statistics.data.dataset import Frames
from core.statistics.reports.experiment_differences import (
    AxisDifference,
    axis_differences,
    correct_differences,
    describe_correction,
    with_bounds,
)
from core.statistics.reports.experiments import CellResult, RunOfCell, cell_statistics, criterion_names

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
    cells = cell_statistics(Frames(*map(pd.DataFrame, (labels, opinions, gold)), SCALES), runs, resamples=10)
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


def debates(by_rounds: dict[str, str], groups: int = 0) -> tuple[Frames, dict[int, RunOfCell]]:
    """Return the frames of runs, levels -> the verdict of each item: right (1), wrong (2), none (.) or failed (x).

    A bar separates repeats, and a space levels; `groups` are those of the items, by default none.
    """
    every = [(tuple(name.split()), *of) for name, marks in by_rounds.items() for of in enumerate(marks.split("|"), 1)]
    opinions = [
        PREFERENCE | {"item": f"i{n}", "run": run, "value": int(mark) if mark in "12" else None, "failed": mark == "x"}
        for run, (_, _, marks) in enumerate(every)
        for n, mark in enumerate(marks)
    ]
    items = [f"i{n}" for n in range(len(every[0][-1]))]
    gold = [PREFERENCE | {"item": item, "value": 1, "source": "by people"} for item in items]
    labels = [PREFERENCE | {"item": item, "rater": "ann", "value": 1} for item in items]
    frames = [pd.DataFrame(rows) for rows in (labels, opinions, gold)]
    if groups:
        frames = [rows.assign(group=rows["item"].map(lambda item: f"g{int(item[1:]) % groups}")) for rows in frames]
    return Frames(frames[0], frames[1], frames[2], SCALES), {
        run: RunOfCell(levels, repeat) for run, (levels, repeat, _) in enumerate(every)
    }


def cells_of(by_rounds: dict[str, str], statistic: str) -> list[CellResult]:
    frames, runs = debates(by_rounds)
    return cell_statistics(frames, runs, resamples=50)[statistic]


def test_four_failed_items_of_twelve_do_not_raise_a_score() -> None:
    whole, failed = cells_of({"all": "111111122222", "some": "1111xxxx1122"}, "example_level_agreement")
    assert (whole.value, whole.items, whole.no_verdict) == (pytest.approx(7 / 12), 12, 0)
    assert (failed.value, failed.items, failed.no_verdict, failed.failed) == (pytest.approx(6 / 12), 12, 4, 4)
    assert (failed.lowest, failed.highest) == (pytest.approx(6 / 12), pytest.approx(10 / 12))


def test_a_repeat_without_missing_verdicts_counts_in_the_bounds() -> None:
    (cell,) = cells_of({"cot": "122222222222|1112222222.2|11122222222."}, "example_level_agreement")
    assert (cell.value, cell.no_verdict) == (pytest.approx(7 / 36), 2)
    assert (cell.lowest, cell.highest) == (pytest.approx(7 / 36), pytest.approx(9 / 36))


@settings(max_examples=8)
@given(data=st.data())
def test_no_value_or_effect_is_outside_its_bounds(data: st.DataObject) -> None:
    items, repeats, groups = (data.draw(st.integers(*ends)) for ends in ((2, 5), (1, 3), (0, 2)))
    marks = st.lists(st.text("12.x", min_size=items, max_size=items), min_size=repeats, max_size=repeats)
    rounds = {name: "|".join(data.draw(marks)) for name in ("a 1", "a 2", "b 1", "b 2")}
    frames, runs = debates(rounds, groups)
    found = cell_statistics(frames, runs, resamples=2)
    for statistic, cells in found.items():
        for low, value, high in [(cell.lowest, cell.value, cell.highest) for cell in cells]:
            assert value is None or low is None or high is None or low - 1e-9 <= value <= high + 1e-9, statistic
        (((_, (entry,)),)) = cell_table(cells, {"model": "ab", "n": "12"}, [], []).lines
        if entry is not None and entry.bounds is not None and entry.value is not None:
            assert entry.bounds[0] - 1e-9 <= entry.value <= entry.bounds[1] + 1e-9
    for statistic in {"example_level_agreement", "accuracy_gold", "win_rate_1"} & {*found}:
        rows = [
            row
            for effects in (True, False)
            for row in axis_differences(frames, runs, ["model", "n"], statistic, resamples=2, effects=effects)
        ]
        for row in rows:
            one = with_bounds(row, found[statistic], ["model", "n"])
            if row.difference is not None and one.lowest is not None and one.highest is not None:
                assert one.lowest - 1e-9 <= row.difference <= one.highest + 1e-9


def test_a_cell_that_only_failed_is_left_out_of_differences_and_effects() -> None:
    """Without it the model has no effect on the other combination: an outage is not a difference of 1."""
    frames, runs = debates({"good 1": "1" * 20, "good 2": "1" * 19 + "2", "bad 1": "x" * 20, "bad 2": "1" * 18 + "2."})
    of = partial(axis_differences, frames, runs, ["model", "n"], resamples=50)
    effects = {"example_level_agreement": 1 / 20, "accuracy_gold": 1 / 19, "no_verdict_rate": -1 / 20}
    for statistic, effect in effects.items():
        rows = [row for row in of(statistic) if "bad" in (row.level, row.other_level) or "bad" in row.fixed.values()]
        failed = [row for row in rows if "without bad 1: " in row.reason.replace(" · ", " ")]
        assert len(failed) == 2 and all((row.difference, row.p, row.low) == (None, None, None) for row in failed)
        model, _ = of(statistic, effects=True)
        assert model.combinations == 1 and model.reason.startswith("without bad · 1: every trace failed")
        assert model.difference == pytest.approx(effect)


def test_repeats_that_differ_by_a_constant_have_the_interval_of_one_of_them() -> None:
    """Each has the same correlation, so their mean has its interval; pooled scores correlate less."""
    given = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 2, 4]
    judged = [2, 1, 1, 3, 3, 2, 5, 4, 4, 5, 3, 3]
    score = PREFERENCE | {"kind": "score"}
    gold = [score | {"item": f"i{n}", "value": value, "source": "by people"} for n, value in enumerate(given)]
    labels = [one | {"rater": "ann"} for one in gold]
    shifts = {0: ("one", 1, 0), 1: ("three", 1, 0), 2: ("three", 2, 3), 3: ("three", 3, 5)}
    opinions = [
        score | {"item": f"i{n}", "run": run, "value": value + shift}
        for run, (_, _, shift) in shifts.items()
        for n, value in enumerate(judged)
    ]
    runs = {run: RunOfCell((name,), repeat) for run, (name, repeat, _) in shifts.items()}
    scales = {("score", "c"): Scale(level="interval", categories=tuple(range(1, 11)))}
    cells = cell_statistics(Frames(*map(pd.DataFrame, (labels, opinions, gold)), scales), runs)
    for statistic in ("pearson", "spearman", "kendall_tau_b"):
        one, three = cells[statistic]
        assert three.value == pytest.approx(one.value) and three.deviation == pytest.approx(0)
        assert (three.low, three.high) == (pytest.approx(one.low, abs=0.08), pytest.approx(one.high, abs=0.02))


def test_statistics_of_verdicts_are_on_the_items_with_a_verdict_in_every_cell() -> None:
    cells = cells_of({"1": "11112..", "2": "1221111"}, "accuracy_gold")
    assert [(cell.value, cell.items, cell.left_out) for cell in cells] == [(0.8, 5, 0), (0.6, 5, 2)]


def test_a_cell_without_any_verdict_leaves_the_others_their_items() -> None:
    cells = cells_of({"1": "1112", "2": "...."}, "accuracy_gold")
    assert [(cell.value, cell.items) for cell in cells] == [(0.75, 4), (None, 0)]


def test_a_cell_in_which_every_trace_failed_has_no_value() -> None:
    _, failed = cells_of({"1": "1112", "2": "xxxx"}, "example_level_agreement")
    assert (failed.value, failed.reason, failed.failed) == (None, "every trace failed", 4)
    _, unread = cells_of({"1": "1112", "2": "...."}, "example_level_agreement")
    assert (unread.value, unread.low, unread.reason) == (None, None, "none of 4 targets has a readable verdict")
    _, unread = cells_of({"1": "1112", "2": "...."}, "no_verdict_rate")
    assert unread.value == 1


def difference_of(by_rounds: dict[str, str], statistic: str) -> AxisDifference:
    frames, runs = debates(by_rounds)
    (row,) = axis_differences(frames, runs, ["rounds"], statistic, resamples=200)
    return row


def test_rounds_with_the_same_consensus_differ_in_the_agreement_that_counts_all_items() -> None:
    rounds = {"1": "11" + "." * 18, "3": "11" + "1" * 12 + "." * 6}
    row = difference_of(rounds, "example_level_agreement")
    assert row.difference == pytest.approx(-0.6) and row.items == 20
    assert row.p is not None and row.p < 0.01 and row.high is not None and row.high < 0
    same = difference_of(rounds, "accuracy_gold")
    assert (same.difference, same.p) == (0, None) and "same on every item" in same.reason


@pytest.mark.parametrize("statistic", ["example_level_agreement", "accuracy_gold", "cohen_kappa_gold", "win_rate_1"])
def test_a_difference_is_that_of_the_values_in_the_table(statistic: str) -> None:
    rounds = {"1": "1122112.12", "2": "12221111.2"}
    first, second = cells_of(rounds, statistic)
    row = difference_of(rounds, statistic)
    assert first.value is not None and second.value is not None and row.difference is not None
    assert row.difference == pytest.approx(first.value - second.value, abs=1e-12)


def test_the_paired_interval_of_a_share_is_that_of_the_differences() -> None:
    rounds = {"1": "1" * 60 + "2" * 40, "2": "1" * 40 + "2" * 60}
    row = difference_of(rounds, "accuracy_gold")
    spread = (np.repeat([0.0, 1.0, 0.0], [40, 20, 40]).std(ddof=1)) / 10
    assert row.low is not None and row.high is not None
    assert (row.high - row.low) / (2 * 1.96) == pytest.approx(spread, rel=0.15)


def test_kinds_of_one_criterion_are_apart_in_results() -> None:
    samples = [("aiu_precision", "", ("a",)), ("aiu_recall", "", ("a",)), ("score", "clarity", ("b",))]
    names = criterion_names(samples)
    assert [*names.values()] == ["aiu_precision", "aiu_recall", "clarity"]
