"""The commands of `cli.py`. Each module has the commands of one subject, as plain functions.

They pay for what they need, and `--help` for none: a module of core or storage is imported at the top of a file, as
everywhere else, but in a block of `lazy_imports`, and executed when a command first uses it. A block has whole modules
only: a name of a module cannot be imported without executing the module.
"""

import atexit
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

# No plugin of pydantic is used, and looking for one reads the metadata of every installed distribution.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

# Imports create many objects and no garbage, so the collector searches in vain. Neither does a run leave cycles: with
# Python's threshold of 700 it takes 0.5 s more for 200 debates (docs/performance.md).
gc.set_threshold(300_000)
atexit.register(gc.freeze)  # Python searches all modules for garbage at its end, which takes longer than many commands


class _Finder:
    """Finds the modules of core and storage, and delays their execution until one of their attributes is read."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in ("core", "storage"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def lazy_imports() -> Iterator[None]:
    """Delay the execution of the modules that are imported during the body."""
    sys.meta_path.insert(0, _Finder)
    try:
        yield
    finally:
        sys.meta_path.remove(_Finder)
