"""The targets of one kind and criterion, from frames of them alone."""

import pandas as pd

from core.labels import Scale
from core.statistics.data.dataset import Dataset, Frames, align


def build_dataset(
    kind: str, criterion: str, scale: Scale, labels: pd.DataFrame, opinions: pd.DataFrame, gold: pd.DataFrame | None
) -> Dataset:
    """Align the rows of the three frames by target."""
    return align(Frames(labels, opinions, gold, {}), kind, criterion, scale)
