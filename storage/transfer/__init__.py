"""Import and export: records into and out of a study, examples for instruction tuning, and the sample studies."""

from storage.transfer.exports import count_records, export_records
from storage.transfer.gold import GoldOptions, gold_rows, verdict_runs
from storage.transfer.imports import ImportCounts, import_records
from storage.transfer.instructions import instruction_examples

__all__ = [
    "GoldOptions",
    "ImportCounts",
    "count_records",
    "export_records",
    "gold_rows",
    "import_records",
    "instruction_examples",
    "verdict_runs",
]
