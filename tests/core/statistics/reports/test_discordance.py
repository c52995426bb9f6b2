"""Slices with planted excess disagreement are found, and others are not."""

import numpy as np
import pytest

from core.statistics.reports.judge_findings import correct_slices, slice_rows


def planted(seed: int):
    """Return a judge that differs on 15 % of 300 targets, and on 45 % of the scenario "math"."""
    rng = np.random.default_rng(seed)
    scenario = rng.integers(0, 5, 300)
    differs = rng.random(300) < np.where(scenario == 0, 0.45, 0.15)
    known = np.ones(300, bool)
    slices = {("scenario", "math" if number == 0 else f"s{number}"): (scenario == number, known) for number in range(5)}
    slices |= {("noise", str(number)): (rng.random(300) < 0.4, known) for number in range(6)}
    return differs, slices


def test_the_planted_slice_is_found_in_every_seed():
    false_findings = 0
    for seed in range(20):
        rows = correct_slices(slice_rows("j", *planted(seed)))
        found = [row.slice for row in rows if row.found and row.excess > 0]
        assert rows[0].slice == ("scenario", "math") and found[0] == ("scenario", "math")
        false_findings += len(found) > 1
    assert false_findings <= 3


def test_counts_and_excess_by_hand():
    differs = np.repeat([True, False, True, False], [6, 4, 2, 8])
    inside, known = np.repeat([True, False], [10, 10]), np.ones(20, bool)
    (row,) = slice_rows("j", differs, {("a", "b"): (inside, known)})
    assert (row.differing, row.targets, row.differing_outside, row.targets_outside) == (6, 10, 2, 10)
    assert row.excess == pytest.approx(0.4)
    assert row.p == pytest.approx(0.1698, abs=1e-4)
    # Newcombe 1998, method 10.
    assert (row.low, row.high) == pytest.approx((-0.0226, 0.6725), abs=1e-4)


def test_targets_with_an_unknown_feature_and_small_slices_are_left_out():
    differs, inside = np.ones(20, bool), np.arange(20) < 4
    assert slice_rows("j", differs, {("a", "b"): (inside, np.ones(20, bool))}) == []
    known = np.arange(20) < 12
    (row,) = slice_rows("j", differs, {("a", "b"): (np.arange(20) < 6, known)})
    assert (row.targets, row.targets_outside) == (6, 6)


def test_equal_verdicts_of_a_dialogue_are_not_independent():
    differs = np.repeat(np.arange(20) % 4 == 0, 5) | (np.arange(100) < 20)
    inside, known = np.arange(100) < 40, np.ones(100, bool)
    dialogues = [str(number) for number in np.repeat(np.arange(20), 5)]
    (alone,) = slice_rows("j", differs, {("a", "b"): (inside, known)})
    (grouped,) = slice_rows("j", differs, {("a", "b"): (inside, known)}, dialogues)
    assert grouped.excess == pytest.approx(alone.excess)
    assert grouped.p > alone.p and grouped.low < alone.low
