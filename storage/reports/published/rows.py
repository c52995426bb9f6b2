"""The form of a published table: rows of estimates, each with its scorer and its group."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.cell_table import CellTable, Entry
from core.formats.tables import MISSING, Column
from core.labels import Target, Value
from core.statistics.data.arrays import Estimate
from core.statistics.data.dataset import Frames
from core.statistics.measures.means import share_estimate
from core.statistics.reports.agreement import AgreementRow
from core.statistics.reports.alignment import AlignmentRow
from core.statistics.reports.experiments import CellResult, RunOfCell, cell_statistics
from core.wording import format_count, format_estimate, join_notes
from storage.db import connections
from storage.labels import targets
from storage.reports import alignment, references
from storage.reports.alignment import AlignmentData
from storage.reports.chosen_labels import ALL_TARGETS, Population
from storage.reports.critiques import Leaderboard, leaderboard
from storage.reports.experiments import ALIASES
from storage.runs import runs
from storage.studies.studies import Study

# Which values of a table are computed from labels of people, or from the reference.
LabelUse = Literal["every value", "values of people", "no value"]
# What has a value with its interval, its items and its reason.
Found = Estimate | AgreementRow | AlignmentRow | CellResult
# The group of a scorer's mean over its other groups.
MEAN = "mean"
# The scorer of the numbers of a data set itself.
DATA_SET = "data set"


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
    population: Population = ALL_TARGETS
    """The targets that the value is of."""
    weighted: bool = False
    """Whether labels count by their design."""
    published: float | None = None
    """The figure that the paper prints in this place; None if it prints none."""
    source: str = ""
    """Its table."""
    why: str = ""
    """Why the value differs from the published one, as docs/papers/values.yaml states."""

    @property
    def difference(self) -> tuple[float | None, float | None, float | None]:
        """This value less the published one, with the interval of this value: the paper gives none."""
        if self.value is None or self.published is None:
            return None, None, None
        low, high = (None if end is None else end - self.published for end in (self.low, self.high))
        return self.value - self.published, low, high


def figure_text(value: float | None) -> str:
    """Return a published figure; empty if there is none."""
    return "" if value is None else f"{value:.2e}" if 0 < abs(value) < 0.001 else f"{value:.3f}"


COLUMNS = (
    Column("Scorer", "scorer", key="scorer"),
    Column("Group", "group", key="group"),
    Column("Statistic", "statistic", key="statistic"),
    Column("Value", "value low high", "estimate", "value low high"),
    Column("n", "items", "count", "items"),
    Column("Published", lambda row: figure_text(row.published), "figure", "published"),
    Column(
        "Here less published", lambda row: row.difference, "difference", "difference difference_low difference_high"
    ),
    Column("Why", "why", key="why"),
    Column("Note", "note", key="note"),
    Column("Population", "population", key="population"),
)


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
    def people(self) -> AlignmentData:
        """The same with people's gold as the reference, for tables without a choice of it."""
        is_gold = self.data.reference.type == "gold"
        return self.data if is_gold else alignment.load_data(self.engine, self.study, "gold")

    @cached_property
    def leaderboard(self) -> Leaderboard:
        """The scores of critiques, by people's gold on the targets that figures are of."""
        return leaderboard(self.engine, self.study, choices=self.people.choices, resamples=self.resamples)

    @cached_property
    def preferences(self) -> Mapping[Target, Value]:
        """The preferences between responses of the reference."""
        gold = self.data.gold[(self.data.gold["kind"] == "preference") & self.data.gold["value"].notna()]
        return dict(zip(targets.of_frame(gold), gold["value"], strict=True))

    @cached_property
    def reference_runs(self) -> frozenset[str]:
        """The names of the runs whose verdicts are the reference."""
        reference = self.data.reference
        if reference.type != "debate":
            return frozenset()
        with connections.reading(self.engine) as session:
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
    labels: LabelUse = "every value"
    kinds: tuple[str, ...] = ()
    """Kinds of values of which a study has to have one; "kind/criterion" if only this criterion counts."""


def from_estimate(
    scorer: str, group: str, statistic: str, found: Found, note: str = "", *, weighted: bool = False
) -> PublishedRow:
    """Return an estimate, or a row of another report, as a row."""
    notes = join_notes(note, found.reason)
    return PublishedRow(
        scorer, group, statistic, found.value, found.low, found.high, found.items, notes, weighted=weighted
    )


