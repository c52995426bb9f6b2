"""The tables and figures of the five papers, computed from a study: `TABLES` and `compute`."""

from storage.reports.published._registry import TABLES, available, compared_with, compute, find_table, note_of, of_study
from storage.reports.published._values import find_experiment_table
from storage.reports.published.rows import PublishedRow, PublishedTable, figure_text, layout, reasons, select, summarize

__all__ = [
    "TABLES",
    "PublishedRow",
    "PublishedTable",
    "available",
    "compared_with",
    "compute",
    "figure_text",
    "find_experiment_table",
    "find_table",
    "layout",
    "note_of",
    "of_study",
    "reasons",
    "select",
    "summarize",
]
