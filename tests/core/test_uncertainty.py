"""The uncertainty of judges about a trace."""

import math

import pytest

from core.labels import Opinion
from core.uncertainty import CHANGE_BONUS, uncertainty


def opinions(*values, stage="last", kind="preference", part=""):
    return [
        Opinion(kind=kind, judge=f"judge {n}", stage=stage, value=value, part=part) for n, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "bits"),
    [((1, 1, 1), 0.0), ((1, 2, 0), math.log2(3)), ((1, 1, 2), 0.9183), ((1, 2), 1.0), ((1, 1, None), 0.9183)],
)
def test_uncertainty_is_the_entropy_of_the_last_opinions(values, bits):
    assert uncertainty(opinions(*values)) == pytest.approx(bits, abs=1e-4)


def test_changed_opinions_order_debates_of_equal_entropy():
    unchanged = uncertainty([*opinions(1, 2, stage="first"), *opinions(1, 2)])
    changed = uncertainty([*opinions(2, 2, stage="first"), *opinions(1, 2)])
    assert changed == pytest.approx(unchanged + CHANGE_BONUS / 2)


def test_the_target_with_the_highest_entropy_counts():
    agreed, divided = opinions(True, True, part="a"), opinions(True, False, part="b")
    assert uncertainty([*agreed, *divided]) == pytest.approx(1.0)


def test_weights_and_an_empty_trace_have_no_uncertainty():
    assert uncertainty(opinions({"a": 40.0}, {"a": 41.0}, kind="aspect_weights")) == 0
    assert uncertainty([]) == 0
