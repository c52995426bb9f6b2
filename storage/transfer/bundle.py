"""The bundle of a study for a paper: its data and results as files, with a codebook and a manifest of hashes.

    labels_long.csv   one current label a row          agreement.csv   agreement between annotators and between judges
    labels_wide.csv   one target a row, one annotator  alignment.csv   alignment of judges with the reference
                      a column                         traces.jsonl    the whole study in Tiebreak's JSON lines
    gold.csv          one target a row: docs/gold.md   codebook.md     study, guidelines, scales, columns
    verdicts.csv      one opinion of a judge a row     manifest.json   hashes, versions, seed

and, if there is something to compare, judges.csv (accuracy, coverage, decision), comparisons.csv (differences between
judges), causes.csv (of disagreements with people), systems.csv and biases.csv; with a design of labels,
draws.csv, one target a row. Each policy that stands has its
certificate, policy_1.json, and the same as a page.

The same study gives the same bytes. `traces.jsonl`, imported into another database, gives the same agreement and
alignment.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats import gold as gold_file
from core.formats import tiebreak
from core.formats.html_report import write_report
from core.formats.tables import csv_text
from core.formats.text import open_output, temporary_folder
from core.provenance import RESAMPLES, SEED, versions
from core.statistics.reports.agreement import AgreementRow
from core.statistics.reports.alignment import AlignmentRow
from storage.db.connections import reading
from storage.labels import designs, labels, targets
from storage.reports import agreement, alignment, certificates, references
from storage.reports.opinions import opinion_frame
from storage.reports.study_report import Rows, result_tables
from storage.runs import runs
from storage.studies import studies
from storage.transfer.exports import export_records
from storage.transfer.gold import gold_rows

if TYPE_CHECKING:
    import pandas as pd

TARGET = ("item", "scenario", "group", "kind", "criterion", "part")
# The time of all files in a zip: the archive has the same bytes each time.
FIRST_TIME = (1980, 1, 1, 0, 0, 0)
COLUMNS = {
    "run": "name of the run",
    "judge": "name of the judge",
    "item": "identifier of the item",
    "scenario": "scenario of the item",
    "group": "document or dialogue of the item; in agreement.csv and alignment.csv the scenario, or all",
    "kind": "what is judged, such as preference or score",
    "criterion": 'name of the criterion; all for all criteria together, and "all" in quotes for one that has this name',
    "part": "part of the item, such as a pair of responses (1-3) or an AIU",
    "rater": "annotator or judge",
    "value": "the value; 0 is a tie of a preference; JSON for weights; empty if there is none",
    "stage": "first, last or verdict",
    "by": "how the rows are split: all, scenario, criterion or raters",
    "statistic": "name of the statistic: docs/statistics.md",
    "low": "lower end of the 95 % interval",
    "high": "upper end of the 95 % interval",
    "items": "items that the value uses",
    "raters": "raters that the value uses",
    "pairs": "pairs of labels that were compared",
    "reason": "caveat, or why there is no value or interval",
    "reference": "sources of the reference's values",
    "population": "the targets that the row is of: all, or disputed ones if labels are mainly of these",
    "effective": "Kish's effective number of the items, if they count differently by the design of the labels",
    "decision": "recommendation by the rule in docs/statistics.md; ceiling or baseline for the rows that are no judge",
    "accuracy": "share of the targets on which the verdict equals the reference; no verdict is an error",
    "lowest": "accuracy if every missing verdict were wrong",
    "highest": "accuracy if every missing verdict were right",
    "targets": "targets that the row uses",
    "coverage": "share of the targets with a verdict",
    "from_ceiling": "accuracy against the other annotators' majority minus the annotators' own",
    "winning_rate": "omega of the alternative-annotator test",
    "stratum": "stratum of the target in the design of labels",
    "probability": "with which the target is drawn for people (and labelled, if others had labels before their draw)",
    "drawn": "whether it is drawn: its number is below the cut of its stratum",
    "number": "permanent random number of the target, from the seed of the design",
    "difference": "accuracy of judge minus that of other_judge on the same targets",
    "p_bootstrap": "two-sided p-value of the paired bootstrap",
    "p_t": "two-sided p-value of the paired t-test",
    "p_corrected": "p-value corrected by Holm's method over the table",
    "judge_error": "share of the disagreements in which fewer than a third of people would choose the verdict",
    "ambiguity": "share of the disagreements on which people are divided",
    "human_noise": "share of the disagreements in which those who labelled are the exception",
    "system": "system whose response it is",
    "people": "value from people's labels alone",
    "verdicts": "value from the verdicts of judge alone; its bias is not corrected",
    "labelled": "targets with labels of people",
    "judged": "targets with only a verdict",
    "strength": "Bradley-Terry strength from people's labels",
    "bias": "position, position in both orders, length or self-preference",
    "effect": "share of decided verdicts minus one half",
    "found": "whether the corrected p-value is below 0.05",
    "note": "caveat",
}


class Table(NamedTuple):
    """A table of the bundle."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]


