"""The commands of `cli.py`. Each module has the commands of one subject, as plain functions."""

import atexit
import gc

gc.set_threshold(300_000)  # imports create many objects and no garbage, so the collector searches in vain
atexit.register(gc.freeze)  # Python searches all modules for garbage at its end, which takes longer than many commands
