"""The weights laboratory: aggregations of stored scores whose agreement is computed by hand."""

from core.statistics.reports.weight_laboratory import (
    EQUAL,
    FITTED,
    JUDGE,
    PEOPLE,
    LaboratoryReport,
    ScoredPair,
    laboratory_report,
)


def pair(
    number: int, first: dict[str, float], second: dict[str, float], reference: int, **values: object
) -> ScoredPair:
    return ScoredPair(f"i{number}", f"i{number}", (first, second), reference, **values)


def agreement(report: LaboratoryReport, scheme: str, less: str = "") -> float | None:
    (row,) = [row for row in report.schemes if (row.scheme, row.less) == (scheme, less)]
    return row.agreement.value


def accuracy_counts(items: int) -> list[ScoredPair]:
    """Return pairs in which people prefer the more accurate response; the other one has the higher sum in half."""
    return [
        pair(
            n, {"accuracy": 6, "style": 2 if n % 2 else 5}, {"accuracy": 5, "style": 5}, 1,
            judge_weights={"accuracy": 90.0, "style": 10.0}, people_weights={"accuracy": 100.0, "style": 0.0},
            baselines={"direct": 2 if n % 4 else 1},
        )
        for n in range(items)
    ]  # fmt: skip


def test_each_set_of_weights_has_its_agreement_and_its_difference():
    report = laboratory_report("gpt", accuracy_counts(40), resamples=200)
    # Weights of 90 and 10 give .9 - .3 > 0 in the items with the lower style, too.
    assert [agreement(report, scheme) for scheme in (EQUAL, JUDGE, PEOPLE, "direct")] == [0.5, 1.0, 1.0, 0.25]
    assert agreement(report, EQUAL, "direct") == 0.25 and agreement(report, JUDGE, EQUAL) == 0.5
    assert "the gain is from decomposing and from weighting" in report.answer


def test_fitted_weights_are_those_of_other_items():
    report = laboratory_report("gpt", accuracy_counts(40), resamples=20)
    assert agreement(report, FITTED) == 1.0 and report.unfitted == ""


def test_aspects_of_single_items_cannot_be_fitted():
    pairs = [pair(n, {f"aspect {n}": 2.0}, {f"aspect {n}": 1.0}, 1) for n in range(40)]
    report = laboratory_report("gpt", pairs, resamples=20)
    assert "share their aspects; here are 0" in report.unfitted
    assert FITTED not in {row.scheme for row in report.schemes}


def test_pairs_with_their_own_choice_of_shared_aspects_are_fitted():
    pairs = accuracy_counts(40) + [pair(100 + n, {"accuracy": 3}, {"accuracy": 2}, 1) for n in range(20)]
    report = laboratory_report("gpt", pairs, resamples=20)
    (fitted,) = [row for row in report.schemes if (row.scheme, row.less) == (FITTED, "")]
    assert fitted.agreement.items == 60


def test_few_items_allow_no_conclusion():
    assert "too few for a conclusion" in laboratory_report("gpt", accuracy_counts(8), resamples=20).answer


def test_without_a_run_of_overall_scores_decomposing_is_not_judged():
    pairs = [pair(n, {"a": 2.0}, {"a": 1.0}, 1, judge_weights={"a": 100.0}) for n in range(20)]
    report = laboratory_report("gpt", pairs, resamples=20)
    assert "decomposing cannot be judged" in report.answer
    assert agreement(report, EQUAL) == 1.0
