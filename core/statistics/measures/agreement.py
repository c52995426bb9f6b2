"""Agreement between annotators as estimates: value, 95 % interval, the data behind it, and caveats.

The formulas are in `coefficients` (many raters), `pairwise` (two raters) and `continuous` (numbers); here they are
evaluated on the same resamples.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import krippendorff
import numpy as np

from core.statistics import catalogue, notes
from core.statistics.data.arrays import Codes, Estimate, Floats, Ints, normal_quantile, students_t_quantile
from core.statistics.data.patterns import Patterns, distinct_patterns, distinct_scores
from core.statistics.data.ratings import Ratings, category_numbers
from core.statistics.measures import coefficients, continuous, pairwise
from core.statistics.measures.pairwise import CORRELATIONS, MAX_TABLE_CELLS, TableStatistic, pair_tables
from core.statistics.measures.resampling import Family, Resampled, Statistic, bootstrap, mean_by_items, stack_statistics

# Up to this many categories two raters are compared by their K x K table; above, it is larger than the data.
MAX_TABLE_CATEGORIES = 20
# The largest items x K x K array that the krippendorff package is asked to build: 800 kB, 4 ms.
MAX_PACKAGE_CELLS = 100_000

# Statistics that ignore which rater chose which category, from counts (P, K) and the categories' numbers (K,).
COUNT_STATISTICS: Mapping[str, Callable[[Floats, Floats], Statistic]] = {
    entry.id: entry.of_counts for entry in catalogue.ENTRIES if entry.of_counts is not None
}

# Statistics of two raters, from the categories' numbers (K,).
TABLE_STATISTICS: Mapping[str, Callable[[Floats], TableStatistic]] = {
    entry.id: entry.of_table for entry in catalogue.ENTRIES if entry.of_table is not None
}


def estimate_statistics(ratings: Ratings, names: Sequence[str], *, resamples: int = 1000) -> dict[str, Estimate]:
    """Estimate the named statistics, in this order; each is in `COUNT_STATISTICS` or in `TABLE_STATISTICS`."""
    numbers = category_numbers(ratings.categories)
    patterns = distinct_patterns(ratings)
    by_counts, by_rows = patterns.with_min_labels(1).merged_by_counts(), patterns.with_min_labels(2)
    rows = np.where(patterns.codes >= 0, patterns.codes, np.nan)
    summary = notes.summarize(ratings, rows, patterns.units.frequencies)
    results: dict[str, Resampled] = {}
    count_names = [name for name in names if name in COUNT_STATISTICS]
    if count_names:
        family = stack_statistics([COUNT_STATISTICS[name](by_counts.counts, numbers) for name in count_names])
        results |= zip(count_names, bootstrap(family, by_counts.units, resamples), strict=True)
    pair_names = [name for name in names if name not in COUNT_STATISTICS]
    if pair_names:
        family = pair_statistics(by_rows.codes, numbers, pair_names)
        of_pairs = 0 if summary.shares_few_items else resamples
        results |= zip(pair_names, bootstrap(family, by_rows.units, of_pairs), strict=True)
    results |= {name: alpha_from_package(name, result, by_counts, numbers) for name, result in results.items()}
    effective = by_rows.units.effective(np.ones(len(by_rows.codes), bool))
    return {name: notes.agreement_estimate(name, results[name], summary, effective) for name in names}


def pair_statistics(codes: Codes, numbers: Floats, names: Sequence[str]) -> Family:
    """Return the mean over rater pairs of each named statistic, by tables if categories are few."""
    if numbers.size <= MAX_TABLE_CATEGORIES:
        return pairwise.mean_over_pairs(codes, numbers.size, [TABLE_STATISTICS[name](numbers) for name in names])
    return stack_statistics([pair_statistic_without_tables(codes, numbers, name) for name in names])


def pair_statistic_without_tables(codes: Codes, numbers: Floats, name: str) -> Statistic:
    """Return the mean of a statistic over rater pairs, if a table of categories would be larger than the items."""
    if name in CORRELATIONS:
        scores = np.where(codes < 0, np.nan, numbers[codes] if name == "pearson" else codes)
        family = continuous.mean_over_pairs(scores, [name])
        return lambda weights: family(weights)[0]
    weighting = {
        "cohen_kappa_linear": coefficients.linear_weights,
        "cohen_kappa_quadratic": coefficients.quadratic_weights,
    }
    agreement_weights = weighting[name](numbers.size) if name in weighting else None
    pairs = pairwise.overlapping_pairs(codes)
    items = [np.asarray((codes[:, pair] >= 0).all(axis=1)) for pair in pairs]
    kappas = [pairwise.cohen_kappa_statistic(codes[:, pair], numbers.size, agreement_weights) for pair in pairs]
    return mean_by_items(kappas, items)


def alpha_from_package(name: str, result: Resampled, patterns: Patterns, numbers: Floats) -> Resampled:
    """Return alpha with its value from the krippendorff package; other statistics and large data unchanged.

    The package builds an items x K x K array, so many items or categories use the closed form of `coefficients`,
    which equals it to 1e-9.
    """
    applies = name.startswith("krippendorff_alpha_") and result.value is not None and patterns.units.draw is None
    if not applies or patterns.units.frequencies.sum() * numbers.size**2 > MAX_PACKAGE_CELLS:
        return result
    counts_by_item = np.repeat(patterns.counts, patterns.units.frequencies.astype(int), axis=0)
    level = name.removeprefix("krippendorff_alpha_")
    value = krippendorff.alpha(value_counts=counts_by_item, value_domain=numbers, level_of_measurement=level)
    return replace(result, value=float(value))


def estimate_score_statistics(scores: Ratings, *, resamples: int = 1000) -> dict[str, Estimate]:
    """Estimate the statistics of numbers without categories, `catalogue.of_numbers`."""
    names = catalogue.of_numbers()
    rows, units = distinct_scores(scores.labels, scores.groups, scores.sample)
    summary = notes.summarize(scores, rows, units.frequencies)
    if not summary.paired_items:
        undefined = Resampled(None, None, None, 0)
        return {name: notes.agreement_estimate(name, undefined, summary) for name in names}
    alphas = stack_statistics([continuous.alpha_ordinal(rows), continuous.alpha_interval(rows)])
    correlations = continuous.mean_over_pairs(rows, CORRELATIONS)

    def family(weights: Floats) -> Floats:
        return np.concatenate([alphas(weights), correlations(weights)])

    results = bootstrap(family, units, resamples)
    return {name: notes.agreement_estimate(name, result, summary) for name, result in zip(names, results, strict=True)}


# Every statistic of every two raters without intervals, computed for thousands of pairs at once.
#
# From the K x K tables of the pairs, in chunks of bounded memory. The values are those of `agreement` on the items
# that both raters labelled.


def pair_values(codes: Codes, numbers: Floats, names: Sequence[str], pairs: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Yield the shared items (chunk,) and the values (statistics, chunk) of rater pairs (pairs, 2), in their order.

    `codes` (N, R) are the labels of all items, -1 missing; `numbers` (K,) are those of the categories. A value is nan
    if it is undefined.
    """
    chunk = max(1, MAX_TABLE_CELLS // max(numbers.size**2, codes.shape[0]))
    weights = np.ones((codes.shape[0], 1))
    # Each cell of a table is a pattern of two labels, so the tables are the weights of these patterns.
    labels = np.eye(numbers.size)
    counts = (labels[:, None] + labels).reshape(-1, numbers.size)
    for start in range(0, len(pairs), chunk):
        tables = pair_tables(codes, numbers.size, pairs[start : start + chunk], weights)
        of_cells = tables.cells.reshape(len(counts), -1).T
        values = [
            COUNT_STATISTICS[name](counts, numbers)(of_cells)
            if name in COUNT_STATISTICS
            else TABLE_STATISTICS[name](numbers)(tables)[:, 0]
            for name in names
        ]
        yield tables.n[:, 0].astype(np.int64), np.stack(values)


# Intervals for annotators as a sample of the people who could label, instead of these annotators alone.


# With fewer annotators their variance is not known well enough for an interval, see docs/statistics.md.
MIN_RATERS = 5
FEW_RATERS = f"no interval with annotators as a sample: fewer than {MIN_RATERS} annotators"
AS_SAMPLE = "annotators as a sample"


def with_raters_as_sample(ratings: Ratings, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """Return estimates of these ratings whose intervals are of items and raters drawn from larger populations.

    The variance is that of the interval over items, half its width over 1.96 squared, plus the jackknife variance over
    raters, (R - 1) / R sum (theta_r - mean theta)^2 with theta_r the statistic without rater r (Efron & Stein 1981).
    Their sum counts the interaction twice, so it is not too small. The ends are those of Student's t with R - 1 degrees
    of freedom, at most 1.
    """
    if len(ratings.raters) < MIN_RATERS:
        few = {name: notes.join_notes(FEW_RATERS, one.reason) for name, one in estimates.items()}
        return {name: replace(one, low=None, high=None, reason=few[name]) for name, one in estimates.items()}
    without = _without_each_rater(ratings, list(estimates))
    return {name: _widened(one, without[:, place]) for place, (name, one) in enumerate(estimates.items())}


def _without_each_rater(ratings: Ratings, names: Sequence[str]) -> Floats:
    """Return the statistics without each rater, (R, number of names); nan if undefined."""
    values = np.full((len(ratings.raters), len(names)), np.nan)
    for place, rater in enumerate(ratings.raters):
        others = ratings.select(raters=[name for name in ratings.raters if name != rater])
        if not others.categories:
            found = estimate_score_statistics(others, resamples=0)
        else:
            found = estimate_statistics(others, names, resamples=0)
        values[place] = [np.nan if found[name].value is None else found[name].value for name in names]
    return values


def _widened(estimate: Estimate, without: Floats) -> Estimate:
    raters = without.size
    if estimate.value is None or estimate.low is None or estimate.high is None or np.isnan(without).any():
        return replace(estimate, low=None, high=None)
    of_items = ((estimate.high - estimate.low) / 2 / normal_quantile(0.975)) ** 2
    of_raters = (raters - 1) / raters * float(((without - without.mean()) ** 2).sum())
    half = students_t_quantile(raters - 1, 0.975) * (of_items + of_raters) ** 0.5
    low, high = max(-1.0, estimate.value - half), min(1.0, estimate.value + half)
    return replace(estimate, low=low, high=high, reason=notes.join_notes(AS_SAMPLE, estimate.reason))
