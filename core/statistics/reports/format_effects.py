"""How far a judge depends on the wording of the criterion: the same judge with several formats, paired by target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.statistics.data.dataset import Dataset
from core.statistics.measures.comparison import Comparison, correct_p_values, paired_comparison
from core.statistics.measures.shares import selected_groups, share_estimate

LEVEL = 0.05


@dataclass(frozen=True)
class FormatPair:
    """A judge with two formats of the criterion, under the names of the dataset's judges."""

    judge: str
    """The name that both have in common."""
    base: str
    format: str
    base_name: str
    """In the dataset: the judge with the base format."""
    name: str


@dataclass(frozen=True)
class FormatRow:
    """The effect of one format on one judge, on the targets that it was asked about with both."""

    judge: str
    base: str
    format: str
    base_accuracy: float | None
    """Share of the targets on which the verdict equals the reference; no verdict is an error (ScaleEval, eq. 2)."""
    accuracy: float | None
    effect: float | None
    """Accuracy with the format minus that with the base format."""
    low: float | None
    high: float | None
    targets: int
    """With a reference."""
    changed: float | None
    """Share of the targets with another verdict; a verdict instead of none is another one."""
    changed_low: float | None
    changed_high: float | None
    judged: int
    """Targets of `changed`, with or without a reference."""
    base_no_verdict: int
    no_verdict: int
    """Of the judged targets."""
    p: float | None
    p_corrected: float | None = None
    """Holm's, over all judges and formats."""
    reason: str = ""

    @property
    def found(self) -> bool:
        """Whether the corrected p is under 0.05."""
        return self.p_corrected is not None and self.p_corrected < LEVEL


def format_rows(
    dataset: Dataset, pairs: Sequence[FormatPair], *, resamples: int = 1000, seed: int = 0
) -> list[FormatRow]:
    """Return the effect of each format, with Holm's correction over those that could be tested."""
    rows = [_format_row(dataset, pair, resamples, seed) for pair in pairs]
    corrected = iter(correct_p_values([row.p for row in rows if row.p is not None]))
    return [row if row.p is None else replace(row, p_corrected=next(corrected)) for row in rows]


def summarize(rows: Sequence[FormatRow]) -> str:
    """Return one line: the formats that change an accuracy, and the number of tested ones."""
    tested = sum(row.p_corrected is not None for row in rows)
    found = sorted((row for row in rows if row.found), key=lambda row: -abs(row.effect or 0))
    if not tested:
        return "No format of the criterion could be tested."
    if not found:
        return f"No format of the criterion changes an accuracy in {tested} tests (Holm-corrected p under {LEVEL:g})."
    texts = [f"{row.judge} with the format {row.format}: {row.effect or 0:+.2f}" for row in found[:3]]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{'; '.join(texts)}{more} in accuracy. {len(found)} of {tested} tests found a difference."


def _format_row(dataset: Dataset, pair: FormatPair, resamples: int, seed: int) -> FormatRow:
    base, other = dataset.judges[pair.base_name], dataset.judges[pair.name]
    judged = base.asked & other.asked
    used = judged & ~np.isnan(dataset.gold)
    missing = np.isnan(base.values) & np.isnan(other.values)
    differs = ((base.values != other.values) & ~missing)[judged]
    base_right, right = ((opinions.values == dataset.gold).astype(float) for opinions in (base, other))
    differences = np.where(used, right - base_right, np.nan)
    compared = _compare(dataset, pair, differences, resamples, seed)
    share = share_estimate(differs, selected_groups(dataset.ratings.groups, judged))
    return FormatRow(
        pair.judge, pair.base, pair.format,
        float(base_right[used].mean()) if used.any() else None, float(right[used].mean()) if used.any() else None,
        compared.difference, compared.low, compared.high, int(used.sum()),
        share.value, share.low, share.high, share.items,
        int(np.isnan(base.values[judged]).sum()), int(np.isnan(other.values[judged]).sum()),
        compared.p_bootstrap, reason=compared.reason,
    )  # fmt: skip


def _compare(
    dataset: Dataset, pair: FormatPair, differences: "np.typing.NDArray[np.float64]", resamples: int, seed: int
) -> Comparison:
    return paired_comparison(pair.name, pair.base_name, differences, dataset.ratings.groups, resamples, seed)
