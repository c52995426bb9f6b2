"""Where a judge differs from people more often than elsewhere: one test for each slice of the targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics.data.arrays import Bools
from core.statistics.measures.bias import fisher_p
from core.statistics.measures.comparison import with_corrected
from core.statistics.measures.means import effective_counts, wilson_interval

# A feature and its value: ("scenario", "math").
Slice = tuple[str, str]
# No test of slices with fewer targets, inside or outside.
MIN_TARGETS = 5
LEVEL = 0.05


@dataclass(frozen=True)
class SliceRow:
    """How often a judge differs from people in a slice, and outside of it."""

    judge: str
    slice: Slice
    differing: int
    targets: int
    """Targets of the slice."""
    differing_outside: int
    targets_outside: int
    excess: float
    """The share of differing targets in the slice minus that outside."""
    low: float
    high: float
    p: float
    p_corrected: float = 1.0
    """Benjamini & Hochberg's, over all slices of all judges."""
    population: str = "all targets"
    """The targets that the labels are of: each counts once, however it was drawn."""

    @property
    def found(self) -> bool:
        """Whether the corrected p is under 0.05."""
        return self.p_corrected < LEVEL


def slice_rows(
    judge: str, differs: Bools, slices: Mapping[Slice, tuple[Bools, Bools]], groups: Sequence[str] | None = None
) -> list[SliceRow]:
    """Compare each slice of a judge's targets with the others; `differs` (N,) is whether the verdict differs.

    `slices` has (N,) masks: the targets in the slice, and those on which the feature is known. Fisher's exact test;
    the interval of the difference is from both Wilson intervals (Newcombe 1998, method 10). Counts of documents or
    dialogues are divided by their design effect. p-values are not corrected here: see `correct_rows`.
    """
    names = None if groups is None else np.array(groups, object)
    rows = []
    for key, (inside, known) in slices.items():
        masks = (inside & known, known & ~inside)
        if min(int(mask.sum()) for mask in masks) < MIN_TARGETS:
            continue
        parts = [effective_counts(differs[mask], None if names is None else names[mask].tolist()) for mask in masks]
        (share, other), limits = [hits / n for hits, n in parts], [wilson_interval(hits, n) for hits, n in parts]
        (low, high), (other_low, other_high) = limits
        excess = share - other
        (hits, n), (other_hits, other_n) = [(round(hits), round(n)) for hits, n in parts]
        counts = [int(count) for mask in masks for count in (differs[mask].sum(), mask.sum())]
        rows.append(
            SliceRow(
                judge, key, counts[0], counts[1], counts[2], counts[3], excess,
                excess - float(np.hypot(share - low, other_high - other)),
                excess + float(np.hypot(high - share, other - other_low)),
                fisher_p(hits, n, other_hits, other_n),
            )
        )  # fmt: skip
    return rows


def correct_rows(rows: Sequence[SliceRow]) -> list[SliceRow]:
    """Return the rows with corrected p-values, the smallest first."""
    corrected = with_corrected(rows, [row.p for row in rows], "benjamini-hochberg")
    return sorted(corrected, key=lambda row: (row.p_corrected, row.p))