def write_bundle(engine: Engine, study: studies.Study, path: Path) -> dict[str, Any]:
    """Write the bundle to a new folder, or to a zip file if the name ends in .zip; returns the manifest.

    Everything is written under a temporary name first; what a killed process left there is removed. Raises
    TiebreakError if a folder with files exists there.
    """
    target = path.resolve()
    if path.suffix != ".zip" and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise TiebreakError(f"{path} exists already: name a new folder, or a file ending in .zip.")
    try:
        with temporary_folder(target) as temporary:
            _write_data(engine, study, temporary)
            manifest = {
                "format": "tiebreak bundle 1",
                "study": study.name,
                "versions": versions(),
                "resamples": RESAMPLES,
                "seed": SEED,
                "files": {file.name: _digest(file) for file in sorted(temporary.iterdir())},
            }
            _write(temporary / "manifest.json", json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
            if path.suffix == ".zip":
                archive = temporary / "archive"
                _write_zip(temporary, archive)
                os.replace(archive, target)
            else:
                os.replace(temporary, target)
    except OSError as error:
        raise TiebreakError(f"{path} cannot be written: {error.strerror or error}.") from None
    return manifest


def tables(engine: Engine, study: studies.Study, results: Mapping[str, Rows]) -> list[Table]:
    """Return the tables of the bundle apart from gold.csv; `results` has those of `result_tables`."""
    with reading(engine) as session:
        long = targets.with_stored_criteria(labels.frame(session, study.id)).sort_values(
            [*TARGET, "rater"], kind="stable"
        )
        run_names = {run.id: run.name for run in runs.of_study(session, study.id)}
        opinions = targets.with_stored_criteria(opinion_frame(session, study.id))
        draws = designs.frame(session, study.id)
    opinions["run"] = opinions["run"].map(run_names)
    agreed = [(by, *astuple(row)) for by in ("all", "scenario", "raters") for row in agreement.rows(engine, study, by)]
    aligned = [(by, *astuple(row)) for by in ("all", "scenario") for row in alignment.rows(engine, study, by)]
    return [
        _frame_table("labels_long", long[[*TARGET, "rater", "value"]]),
        _wide(long),
        _frame_table("verdicts", opinions[["run", *TARGET, "rater", "stage", "value"]]),
        *([] if draws is None else [_frame_table("draws", targets.with_stored_criteria(draws))]),
        Table("agreement", ("by", *(field.name for field in fields(AgreementRow))), agreed),
        Table("alignment", ("by", *(field.name for field in fields(AlignmentRow))), aligned),
        *(Table(name, tuple(rows[0]), [tuple(row.values()) for row in rows]) for name, rows in results.items()),
    ]


def _frame_table(name: str, frame: "pd.DataFrame") -> Table:
    return Table(name, tuple(frame.columns), list(frame.itertuples(index=False, name=None)))


def _wide(long: "pd.DataFrame") -> Table:
    """Return one row a target and one column an annotator."""
    annotators = sorted(set(long["rater"]))
    values: dict[tuple[Any, ...], dict[str, Any]] = {}
    for *target, rater, value in long[[*TARGET, "rater", "value"]].itertuples(index=False, name=None):
        values.setdefault(tuple(map(_cell, target)), {})[rater] = value
    rows = [(*target, *(by_rater.get(name) for name in annotators)) for target, by_rater in values.items()]
    return Table("labels_wide", (*TARGET, *annotators), rows)


def _cell(value: Any) -> Any:
    """Return a value as a cell: JSON for objects, None for no value and for a number that is not finite."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return json.dumps(dict(value), ensure_ascii=False, sort_keys=True)
    return value


def _write_data(engine: Engine, study: studies.Study, folder: Path) -> None:
    results, missing = result_tables(engine, study)
    all_tables = tables(engine, study, results)
    for table in all_tables:
        rows = [[_cell(value) for value in row] for row in table.rows]
        _write(folder / f"{table.name}.csv", csv_text(table.columns, rows))
    with reading(engine) as session, open_output(folder / "gold.csv") as stream:
        gold_file.write_csv(gold_rows(session, study), stream)
    for number, certificate in enumerate(study.rules.policies, 1):
        _write(folder / f"policy_{number}.json", json.dumps(certificate, ensure_ascii=False, indent=2) + "\n")
        with open_output(folder / f"policy_{number}.html") as stream:
            write_report(f"Policy of {study.name}", certificates.page(certificate), stream)
    with open_output(folder / "traces.jsonl") as stream:
        tiebreak.write(export_records(engine, study), stream)
    _write(folder / "codebook.md", codebook(engine, study, all_tables, missing))


def _write(path: Path, text: str) -> None:
    with open_output(path) as stream:
        stream.write(text)


def codebook(engine: Engine, study: studies.Study, all_tables: Iterable[Table], missing: Mapping[str, str]) -> str:
    """Return the description of a study's data as Markdown; `missing` has table -> why the bundle has none."""
    with reading(engine) as session:
        criteria = studies.criteria(session, study.id)
        scales = studies.scales(session, study.id)
        instructions = studies.current_guidelines(session, study.id)
    notes = references.debate_note(engine, study.id, None)
    declared = [
        f"- {kind}{f', {name}' if name else ''}: `{scale.model_dump_json(exclude_none=True)}`"
        for (kind, name), scale in sorted(scales.items(), key=lambda pair: pair[0])
    ]
    named = [f"- **{criterion.name}**: {criterion.definition}" for criterion in criteria]
    sections = {
        "Criteria": named or ["None is declared."],
        "Scales": declared or ["None is declared."],
        "Guidelines": [instructions.text or "None."],
    }
    for table in all_tables:
        columns = [f"- `{name}`: {COLUMNS[name]}" for name in table.columns if name in COLUMNS]
        sections[f"{table.name}.csv"] = [f"{len(table.rows):,} rows.", "", *columns]
    sections |= {f"{name}.csv": [f"Not in this bundle. {reason}"] for name, reason in missing.items()}
    sections["gold.csv"] = [f"Columns: {', '.join(gold_file.COLUMNS)}. Their meaning is in docs/gold.md."]
    lines = [f"# Codebook of {study.name}", "", study.description, *(f"Judges: {note}" for note in notes)]
    lines += [line for title, text in sections.items() for line in ("", f"## {title}", "", *text)]
    lines += ["", "Text that a spreadsheet would run as a formula has a leading apostrophe in the CSV files."]
    return "\n".join(lines) + "\n"


def _digest(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _write_zip(folder: Path, archive: Path) -> None:
    files = sorted(file for file in folder.iterdir() if file != archive)
    with ZipFile(archive, "w", ZIP_DEFLATED) as stream:
        for file in files:
            entry = ZipInfo(file.name, FIRST_TIME)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            with file.open("rb") as source, stream.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)
