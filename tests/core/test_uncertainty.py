"""The more the judges are divided, the more a person's decision tells."""

import math

import pytest

from core.labels import Opinion
from core.uncertainty import WAVERING, doubt


def said(*values, stage="last", kind="preference", part=""):
    return [
        Opinion(kind=kind, judge=f"judge {n}", stage=stage, value=value, part=part) for n, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "bits"),
    [((1, 1, 1), 0.0), ((1, 2, 0), math.log2(3)), ((1, 1, 2), 0.9183), ((1, 2), 1.0), ((1, 1, None), 0.9183)],
)
def test_it_is_the_entropy_of_the_last_opinions(values, bits):
    assert doubt(said(*values)) == pytest.approx(bits, abs=1e-4)


def test_a_change_of_mind_orders_debates_that_are_equally_divided():
    calm = doubt([*said(1, 2, stage="first"), *said(1, 2)])
    wavering = doubt([*said(2, 2, stage="first"), *said(1, 2)])
    assert wavering == pytest.approx(calm + WAVERING / 2)


def test_the_target_that_divides_most_counts():
    agreed, divided = said(True, True, part="a"), said(True, False, part="b")
    assert doubt([*agreed, *divided]) == pytest.approx(1.0)


def test_weights_and_an_empty_trace_say_nothing():
    assert doubt(said({"a": 40.0}, {"a": 41.0}, kind="aspect_weights")) == 0
    assert doubt([]) == 0
