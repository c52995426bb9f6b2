"""The structure of the project: imports, folders and names of modules."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from core.protocols.registry import BUILT_IN

ROOT = Path(__file__).parents[1]
LAYERS = ("core", "storage", "pages")
"""A layer may import itself and those before it."""
FORBIDDEN_LIBRARIES = {
    "core": {"streamlit", "sqlmodel", "sqlalchemy", "alembic"},
    "storage": {"streamlit"},
    "pages": {"sqlmodel", "sqlalchemy", "alembic"},
}
MEANINGLESS_NAMES = {
    *("utils", "util", "helpers", "helper", "manager", "managers", "base", "common", "handler", "handlers", "misc")
}
CHANGING = ("update", "delete", "upsert")
"""Functions in storage that change or delete rows."""
PRODUCT = [
    path
    for top in (*LAYERS, "commands", "app.py", "cli.py", "tiebreak.py")
    for path in ([ROOT / top] if top.endswith(".py") else sorted((ROOT / top).rglob("*.py")))
    if path.exists()
]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def modules(layer: str) -> list[Path]:
    return sorted((ROOT / layer).rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return every node of a module whose type a test looks for."""
    wanted = ast.Import | ast.ImportFrom | ast.Call | ast.Compare | ast.MatchValue | ast.Attribute
    return [node for node in ast.walk(parse(path)) if isinstance(node, wanted)]


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Return (line, top-level package) of every import, including those in functions and under TYPE_CHECKING."""
    packages: list[tuple[int, str]] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            packages += ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            packages.append((node.lineno, "." if node.level else str(node.module).partition(".")[0]))
    return packages


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_go_from_pages_to_storage_to_core_and_never_back(layer):
    above = {*LAYERS[LAYERS.index(layer) + 1 :], "app", "cli", "commands", "tiebreak", "tests"}
    wrong = [(path, line, name) for path in modules(layer) for line, name in imports(path) if name in above]
    assert [f"{relative(path)}:{line} {name}" for path, line, name in wrong] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_knows_only_its_own_libraries(layer):
    wrong = [
        f"{relative(path)}:{line} {name}"
        for path in modules(layer)
        for line, name in imports(path)
        if name in FORBIDDEN_LIBRARIES[layer]
    ]
    assert wrong == []


def test_imports_are_absolute():
    assert [f"{relative(path)}:{line}" for path in PRODUCT for line, name in imports(path) if name == "."] == []


def test_no_page_is_directly_in_pages():
    """Streamlit would serve it on the first visit without running app.py, and so without a sign-in."""
    assert [path.name for path in (ROOT / "pages").glob("*.py") if path.name != "__init__.py"] == []


def test_no_module_has_a_meaningless_name():
    wrong = [path for path in PRODUCT if path.stem in MEANINGLESS_NAMES or path.parent.name in MEANINGLESS_NAMES]
    assert [relative(path) for path in wrong] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_every_module_has_a_docstring(layer):
    texts = {path: path.read_text(encoding="utf-8") for path in modules(layer)}
    without = [path for path, text in texts.items() if text.strip() and not ast.get_docstring(parse(path))]
    assert [relative(path) for path in without] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_test_folders_mirror_the_product(layer):
    """A folder with tests in `tests/storage` has the name of a folder in `storage`, and so on."""
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests" / layer).rglob("test_*.py")}
    assert len(folders) > 3
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder).is_dir()] == []


def test_no_protocol_name_is_compared_outside_of_the_protocols():
    """What varies between protocols is a field of `core.protocols.Protocol`."""
    protocols = ROOT / "core" / "protocols"
    wrong = [
        f"{relative(path)}:{line} {name!r}"
        for path in PRODUCT
        if not path.is_relative_to(protocols)
        for line, name in compared_strings(path)
        if name in BUILT_IN
    ]
    assert wrong == []


def called(node: ast.AST) -> str:
    """Return the last name of the function that a node calls; empty if it calls none."""
    function = getattr(node, "func", None)
    return getattr(function, "attr", "") or getattr(function, "id", "")


def compared_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, string) of every string constant in a comparison or in a pattern of a `match` statement."""
    for node in nodes(path):
        if isinstance(node, ast.Compare | ast.MatchValue):
            for constant in ast.walk(node):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    yield constant.lineno, constant.value


def test_compared_strings_are_found_in_comparisons_and_patterns(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('a == "x"\nb in ("y",)\nmatch c:\n    case "z":\n        pass\nd = "w"\n')
    assert sorted(compared_strings(module)) == [(1, "x"), (2, "y"), (4, "z")]


def test_labels_and_adjudications_are_never_changed_or_deleted():
    """Storage only ever adds rows of them."""
    calls = [(path, node) for path in modules("storage") for node in nodes(path) if called(node) in CHANGING]
    assert len(calls) > 3
    rows = ("LabelRow", "AdjudicationRow")
    wrong = [(path, call) for path, call in calls if any(row in ast.unparse(call) for row in rows)]
    assert [f"{relative(path)}:{call.lineno}" for path, call in wrong] == []


def test_decisions_have_consecutive_numbers():
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").iterdir())
    assert [name.partition("-")[0] for name in names] == [f"{number:03}" for number in range(1, len(names) + 1)]


def test_streamlit_draws_no_bare_string_of_a_page():
    """Otherwise it draws the docstring of a constant, and searches each script for such expressions."""
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["runner"]["magicEnabled"] is False


def test_pages_store_changes_only_with_a_permission():
    """A page uses `permissions.writing`. The exceptions store what visitors do to their own account or views."""
    own = {"pages/parts/shell.py", "pages/parts/permissions.py", "pages/parts/account_guard.py", "pages/label/api.py"}
    own |= {"pages/parts/resources.py", "pages/account/routes.py", "pages/setup/account.py"}
    wrong = [
        f"{relative(path)}:{node.lineno}"
        for path in modules("pages")
        for node in nodes(path)
        if called(node) in ("writing", "write")
        and ast.unparse(node.func) in ("connections.writing", "connections.write", "writing")
    ]
    assert {place.partition(":")[0] for place in wrong} >= {"pages/parts/permissions.py"}
    assert [place for place in wrong if place.partition(":")[0] not in own] == []
