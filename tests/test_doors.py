"""The doors of the packages: which of their names the rest of the product uses.

`tests/doors.yaml` lists package -> module -> names. A name that is not listed is private to its package; to use it
elsewhere is a decision, so it is a line there. `TIEBREAK_UPDATE_DOORS=1` writes the list; review its difference.
"""

import ast
import os
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from tests.paths import ROOT, load_yaml
from tests.test_architecture import PRODUCT, nodes

FILE = ROOT / "tests" / "doors.yaml"
PACKAGES = [
    *(f"storage.{name}" for name in ("db", "studies", "labels", "runs", "labelling", "accounts")),
    *(f"storage.{name}" for name in ("reports", "worker", "improvement", "transfer")),
    *("core.answers", "core.llm", "core.experiments", "core.improvement", "core.formats.mapping", "core.statistics"),
]
"""The packages with a door. Those of storage are in order: each imports only those before it."""

Doors = dict[str, dict[str, list[str]]]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> frozenset[str]:
    return frozenset(module_of(path) for path in PRODUCT)


def package_of(module: str) -> str | None:
    return next((package for package in PACKAGES if f"{module}.".startswith(f"{package}.")), None)


def uses(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (module, name) for every name of another module of the product that a file uses."""
    bound = {}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in modules():
                    bound[alias.asname or alias.name] = full
                elif node.module in modules():
                    yield str(node.module), alias.name
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
            yield bound[node.value.id], node.attr


@cache
def found_doors() -> Doors:
    doors: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in PRODUCT:
        for module, name in uses(path):
            package = package_of(module)
            if package and package != package_of(module_of(path)):
                doors[package][module.removeprefix(package).removeprefix(".") or "__init__"].add(name)
    return {
        package: {module: sorted(names) for module, names in sorted(doors[package].items())} for package in PACKAGES
    }


def test_each_package_is_used_through_its_door():
    if os.environ.get("TIEBREAK_UPDATE_DOORS"):
        FILE.write_text(yaml.safe_dump(found_doors(), sort_keys=False, width=120, default_flow_style=None))
    listed = load_yaml(FILE)
    assert found_doors() == listed


def test_no_private_module_is_used_outside_of_its_package():
    public = [f"{package}.{module}" for package, names in found_doors().items() for module in names]
    assert [module for module in public if "._" in module and not module.endswith("__init__")] == []


def test_packages_of_storage_import_only_those_before_them():
    """A migration is executed by the database's package, and stores rows with the functions of the others."""
    order = [package for package in PACKAGES if package.startswith("storage.")]
    wrong = []
    for path in (path for path in PRODUCT if "migrations" not in path.parts):
        own = package_of(module_of(path))
        if own in order:
            others = {package_of(module) for module, _ in uses(path)} & set(order[order.index(own) + 1 :])
            wrong += [f"{module_of(path)} imports {other}" for other in others]
    assert wrong == []
