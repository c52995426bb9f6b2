"""Intervals of agreement with annotators as a sample."""

import numpy as np

from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import AS_SAMPLE, FEW_RATERS, estimate_statistics, with_raters_as_sample
from tests.bench.bench_rater_sample import draw, ratings


def estimates(raters: int) -> tuple[Ratings, dict[str, object]]:
    drawn = ratings(draw(np.random.default_rng(3), raters))
    return drawn, estimate_statistics(drawn, ("fleiss_kappa", "percent"), resamples=200)  # type: ignore[return-value]


def test_intervals_for_other_annotators_are_wider() -> None:
    drawn, fixed = estimates(7)
    for name, one in with_raters_as_sample(drawn, fixed).items():  # type: ignore[arg-type]
        before = fixed[name]
        assert one.value == before.value and one.reason.startswith(AS_SAMPLE)  # type: ignore[attr-defined]
        assert one.low is not None and one.low < before.low and one.high > before.high  # type: ignore[attr-defined,operator]


def test_four_annotators_are_too_few_for_such_an_interval() -> None:
    found = with_raters_as_sample(*estimates(4))["fleiss_kappa"]  # type: ignore[arg-type]
    assert found.value is not None and (found.low, found.high) == (None, None) and found.reason.startswith(FEW_RATERS)


def test_the_interval_covers_where_that_of_fixed_annotators_does_not() -> None:
    rng = np.random.default_rng(1)
    truth = estimate_statistics(ratings(draw(rng, 500, 2000)), ("fleiss_kappa",), resamples=0)["fleiss_kappa"].value
    assert truth is not None
    covered = {"fixed": 0, "sample": 0}
    for _ in range(60):
        drawn = ratings(draw(rng, 5))
        fixed = estimate_statistics(drawn, ("fleiss_kappa",), resamples=100)
        for kind, found in (("fixed", fixed), ("sample", with_raters_as_sample(drawn, fixed))):
            one = found["fleiss_kappa"]
            covered[kind] += one.low <= truth <= one.high  # type: ignore[operator]
    assert covered["sample"] >= 54 and covered["fixed"] <= 50


def test_agreement_of_one_item_has_no_value_beyond_chance() -> None:
    from core.labels import PREFERENCE
    from core.statistics.reports.agreement import LabelGroup, group_statistics

    one = Ratings(("i",), ("ann", "ben"), np.array([[1, 2]], np.int16), (0, 1, 2))
    found = group_statistics(LabelGroup("preference", "", "all", PREFERENCE, one), 100, 0)
    assert found["percent"].value == 0
    for name in ("fleiss_kappa", "cohen_kappa", "krippendorff_alpha_nominal", "gwet_ac1"):
        assert found[name].value is None and "not enough items to say" in found[name].reason
