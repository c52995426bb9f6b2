"""Import and export: records into and out of a study, examples for instruction tuning, and the sample studies."""

from storage.transfer.exports import count_records, export_records
from storage.transfer.imports import ImportCounts, import_records
from storage.transfer.instructions import instruction_examples

__all__ = ["ImportCounts", "count_records", "export_records", "import_records", "instruction_examples"]
