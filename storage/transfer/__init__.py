"""Import and export: records, turns, examples for instruction tuning, and the sample studies."""

from storage.transfer.bundle import write_bundle
from storage.transfer.exports import count_records, export_records
from storage.transfer.gold import GoldOptions, gold_rows, verdict_runs
from storage.transfer.imports import ImportCounts, import_records
from storage.transfer.instructions import instruction_examples
from storage.transfer.turn_rows import turn_rows

__all__ = [
    "GoldOptions",
    "ImportCounts",
    "count_records",
    "export_records",
    "gold_rows",
    "import_records",
    "instruction_examples",
    "turn_rows",
    "verdict_runs",
    "write_bundle",
]
