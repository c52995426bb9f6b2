"""What a reader should know of a judge's numbers, in words for a person."""

from core.statistics.data.estimate import Estimate
from core.statistics.measures.intervals import Resampled
from core.statistics.notes import FEW_GROUPS, FEW_ITEMS, few_groups, few_items, many

FEWEST_FOR_TEST = 30


def of_a_mean(found: Resampled, items: int) -> list[str]:
    """What to know of a mean over items."""
    if not items:
        return ["there is no item to average over"]
    if found.low is None:
        return ["every item has the same value: resampling shows no spread"]
    return [few_items()] * (items < FEW_ITEMS)


def correlation(found: Resampled, items: int, there: int, units: int) -> Estimate:
    """A correlation of a judge with people over items."""
    notes = [] if found.value is not None else ["all scores of one side are equal: nothing can be ranked"]
    if found.value is not None and found.low is None:
        notes.append("every resample gives the same value: no interval")
    if units < items and units < FEW_GROUPS:
        notes.append(few_groups(units))
    elif items < FEW_ITEMS:
        notes.append(few_items())
    return filled(found, items, there, items, notes)


def mean_of_groups(found: Resampled, kept: int, groups: int, items: int, there: int) -> Estimate:
    """A mean of the correlations within groups."""
    notes = []
    if kept < groups:
        notes.append(f"mean of {kept} of {groups} groups; the others have one item, or all scores of one side equal")
    if 0 < kept < FEW_GROUPS:
        notes.append(few_groups(kept))
    return filled(found, items, there, items, notes)


def of_systems(found: Resampled, systems: int, items: int, there: int) -> Estimate:
    """A correlation between systems' means."""
    notes = [f"{many(systems, 'system')}; systems and items were both resampled"]
    if systems < FEW_GROUPS:
        notes.append("few systems: read the interval, not the value")
    if found.value is None:
        notes = ["all systems have the same mean on one side: nothing can be ranked"]
    return filled(found, items, there, items, notes)


def of_critiques(found: Resampled, used: int, there: int) -> Estimate:
    """A score over critiques."""
    notes = []
    if used < there:
        notes.append(f"{there - used} of {there} critiques have no AIU to count, and are left out")
    if found.low is None and found.value is not None:
        notes.append("every critique has the same score: resampling shows no spread")
    elif 0 < used < FEW_ITEMS:
        notes.append(few_items("critiques"))
    return filled(found, used, there, 0, notes)


def of_a_judge(name: str, value: float | None, low: float | None, items: int, note: str) -> str:
    """What to know of a judge's number."""
    notes = [note] if note else []
    if not items:
        return "no item has both the judge's verdict and what to compare it with"
    if value is None and name.startswith("cohen_kappa"):
        notes.insert(0, "both used one and the same category: there is no variation to correct for")
    elif value is None:
        notes.insert(0, "all scores of one side are equal: nothing can be ranked")
    elif low is None:
        notes.append("every resample gives the same value: no interval")
    elif items < FEW_ITEMS:
        notes.append(few_items())
    return "; ".join(notes)


def of_modes(compared: int, tied: int) -> str:
    """What to know of ScaleEval's system-level rate."""
    if not compared:
        return "no scenario has a single most frequent value on both sides"
    notes = [f"one yes or no for each of {many(compared, 'scenario')}, so no interval"]
    if tied:
        notes.append(f"{many(tied, 'scenario')} without a single most frequent value left out")
    return "; ".join(notes)


def untested(skipped: tuple[str, ...]) -> str:
    """Why the alternative-annotator test could not be made."""
    if not skipped:
        return "no people's labels to test against"
    return f"the test needs {FEWEST_FOR_TEST} items of an annotator that others judged too; fewer: {', '.join(skipped)}"


def of_test(skipped: tuple[str, ...]) -> str:
    """Who was left out of the alternative-annotator test."""
    return f"fewer than {FEWEST_FOR_TEST} shared items: {', '.join(skipped)} left out" if skipped else ""


def of_contests(contests: list[tuple[str, bool, float | None]], skipped: tuple[str, ...]) -> str:
    """Whom the judge won against: who, whether, and p, None where the t-test claims certainty."""
    won = [rater for rater, yes, _ in contests if yes]
    notes = [f"won against {', '.join(won) if won else 'nobody'} of {len(contests)}; no interval"]
    sure = [rater for rater, _, p in contests if p is None]
    if sure:
        notes.append(f"every item came out alike against {', '.join(sure)}: a t-test cannot weigh that")
    return "; ".join([*notes, *filter(None, [of_test(skipped)])])


def of_dawid_skene(raters: int, settled: bool) -> str:
    """What to know of a Dawid-Skene accuracy."""
    notes = [f"a model's estimate from {raters} people and judges, taken to err independently; no interval"]
    return "; ".join(notes + ["it did not come to rest"] * (not settled))


def filled(found: Resampled, items: int, there: int, pairs: int, notes: list[str]) -> Estimate:
    """An estimate of one judge."""
    return Estimate(found.value, found.low, found.high, items, there, 1, pairs, found.dropped, "; ".join(notes))
