"""The effect of the criterion's format on each judge: runs that differ in their setting `format` only."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.formats.tables import Column
from core.protocols.prompt_parts import CRITERION_FORMATS
from core.statistics.reports.biases import FormatPair, FormatRow, format_rows
from storage.db import connections
from storage.reports import judge_biases
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.judge_ranking import RankingQuery, find_dataset
from storage.runs import runs
from storage.studies.studies import Study

BASE = CRITERION_FORMATS[0]
"""The format that the others are compared with; without a run that has it, the first format of the others."""
RunFormats = Mapping[int, tuple[str, str]]
"""Run -> what its settings have in common with other runs, and its format."""


def formats_of_runs(session: Session, study_id: int) -> RunFormats:
    """Return the runs whose settings equal those of a run with another format of the criterion."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for run in runs.of_study(session, study_id):
        settings = run.settings if isinstance(run.settings, dict) else {}
        common = {name: value for name, value in settings.items() if name != "format"}
        key = json.dumps([run.protocol, run.criterion, common], sort_keys=True, default=str)
        found[key][run.id] = str(settings.get("format", BASE))
    return {
        run: (key, format)
        for key, formats in found.items()
        if len(set(formats.values())) > 1
        for run, format in formats.items()
    }


COLUMNS = (
    Column("Judge", "judge"),
    Column("Format", lambda row: f"{row.format}, compared with {row.base}"),
    Column("Effect", "effect low high", "estimate"),
    Column("p", "p_corrected", "p"),
    Column("Accuracy", "accuracy", "estimate"),
    Column("Base", "base_accuracy", "estimate"),
    Column("n", "targets", "count"),
    Column("Other verdict", "changed changed_low changed_high", "estimate"),
    Column(
        "No verdict", lambda row: f"{row.no_verdict:,} of {row.judged:,}, base {row.base_no_verdict:,}", "figure"
    ),
    Column("Note", "reason"),
)  # fmt: skip
"""The columns of a page."""


def compute(engine: Engine, study: Study, data: AlignmentData, query: RankingQuery) -> list[FormatRow]:
    """Compare the formats of a study's judges; empty if no runs differ in their format only."""
    with connections.reading(engine) as session:
        run_formats = formats_of_runs(session, study.id)
    return report(data, query, run_formats)


def report(
    data: AlignmentData, query: RankingQuery, run_formats: RunFormats, *, resamples: int = 1000
) -> list[FormatRow]:
    """Compare the formats of every judge of a query; empty if no runs differ in their format only."""
    dataset = find_dataset(data, query)
    if dataset is None or not run_formats:
        return []
    pairs = [pair for pair in _pairs(data, run_formats) if {pair.base_name, pair.name} <= dataset.judges.keys()]
    return format_rows(dataset, pairs, resamples=resamples)


def of_study(
    engine: Engine,
    study: Study,
    *,
    criterion: str | None = None,
    scenario: str | None = None,
    reference: str | None = None,
) -> list[FormatRow]:
    """Compare the formats of a study's judges; raises TiebreakError if no runs differ in their format only."""
    data = load_data(engine, study, reference)
    query = judge_biases.selected_query(data, criterion, scenario)
    rows = compute(engine, study, data, query) if query is not None else []
    if not rows:
        raise TiebreakError(
            "No two runs differ in the format of the criterion only, with verdicts on the same targets."
        )
    return rows


def table(rows: Sequence[FormatRow]) -> list[dict[str, object]]:
    """Return one row for each judge and format."""
    return [asdict(row) | {"found": row.found} for row in rows]


def _pairs(data: AlignmentData, run_formats: RunFormats) -> list[FormatPair]:
    """Return every judge with its base format and each other one; of repeated runs the first."""
    opinions = data.opinions[data.opinions["run"].isin(list(run_formats)) & (data.opinions["stage"] != "first")]
    names: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    columns: Any = opinions[["rater", "run", "judge"]].drop_duplicates().sort_values("run")
    for rater, run, judge in columns.itertuples(index=False):
        key, format = run_formats[run]
        names[rater, key].setdefault(format, judge)
    pairs = []
    for (rater, _), by_format in names.items():
        order: list[str] = [name for name in CRITERION_FORMATS if name in by_format]
        order += [name for name in by_format if name not in CRITERION_FORMATS]
        base, *others = order
        pairs += [FormatPair(rater, base, other, by_format[base], by_format[other]) for other in others]
    return pairs
