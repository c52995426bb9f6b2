"""The commands of `cli.py`. Each module has the commands of one subject, as plain functions."""
