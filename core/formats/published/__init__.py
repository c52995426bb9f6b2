"""Readers of the data sets that the papers published."""
