"""Frames of labels and opinions for tests of the reports."""

from collections.abc import Mapping

import pandas as pd

from core.labels import PREFERENCE, Scale
from core.statistics.data.dataset import Frames, build_datasets
from core.statistics.data.frames import By
from core.statistics.reports import alignment
from core.statistics.reports.alignment import AlignmentRow

COLUMNS = ["item", "scenario", "kind", "criterion", "part", "rater", "value"]
SCALES = {("preference", ""): PREFERENCE}
STARS = {("score", ""): Scale(level="ordinal", categories=(1, 2, 3, 4, 5))}
ANNOTATORS = {"a1": "1122110012", "a2": "1122120012", "a3": "1112110022"}


def make_frame(*rows: tuple) -> pd.DataFrame:
    """Return a frame of labels from (item, scenario, kind, criterion, part, rater, value)."""
    return pd.DataFrame(list(rows), columns=COLUMNS)


def frame_from_words(words: dict[str, str], kind: str = "preference", name_column: str = "rater") -> pd.DataFrame:
    """Return each name's labels, one character an item; '-' was not asked, '?' gave no verdict."""
    labels = make_frame(
        *(
            (f"i{item}", f"s{item % 2}", kind, "", None, name, None if char == "?" else int(char))
            for name, word in words.items()
            for item, char in enumerate(word)
            if char != "-"
        )
    )
    labels["value"] = labels["value"].astype(object).where(labels["value"].notna(), None)
    return labels.rename(columns={"rater": name_column})


def alignment_rows(
    labels: pd.DataFrame, opinions: pd.DataFrame, gold: pd.DataFrame | None = None, *,
    scales: Mapping[tuple[str, str], Scale], by: By = "all", resamples: int = 1000,
) -> list[AlignmentRow]:  # fmt: skip
    """Return the rows of the datasets of frames."""
    frames = Frames(labels, opinions, gold, scales)
    return alignment.alignment_rows(frames, list(build_datasets(frames, by)), by, resamples=resamples)


def alignment_by_name(
    annotators: dict[str, str], judges: dict[str, str], **options
) -> dict[tuple[str, str], AlignmentRow]:
    """Return the alignment of preferences by (judge, statistic), from `frame_from_words`."""
    labels, opinions = frame_from_words(annotators), frame_from_words(judges, name_column="judge")
    rows = alignment_rows(labels, opinions, **{"scales": SCALES, **options})
    return {(row.judge, row.statistic): row for row in rows}