def evaluators(request: Request, judges: Iterable[str]) -> dict[str, str]:
    """Return judge -> its name, which is the same for all repeats of a run of an experiment."""
    with connections.reading(request.engine) as session:
        names = {f" · {run.name}": f" · {run.name_of_cell}" for run in runs.of_study(session, request.study.id)}
    ends = {judge: max((name for name in names if judge.endswith(name)), key=len, default="") for judge in judges}
    return {judge: judge.removesuffix(end) + names.get(end, "") for judge, end in ends.items()}


def mean_rows(
    frames: Frames, runs_of: Mapping[int, RunOfCell], statistics: Mapping[str, str], resamples: int, note: str = ""
) -> list[PublishedRow]:
    """Return the means of statistics over the repeats of each scorer; frames and runs as in `cell_statistics`.

    `statistics` has the titles by name. With several repeats the note has their number and standard deviation.
    """
    found = cell_statistics(frames, runs_of, resamples=resamples, wanted=statistics)
    return [
        from_estimate(cell.levels[0], cell.criterion, title, cell, join_notes(note, _deviation(cell)), weighted=True)
        for statistic, title in statistics.items()
        for cell in found.get(statistic, ())
    ]


def _deviation(cell: CellResult) -> str:
    if cell.repeats < 2:
        return ""
    deviation = "" if cell.deviation is None else f", standard deviation {cell.deviation:.3f}"
    items = sorted({*cell.items_of_repeats})
    of_repeats = f", {items[0]:,} to {items[-1]:,} items each" if len(items) > 1 else ""
    return f"mean of {cell.repeats} repeats{deviation}{of_repeats}"


def share(
    scorer: str, group: str, statistic: str, hits: Sequence[bool], items: Sequence[str], note: str = ""
) -> PublishedRow:
    """Return a share of observations (N,) of `items` (N,) as a row, with an interval over items.

    The repeats, criteria and setups of an item are not independent: n is the number of items, and the note has that of
    the observations if they are more.
    """
    n = len({*items})
    counts = f"{format_count(len(hits), 'observation')} of {format_count(n, 'item')}" if n < len(hits) else ""
    row = from_estimate(scorer, group, statistic, share_estimate(hits, items), "; ".join(filter(None, (note, counts))))
    return replace(row, items=n)


def with_mean(rows: Iterable[PublishedRow], items: int = 0) -> list[PublishedRow]:
    """Return a scorer's rows with their unweighted mean, as papers average columns, if several have values.

    `items` is the number of items of all rows; without it, the rows are of the same items.
    """
    own = list(rows)
    values = [row.value for row in own if row.value is not None]
    if len(own) < 2 or len(values) < len(own):
        return own
    note = f"mean of {len(own)} rows; the papers give no interval"
    mean, most = sum(values) / len(values), max(row.items for row in own)
    return [*own, PublishedRow(own[0].scorer, MEAN, own[0].statistic, mean, None, None, items or most, note)]


def reasons(rows: Sequence[PublishedRow]) -> list[str]:
    """Return the tables of the published figures of rows, each with the reasons of the differences."""
    found = dict.fromkeys((row.source, row.why) for row in rows if row.published is not None)
    return [f"Published: {source}.{f' Why it differs: {why}.' if why else ''}" for source, why in found]


def summarize(rows: Sequence[PublishedRow]) -> str:
    """Return the highest and the lowest value of rows of one statistic and group."""
    if not rows:
        return "No value is defined: the notes in the table have the reasons."
    ranked = sorted(rows, key=lambda row: -(row.value or 0.0))
    about = f" · {rows[0].group}" if rows[0].group else ""
    values = [
        f"{row.scorer} {format_estimate(row.value, row.low, row.high)} (n {row.items:,})"
        for row in (ranked[0], *ranked[1:][-1:])
    ]
    ends = f"highest {values[0]}, lowest {values[-1]}, of {len(rows)}" if len(rows) > 1 else values[0]
    return f"{rows[0].statistic}{about}: {ends}."


# Published tables in the layout of their papers: rows and columns instead of one line for each cell.

# What rows and columns can be.
FIELDS = ("scorer", "group", "statistic")


