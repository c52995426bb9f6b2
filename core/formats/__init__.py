"""Readers of public files and the writers of what a study gives away; all speak in records."""
