"""Axes have the part of their scale that has the values."""

import pytest

from pages.parts import axes


def test_axes_of_shares_have_the_part_with_values() -> None:
    assert axes.fit_range([0.7, 0.9]) == pytest.approx((0.65, 0.95))
    assert axes.fit_range([0.01, 1.0]) == (-0.02, 1.02)
    assert axes.fit_range([]) == (-0.02, 1.02)
    assert axes.fit_axis((0.92, 1.02))["tickvals"] == [0.92, 0.94, 0.96, 0.98, 1.0]
    assert axes.fit_axis((-0.02, 1.02))["tickvals"] == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert axes.fit_axis((0.37, 0.97))["tickvals"] == [0.4, 0.6, 0.8]


def test_axes_of_coefficients_begin_below_zero_only_with_negative_values() -> None:
    assert axes.fit_range([-0.93, 1.0]) == pytest.approx((-0.98, 1.02))
    assert axes.fit_axis((-1.02, 1.02))["tickvals"] == [-1, -0.5, 0, 0.5, 1]
    assert axes.fit_axis((-0.25, 0.3))["tickvals"] == [-0.2, 0, 0.2]
    assert axes.fit_axis((0.62, 0.98))["tickvals"] == [0.7, 0.8, 0.9]
