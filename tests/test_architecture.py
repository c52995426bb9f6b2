"""The shape of the house: what may import what, where files lie, how long they are."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("core", "storage", "pages")
"""Each may import itself and those before it."""
FORBIDDEN = {
    "core": {"streamlit", "sqlmodel", "sqlalchemy", "alembic"},
    "storage": {"streamlit"},
    "pages": {"sqlmodel", "sqlalchemy", "alembic"},
}
NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "base", "common", "handler", "handlers", "misc"}
LONGEST = 300
CHANGING = ("update", "delete", "replace")
PRODUCT = [
    path
    for top in (*LAYERS, "app.py", "cli.py")
    for path in ([ROOT / top] if top.endswith(".py") else (ROOT / top).rglob("*.py"))
    if path.exists()
]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def modules(layer: str) -> list[Path]:
    return sorted((ROOT / layer).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of every import, those inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." if node.level else str(node.module).partition(".")[0]


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_go_from_pages_to_storage_to_core_and_never_back(layer):
    above = {*LAYERS[LAYERS.index(layer) + 1 :], "app", "cli", "tests"}
    found = [(path, line, name) for path in modules(layer) for line, name in imported(path)]
    assert [f"{named(path)}:{line} {name}" for path, line, name in found if name in above] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_knows_only_its_own_libraries(layer):
    wrong = [
        f"{named(path)}:{line} {name}"
        for path in modules(layer)
        for line, name in imported(path)
        if name in FORBIDDEN[layer]
    ]
    assert wrong == []


def test_imports_name_the_whole_way():
    assert [f"{named(path)}:{line}" for path in PRODUCT for line, name in imported(path) if name == "."] == []


def test_no_page_lies_directly_in_pages():
    """Streamlit would serve it on the first visit without running app.py, and so without asking who is there."""
    assert [path.name for path in (ROOT / "pages").glob("*.py") if path.name != "__init__.py"] == []


def test_every_module_says_what_it_is_by_its_name():
    assert [named(path) for path in PRODUCT if path.stem in NAMES or path.parent.name in NAMES] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_every_module_says_in_a_sentence_what_it_is(layer):
    texts = {path: path.read_text(encoding="utf-8") for path in modules(layer)}
    silent = [named(path) for path, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))]
    assert silent == []


def test_a_file_is_read_in_one_sitting():
    """Migrations are written by a machine, and never changed."""
    files = [path for path in PRODUCT if "migrations" not in path.parts]
    lengths = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_labels_and_rulings_are_never_changed_or_deleted():
    """Nothing in storage updates or deletes their rows; they are only ever added."""
    changes = [
        (path, call)
        for path in modules("storage")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in CHANGING
    ]
    assert len(changes) > 3
    wrong = [
        (path, call) for path, call in changes if any(row in ast.unparse(call) for row in ("LabelRow", "RulingRow"))
    ]
    assert [f"{named(path)}:{call.lineno}" for path, call in wrong] == []
