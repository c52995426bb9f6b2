"""The commands of `cli.py`. Each module has the commands of one subject, as plain functions."""

import gc

gc.set_threshold(100_000)  # imports create many objects and no garbage, so the collector searches in vain
