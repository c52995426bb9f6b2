"""What a published figure or table has to state: how its intervals were made, and with which versions."""

import platform
from functools import cache
from importlib.metadata import version

VERSION = "1.0.0"
# The defaults of all intervals by resampling: see core.statistics.measures.resampling.
RESAMPLES, SEED = 1_000, 0
# Of the causes of disagreements, which fit a model for each resample.
CAUSE_RESAMPLES = 400
# The libraries that compute the statistics.
PACKAGES = ("numpy", "scipy", "pandas", "krippendorff")
BOOTSTRAP = f"BCa bootstrap of items ({RESAMPLES:,} resamples, seed {SEED})"
INTERVALS = f"95 % intervals: Wilson's for shares of items, otherwise {BOOTSTRAP}; documents and dialogues as units"

WILSON = "95 % intervals: Wilson's"
CLUSTERED_T = (
    "95 % intervals: Student's t, of win rates on the logit scale, with the pairs of an item, document or dialogue as "
    "clusters"
)
PREDICTION_POWERED = (
    "Means of labels and verdicts together are prediction-powered (PPI++); a missing verdict counts as the mean of the "
    f"verdicts. {CLUSTERED_T}"
)
BIAS_TESTS = (
    "Effects are shares of decided verdicts minus one half. 95 % intervals of position: Wilson's, in both orders BCa "
    "bootstrap of pairs; of length and own family: jackknife variance with a t distribution, or both Wilson intervals "
    "(MOVER) if most pairs have one label. P-values are corrected by Holm's method over all rows"
)
PAIRED_DIFFERENCES = f"{INTERVALS}; p-values: paired bootstrap, corrected by Holm's method"
CAUSE_MODEL = (
    "Shares of the disagreements, from a model of votes and verdicts (docs/statistics.md). 95 % intervals, of this "
    "model and of one without divided people together, held the true shares in 92 to 100 % of planted studies; each "
    f"is estimated again on resampled targets ({CAUSE_RESAMPLES:,} resamples, seed {SEED}), documents and dialogues as "
    "units, and a cause is drawn for each disagreement"
)


@cache
def versions() -> dict[str, str]:
    """Return name -> version of Tiebreak, Python and the libraries that compute the statistics."""
    libraries = {package: version(package) for package in PACKAGES}
    return {"tiebreak": VERSION, "python": platform.python_version(), **libraries}


def caption(title: str, counts: list[int], unit: str = "items", method: str = INTERVALS) -> str:
    """Return the caption of a figure or table: title, n, method with its seed, and versions.

    `counts` has the n of each row; the caption has their range.
    """
    smallest, largest = min(counts, default=0), max(counts, default=0)
    ends = f"{largest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
    n = f"n = {ends} {unit}" if counts else ""
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return " ".join(f"{part.rstrip('.')}." for part in (title, n, method, f"Computed with {used}") if part)
