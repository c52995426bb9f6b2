"""Gold labels as CSV, one target per row, for pandas, R and spreadsheets: see docs/gold.md.

UTF-8 with "\\n" line ends; open the file with `newline=""`. The same gold in the same order gives the same bytes.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TextIO

from core.formats.tables import csv_line, escape_formula
from core.labels import Gold, Value

COLUMNS = (
    "study", "item", "scenario", "group", "systems", "kind", "criterion", "part", "part_text", "value", "source",
    "distribution", "annotators", "annotator_names", "contention", "blind_values", "final_values", "adjudicator",
    "rule", "reason", "date", "guidelines", "evidence",
)  # fmt: skip
# The column of a run's verdicts has the name of the run after this prefix.
VERDICT_PREFIX = "verdict: "
OPINIONS_COLUMN = "opinions"
POLICY_COLUMN = "policy"


@dataclass(frozen=True)
class GoldRow:
    """The gold of a target with everything that is known about its origin."""

    study: str
    gold: Gold
    scenario: str = ""
    group: str = ""
    systems: tuple[str, ...] = ()
    """The systems of the item's responses, in the item's order; "" for an unknown one."""
    part_text: str = ""
    """The part as a reader understands it: the text of an AIU, the names of aspects."""
    contention: float | None = None
    blind: Mapping[str, Value] = field(default_factory=dict)
    """Annotator -> the last value before judges or other annotators were seen."""
    final: Mapping[str, Value] = field(default_factory=dict)
    """Annotator -> the current value."""
    adjudicator: str = ""
    rule: str = ""
    reason: str = ""
    date: datetime | None = None
    """When it was adjudicated, otherwise when the newest label was given."""
    guidelines: tuple[int, ...] = ()
    """The versions that the annotators had."""
    evidence: tuple[tuple[str, str, str], ...] = ()
    """(annotator, text that it belongs to, passage) of the current labels."""
    verdicts: Mapping[str, Value | None] = field(default_factory=dict)
    """Run -> its verdict; None for no verdict."""
    opinions: Mapping[str, Value | None] = field(default_factory=dict)
    """Judge -> its last opinion."""
    policy: str = ""
    """The policy by which the verdict of a judge stands; empty for a value of people."""


def write_csv(
    rows: Iterable[GoldRow], stream: TextIO, verdict_runs: Sequence[str] | None = None, *, with_policy: bool = False
) -> Counter[str]:
    """Write a header and the rows, in the given order, without holding them all in memory; return source -> rows.

    With `verdict_runs`, columns with the verdict of each of these runs and with the judges' opinions follow; then, with
    `with_policy`, one with the policy of a verdict that stands.
    """
    judge_columns = [] if verdict_runs is None else [*(VERDICT_PREFIX + run for run in verdict_runs), OPINIONS_COLUMN]
    judge_columns += [POLICY_COLUMN] if with_policy else []
    stream.write(csv_line([*COLUMNS, *map(escape_formula, judge_columns)]))
    sources = Counter[str]()
    for row in rows:
        sources[row.gold.source] += 1
        cells = _cells(row)
        if verdict_runs is not None:  # empty if a run did not judge the target or came to no verdict
            cells += [_format_cell(row.verdicts.get(run)) for run in verdict_runs]
            cells.append(escape_formula(_format_values(row.opinions)))
        cells += [escape_formula(row.policy)] if with_policy else []
        stream.write(csv_line(cells))
    return sources


def _cells(row: GoldRow) -> list[str]:
    gold, target = row.gold, row.gold.target
    cells = [
        row.study,
        target.item,
        row.scenario,
        row.group,
        ";".join(map(_format_element, row.systems)) if any(row.systems) else "",
        target.kind,
        target.criterion,
        target.part,
        row.part_text,
        gold.value,
        gold.source,
        format_distribution(gold),
        gold.annotators,
        ";".join(map(_format_element, row.final)),
        None if row.contention is None else f"{row.contention:.4g}",
        _format_values(row.blind),
        _format_values(row.final),
        row.adjudicator,
        row.rule,
        row.reason,
        None if row.date is None else row.date.isoformat(timespec="seconds"),
        ";".join(map(str, row.guidelines)),
        ";".join(":".join(map(_format_element, passage)) for passage in row.evidence),
    ]
    return list(map(_format_cell, cells))


def format_distribution(gold: Gold) -> str:
    """Return value and number of labels, most frequent first, such as "1:2;0:1"."""
    return ";".join(f"{_format_element(value)}:{count}" for value, count in gold.distribution)


def _format_values(values: Mapping[str, Value | None]) -> str:
    """Return names and values, such as "annotator 1:2;annotator 2:0"."""
    named = ((name, "" if value is None else _format_element(value)) for name, value in values.items())
    return ";".join(f"{_format_element(name)}:{value}" for name, value in named)


def _format_cell(value: Value | None) -> str:
    """Return the cell of a value, empty for None. Numbers are not escaped, so -1 stays a number."""
    if value is None:
        return ""
    return escape_formula(value) if isinstance(value, str) else _format_value(value)


def _format_element(value: Value) -> str:
    """Return a value in a list; text that contains the separators is quoted as in JSON."""
    quoted = isinstance(value, str) and any(character in value for character in ':;"')
    return json.dumps(value, ensure_ascii=False) if quoted else _format_value(value)


def _format_value(value: Value) -> str:
    """Return text as it is and anything else as JSON. A number that is not finite is no value in JSON: it is empty."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
