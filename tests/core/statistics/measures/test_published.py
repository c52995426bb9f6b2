"""Published figures of the statistics about judges; each names where it stands."""

import numpy as np
import pytest

from core.statistics.measures import bradley_terry, comparison, compositions, rankings


def test_kendalls_w_is_the_nag_librarys_example():
    """NAG Library routine g08daf, example: W = 0.828 (three rankings of ten, with ties)."""
    rankings_of_three = np.array(
        [
            [1.0, 4.5, 2.0, 4.5, 3.0, 7.5, 6.0, 9.0, 7.5, 10.0],
            [2.5, 1.0, 2.5, 4.5, 4.5, 8.0, 9.0, 6.5, 10.0, 6.5],
            [2.0, 1.0, 4.5, 4.5, 4.5, 4.5, 8.0, 8.0, 8.0, 10.0],
        ]
    )
    assert compositions.kendall_w(rankings_of_three) == pytest.approx(0.828, abs=5e-4)


def test_williams_is_bruceRs_example():
    """R package bruceR, cor_diff(r1=.20, r2=.45, n=100, rcov=.80): t(97) = -4.56, p = 1e-05."""
    t, p = comparison.williams(0.20, 0.45, 0.80, 100)
    assert t == pytest.approx(-4.56, abs=0.005)
    assert p == pytest.approx(1e-5, abs=5e-6)


JOURNALS = {  # cited, citing: Stigler 1994, in Agresti 2002 p. 448 and R's BradleyTerry2
    ("Biometrika", "Comm Statist"): (730, 33),
    ("Biometrika", "JASA"): (498, 320),
    ("Biometrika", "JRSS-B"): (221, 284),
    ("Comm Statist", "JASA"): (68, 813),
    ("Comm Statist", "JRSS-B"): (17, 276),
    ("JASA", "JRSS-B"): (142, 325),
}
BASEBALL = np.array(  # American League 1987, Agresti 2002 table 10.10
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ],
    float,
)


def test_bradley_terry_rates_the_statistics_journals_as_published():
    names = ["Biometrika", "Comm Statist", "JASA", "JRSS-B"]
    wins = np.zeros((4, 4))
    for (one, other), (won, lost) in JOURNALS.items():
        wins[names.index(one), names.index(other)] = won
        wins[names.index(other), names.index(one)] = lost
    theta = bradley_terry.strengths(wins[None])[0]
    assert (theta - theta[0])[1:] == pytest.approx([-2.94907, -0.47957, 0.26895], abs=5e-5)


def test_bradley_terry_rates_the_american_league_as_published():
    theta = bradley_terry.strengths(BASEBALL[None])[0]
    assert theta - theta[-1] == pytest.approx([1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0], abs=5e-4)


def test_p_values_are_corrected_as_rs_p_adjust_does():
    """R: p.adjust(c(.01, .04, .03, .005), method) for "holm", "BH" and "BY"."""
    p = [0.01, 0.04, 0.03, 0.005]
    assert comparison.corrected(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert comparison.corrected(p, "benjamini-hochberg") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    by = [0.041666667, 0.083333333, 0.083333333, 0.041666667]
    assert comparison.corrected(p, "benjamini-yekutieli") == pytest.approx(by, abs=1e-8)


def test_disjoint_top_k_lists_are_as_far_as_fagin_says():
    """Fagin et al. 2003, section 3: disjoint lists of k are k^2 + p k (k - 1) apart."""
    for k in (1, 3, 5):
        for p in (0.0, 0.5, 1.0):
            apart = rankings.top_k_distance(range(k), range(k, 2 * k), p)
            assert apart == pytest.approx(k**2 + p * k * (k - 1))
