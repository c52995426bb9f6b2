"""The files of docs/papers, and variants of them for the local server."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core import experiments
from core.experiments import Cell
from core.frozen import Frozen
from core.items import Criterion
from core.labels import Scale
from core.protocols import registry, settings_file

PAPERS = experiments.FOLDER
load = cache(experiments.load_paper)
THREE, TWO = Scale(level="ordinal", categories=(1, 2, 3)), Scale(level="ordinal", categories=(0, 1))
FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
CRITERIA = [
    *(Criterion(name=name, scale=THREE) for name in ("Natural", "Maintains Context", "Engaging")),
    Criterion(name="Uses Knowledge", scale=TWO),
    *(Criterion(name=name, scale=FIVE) for name in ("coherence", "consistency", "fluency", "relevance")),
]
"""The criteria that the mappings of the data sets declare, as far as a file names them."""


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def settings_of(cell: Cell) -> Frozen:
    """Return the settings of a cell; raises FileFormatError for invalid ones."""
    return settings_file.parse_run_fields(cell.settings, registry.get(cell.protocol), CRITERIA)[0]


def models_in(value: Any) -> Iterator[str]:
    """Yield every model that an experiment names, in settings and in what levels set."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if str(name).rpartition(".")[2] == "model" and isinstance(inner, str):
                yield inner
            else:
                yield from models_in(inner)
    elif isinstance(value, list | tuple):
        for element in value:
            yield from models_in(element)


def write_variant(
    folder: Path,
    name: str,
    address: str,
    *,
    choices: str = "1",
    prefix: str = "judge",
    keep: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Path:
    """Write a variant of a pack whose models are on the test server, and return the file.

    Each model has a name of its own, `prefix` and a number, that ends in one of `choices`: the server's models choose
    that. `keep`: axis -> the number of its first levels, or the labels of its levels, that the variant has runs for.
    """
    models = dict.fromkeys(models_in(load(name).model_dump()))
    renamed = {
        model: {
            "model": f"{prefix}-{number}-{choices[number % len(choices)]}",
            "address": address,
            "answer_format": "json",
        }
        for number, model in enumerate(models)
    }
    file = folder / f"{name.replace('/', '-')}.yaml"
    content = {"extends": str(PAPERS / f"{name}.yaml"), "name": file.stem, "models": renamed} | fields
    file.write_text(yaml.safe_dump(content))
    excluded = []
    for axis in experiments.load(file).axes:
        kept = (keep or {}).get(axis.name, len(axis.levels))
        labels = axis.labels[:kept] if isinstance(kept, int) else kept
        if others := [label for label in axis.labels if label not in labels]:
            excluded.append({axis.name: others})
    file.write_text(yaml.safe_dump(content | {"exclude": excluded}))
    return file
