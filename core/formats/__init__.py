"""File formats: readers of data sets and tables, and writers of exports.

`registry` detects and reads every format; `mapping` reads tables, `published` the data sets of the papers, `tiebreak`
the project's own files.
"""
