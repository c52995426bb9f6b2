"""The commands of `cli.py`. Each module has the commands of one subject, as plain functions."""

import atexit
import gc
import os

# No plugin of pydantic is used, and looking for one reads the metadata of every installed distribution.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

# Imports create many objects and no garbage, so the collector searches in vain. Neither does a run leave cycles: with
# Python's threshold of 700 it takes 0.5 s more for 200 debates (docs/performance.md).
gc.set_threshold(300_000)
atexit.register(gc.freeze)  # Python searches all modules for garbage at its end, which takes longer than many commands
