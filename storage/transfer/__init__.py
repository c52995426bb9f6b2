"""Import and export: records, turns, and the sample studies.

`bundle` and `instructions` are imported by themselves: they load the statistics, which the others do not need.
"""

from storage.transfer.exports import count_records, export_records, turn_rows
from storage.transfer.gold import GoldOptions, gold_rows, verdict_runs
from storage.transfer.imports import ImportCounts, import_records

__all__ = [
    "GoldOptions",
    "ImportCounts",
    "count_records",
    "export_records",
    "gold_rows",
    "import_records",
    "turn_rows",
    "verdict_runs",
]