def layout(
    rows: Sequence[PublishedRow],
    row_fields: Sequence[str] | None,
    column_fields: Sequence[str] | None,
    statistic: str | None = None,
) -> CellTable:
    """Return the rows of a published table with FIELDS as rows and columns, by default scorers in the rows.

    `statistic` selects one or, separated by commas, several: columns, if they have no other place. Raises TiebreakError
    for an unknown field or statistic, and for a layout in which two values would have the same place.
    """
    rows = select(rows, statistic)
    chosen = tuple(row_fields or (name for name in FIELDS if name not in (column_fields or FIELDS[1:])))
    columns = tuple(column_fields or (name for name in FIELDS if name not in chosen))
    if statistic is not None and "statistic" not in (*chosen, *columns) and len({row.statistic for row in rows}) > 1:
        columns = (*columns, "statistic")  # several were asked for
    for name in (*chosen, *columns):
        if name not in FIELDS:
            raise TiebreakError(f"A published table has no {name!r}; rows and columns are of {', '.join(FIELDS)}.")
    places: dict[tuple[tuple[str, ...], tuple[str, ...]], Entry] = {}
    remarks: dict[tuple[str, ...], list[PublishedRow]] = {}
    for row in rows:
        place = tuple(_key(row, chosen)), tuple(_key(row, columns))
        if place in places:
            raise TiebreakError(f"Two values of {row.scorer!r} have the same place; name more rows or columns.")
        places[place] = Entry(row.value, None, row.low, row.high, 1)
        remarks.setdefault(place[0], []).append(row)
    labels = list(dict.fromkeys(place[0] for place in places))
    headings = list(dict.fromkeys(place[1] for place in places))
    lines = tuple((label, tuple(places.get((label, heading)) for heading in headings)) for label in labels)
    names = tuple(" · ".join(filter(None, heading)) or "value" for heading in headings)
    return CellTable(chosen, names, lines, (), remarks=_remarks(list(remarks.values()), columns))


def _remarks(lines: Sequence[Sequence[PublishedRow]], columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the published figures, populations and notes of the values of each line, as columns of a table.

    Columns that say nothing are left out. A line with several values has the name of the column before each figure.
    """
    populations = tuple("; ".join(dict.fromkeys(row.population for row in line)) for line in lines)
    notes = tuple("; ".join(dict.fromkeys(row.note for row in line if row.note)) for line in lines)
    found = {"population": populations} if {*populations} - {ALL_TARGETS} else {}
    found |= {"note": notes} if any(notes) else {}
    if any(row.published is not None for line in lines for row in line):
        found["published"] = tuple(_figures(line, columns, lambda row: figure_text(row.published)) for line in lines)
        found["difference"] = tuple(_figures(line, columns, lambda row: _signed(row.difference[0])) for line in lines)
        for name in ("source", "why"):
            texts = [[getattr(row, name) for row in line if row.published is not None] for line in lines]
            found[name] = tuple("; ".join(dict.fromkeys(filter(None, of_line))) for of_line in texts)
    return found


def _figures(line: Sequence[PublishedRow], columns: Sequence[str], text: Callable[[PublishedRow], str]) -> str:
    texts = {" · ".join(filter(None, _key(row, columns))): text(row) for row in line if row.published is not None}
    return "; ".join(f"{name} {figure}" if len(line) > 1 else figure for name, figure in texts.items())


def _signed(difference: float | None) -> str:
    return MISSING if difference is None else f"{difference:+.3f}"


def select(rows: Sequence[PublishedRow], statistic: str | None) -> Sequence[PublishedRow]:
    """Return the rows of one or, separated by commas, several statistics; raises TiebreakError for an unknown one.

    "accuracy" and "kappa" are the short names of an experiment's statistics too.
    """
    if statistic is None or not rows:
        return rows
    known = dict.fromkeys(row.statistic for row in rows)
    # The names of some have a comma.
    wanted = [statistic] if statistic in known else [name.strip() for name in statistic.split(",")]
    full = {name: {name, ALIASES.get(name, name), ALIASES.get(name, name).removesuffix("_gold")} for name in wanted}
    if unknown := [name for name in wanted if not full[name] & {*known}]:
        raise TiebreakError(f"The table has no statistic {unknown[0]!r}; it has {', '.join(known)}.")
    return [row for row in rows if any(row.statistic in names for names in full.values())]


def _key(row: PublishedRow, fields: Sequence[str]) -> list[str]:
    return [str(getattr(row, name)) for name in fields]
