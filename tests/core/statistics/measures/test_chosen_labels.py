"""Whether labels exist mainly for disputed targets."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from core.statistics.measures import designs
from core.statistics.measures.designs import dispute_ratio, scenarios_without


def masks(disputed_labelled: int, disputed: int, others_labelled: int, others: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each target is labelled, and disputed."""
    labelled = np.r_[np.arange(disputed) < disputed_labelled, np.arange(others) < others_labelled]
    return labelled, np.arange(disputed + others) < disputed


ONE_STRATUM = np.zeros(600, int)


@pytest.mark.parametrize(
    ("counts", "ratio"),
    [
        ((256, 256, 0, 344), np.inf),
        ((256, 256, 30, 344), 344 / 30),
        ((60, 256, 0, 344), np.inf),
        ((256, 256, 172, 344), 2.0),
        ((256, 256, 344, 344), None),
        ((43, 256, 57, 344), None),
        ((3, 256, 0, 344), None),  # likely by chance
        ((256, 256, 200, 344), 1.72),  # a mixture of all disputed targets and most others
        ((256, 256, 290, 344), None),  # significant, but nearly of all targets
    ],
)
def test_labels_of_disputed_targets_are_found_and_others_are_not(
    counts: tuple[int, int, int, int], ratio: float | None
) -> None:
    assert dispute_ratio(*masks(*counts), ONE_STRATUM) == (ratio if ratio is None else pytest.approx(ratio))


def test_one_stratum_is_fishers_exact_test() -> None:
    for counts in ((9, 12, 8, 40), (30, 60, 80, 400), (5, 5, 1, 9)):
        labelled, disputed, others_labelled, others = counts
        table = [[labelled, disputed - labelled], [others_labelled, others - others_labelled]]
        stratum = [np.array([float(n)]) for n in (disputed + others, labelled + others_labelled, disputed, labelled)]
        expected = fisher_exact(table, alternative="greater").pvalue
        assert designs._exact_p(*stratum) == pytest.approx(expected, rel=1e-9)


def test_strata_are_summed_exactly() -> None:
    rng = np.random.default_rng(2)
    labelled, disputed, strata = rng.random(60) < 0.5, rng.random(60) < 0.4, rng.integers(0, 4, 60)
    counts = [
        np.bincount(strata[mask], minlength=4).astype(float)
        for mask in (np.ones(60, bool), labelled, disputed, labelled & disputed)
    ]
    shuffled = np.zeros(20_000)
    for place in range(shuffled.size):
        for stratum in range(4):
            own = strata == stratum
            shuffled[place] += (rng.permutation(labelled[own]) & disputed[own]).sum()
    expected = (shuffled >= counts[3].sum()).mean()
    assert designs._exact_p(*counts) == pytest.approx(expected, abs=0.015)


def test_a_judge_that_was_asked_about_labelled_targets_only_does_not_make_them_disputed() -> None:
    labelled = np.arange(600) < 100  # of no dispute: the second judge came later
    disputed = labelled & (np.arange(600) % 2 == 0)
    assert dispute_ratio(labelled, disputed, ONE_STRATUM) is not None
    assert dispute_ratio(labelled, disputed, labelled.astype(int)) is None


def test_documents_that_are_labelled_as_a_whole_are_units() -> None:
    document = np.repeat(np.arange(20), 30)
    disputed = document < 4  # the same in the whole document
    labelled = np.isin(document, [0, 1, 2, 9])
    assert dispute_ratio(labelled, disputed, ONE_STRATUM) is not None
    assert dispute_ratio(labelled, disputed, ONE_STRATUM, document) is None


@pytest.mark.parametrize("size", [20, 100, 256])
def test_at_most_one_random_sample_in_a_hundred_is_found(size: int) -> None:
    rng, found = np.random.default_rng(size), 0
    disputed = np.arange(600) < 256
    for _ in range(500):
        labelled = np.isin(np.arange(600), rng.choice(600, size, replace=False))
        found += dispute_ratio(labelled, disputed, ONE_STRATUM) is not None
    assert found <= 5


@pytest.mark.parametrize(
    ("labelled", "few"),
    [
        ((200, 0, 0), (1, 2)),
        ((200, 200, 40), (2,)),
        ((70, 60, 55), ()),
        ((3, 0, 0), ()),  # likely by chance
        ((9, 0, 0), (1, 2)),  # neither has significantly fewer, but the first has more
        ((200, 190, 180), ()),  # significant, but nearly all have labels
    ],
)
def test_scenarios_with_fewer_labels_are_found(labelled: tuple[int, int, int], few: tuple[int, ...]) -> None:
    scenario = np.repeat(np.arange(3), 200)
    has_label = np.concatenate([np.arange(200) < count for count in labelled])
    assert scenarios_without(has_label, scenario) == few
    assert scenarios_without(has_label, np.zeros(600, int)) == ()
