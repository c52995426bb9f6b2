"""The form of a published table: rows of estimates, each with its scorer and its group."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Engine

from core.statistics.data.estimate import Estimate
from core.statistics.measures.shares import wilson_proportion
from storage import database, runs
from storage.reports import alignment, references
from storage.reports.alignment import AlignmentData
from storage.studies import Study

MEAN = "mean"
"""The group of a scorer's mean over its other groups."""


@dataclass(frozen=True)
class PublishedRow:
    """One cell of a table."""

    scorer: str
    """Who gave the values: people, a judge, a run, or a rule for a run's scores."""
    group: str
    """What the row is about: the authors of critiques, a criterion, a scenario; empty for everything."""
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    note: str = ""


@dataclass(frozen=True)
class Request:
    """The data that tables are computed from. The study is read once, when a table needs it."""

    engine: Engine
    study: Study
    reference: str | None = None
    resamples: int = 1000
    load: Callable[[], AlignmentData] | None = None
    """Returns `data`, if the caller has it already."""

    @cached_property
    def data(self) -> AlignmentData:
        """The labels, opinions and reference of the study; raises TiebreakError for an unknown reference."""
        return self.load() if self.load else alignment.load_data(self.engine, self.study, self.reference)

    @cached_property
    def reference_runs(self) -> frozenset[str]:
        """The names of the runs whose verdicts are the reference."""
        reference = self.data.reference
        if reference.type != "debate":
            return frozenset()
        with database.reading(self.engine) as session:
            ids = references.debate_run_ids(session, self.study.id, reference.name)
            return frozenset(run.name for run in runs.of_study(session, self.study.id) if run.id in ids)


@dataclass(frozen=True)
class PublishedTable:
    """A table or figure of a paper."""

    name: str
    """As on the command line: "metacritique-5", "scaleeval-figure-3"."""
    paper: str
    title: str
    question: str
    """What it answers, in one sentence."""
    needs: str
    """What a study has to have for it."""
    rows: Callable[[Request], Sequence[PublishedRow]]
    has_reference: bool = True
    """Whether the chosen reference counts; some tables have one of their own, or none."""
    against: bool = True
    """Whether values are compared with that reference."""


def from_estimate(scorer: str, group: str, statistic: str, estimate: Estimate, note: str = "") -> PublishedRow:
    """Return an estimate as a row."""
    notes = "; ".join(filter(None, (note, estimate.reason)))
    return PublishedRow(
        scorer, group, statistic, estimate.value, estimate.low, estimate.high, estimate.items, notes
    )  # fmt: skip


def share(scorer: str, group: str, statistic: str, hits: int, items: int, note: str = "") -> PublishedRow:
    """Return a share of items as a row, with Wilson's interval."""
    value, low, high = wilson_proportion(hits, items)
    return PublishedRow(scorer, group, statistic, value, low, high, items, note)


def mean_row(rows: Sequence[PublishedRow]) -> PublishedRow | None:
    """Return the unweighted mean of a scorer's rows, as papers average columns; None if one has no value."""
    values = [row.value for row in rows if row.value is not None]
    if len(rows) < 2 or len(values) < len(rows):
        return None
    note = f"mean of {len(rows)} rows; the papers give no interval"
    mean, items = sum(values) / len(values), sum(row.items for row in rows)
    return PublishedRow(rows[0].scorer, MEAN, rows[0].statistic, mean, None, None, items, note)
