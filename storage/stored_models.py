"""The models in stored settings of runs, which may be of an earlier version or of a protocol that is not installed."""

from collections.abc import Iterator
from typing import Any

OPERATED = ("address", "key_variable", "prompt_price", "completion_price")
"""The fields of a model that only owners of a study set."""


def stored_models(settings: Any) -> Iterator[tuple[object, ...]]:
    """Yield the name of every model in nested settings, with its OPERATED fields."""
    if isinstance(settings, dict):
        if "model" in settings:
            yield (settings["model"], *(settings.get(name) for name in OPERATED))
        settings = list(settings.values())
    for value in settings if isinstance(settings, list) else ():
        yield from stored_models(value)


def key_variables(settings: Any) -> list[str]:
    """Return the names of the variables whose keys the models of nested settings name."""
    position = OPERATED.index("key_variable") + 1
    return sorted({str(values[position]) for values in stored_models(settings) if values[position] is not None})


def model_names(settings: Any) -> list[str]:
    """Return the names of the models in nested settings."""
    return sorted({str(name) for name, *_ in stored_models(settings)})
