"""The large libraries that each command imports: what a command does not use costs it seconds and megabytes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import make_url

from storage.transfer import samples
from tests.bench.command_inputs import debate_settings
from tests.databases import create_database
from tests.openai_server import run_server
from tests.paths import ROOT

LARGE = (
    "PIL aiohttp alembic cryptography krippendorff litellm numpy numpy.ma openai pandas plotly pyarrow rich scipy "
    "scipy.sparse scipy.special scipy.stats sklearn sqlalchemy sqlmodel statsmodels streamlit tabulate "
    "core.llm.client core.trace"
)
"""The last two are modules of the project that take a tenth of a second: the clients of models, and all answers."""
DEBATES = {"core.llm.client", "core.trace"}
STORAGE = {"sqlalchemy", "sqlmodel"}
FIGURES = {
    "krippendorff",
    "numpy",
    "numpy.ma",
    "pandas",
    "pyarrow",
    "scipy",
    "scipy.sparse",
    "scipy.special",
    "tabulate",
}
ALLOWED = {
    "--help": set(),
    "data import": STORAGE | DEBATES,
    "runs start": STORAGE | DEBATES | {"aiohttp"},
    "people agreement": STORAGE | FIGURES,
    "server audit": STORAGE | {"tabulate"},
    "studies list": STORAGE | {"core.trace", "tabulate"},
}
"""Command -> the libraries and slow modules that it may import."""
PROGRAM = f"""
import json, sys
import cli
sys.argv = ["cli.py", *sys.argv[1:]]
try:
    cli.app()
except SystemExit as end:
    print(json.dumps([end.code or 0, [name for name in '{LARGE}'.split() if name in sys.modules]]))
"""
PROTOCOLS = sorted(path.parent.name for path in (ROOT / "core" / "protocols").glob("*/protocol.py"))
MOST_MODULES = 25
"""The modules of the project that one protocol needs, those of a protocol that it builds on aside."""
COUNT = f"""
import importlib, json, sys
counts = {{}}
for name in {PROTOCOLS}:
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] in ("core", "storage", "pages")]:
        del sys.modules[loaded]
    importlib.import_module("core.protocols." + name)
    modules = [loaded for loaded in sys.modules if loaded.partition(".")[0] in ("core", "storage", "pages")]
    others = [other for other in {PROTOCOLS} if other != name]
    counts[name] = sum((loaded.split(".") + ["", ""])[2] not in others for loaded in modules)
print(json.dumps(counts))
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return create_database(tmp_path_factory.mktemp("imports") / "tiebreak.db")


def loaded_by(*words):
    """Run a command in a process of its own; return the large libraries that it has imported."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(loaded)


def test_the_help_imports_no_large_library():
    assert loaded_by("--help") <= ALLOWED["--help"]


def test_a_protocol_imports_what_it_uses():
    done = subprocess.run([sys.executable, "-c", COUNT], cwd=ROOT, capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)
    assert counts.keys() == set(PROTOCOLS)
    assert {name: count for name, count in counts.items() if count > MOST_MODULES} == {}


@pytest.mark.slow
def test_commands_import_only_the_libraries_that_they_use(database, tmp_path):
    def loaded(command, study, *words):
        return loaded_by(*command.split(), *words, "--study", study, "--database", database)

    assert loaded("data import", "scaleeval", str(samples.path("scaleeval"))) <= ALLOWED["data import"]
    assert loaded("people agreement", "scaleeval") <= ALLOWED["people agreement"]
    with run_server() as server:
        settings = debate_settings(tmp_path / "settings.yaml", server.address)
        words = ("--protocol", "scaleeval", "--settings", str(settings), "--limit", "1")
        assert loaded("runs start", "scaleeval", *words) <= ALLOWED["runs start"]
    for words in ("server audit", "studies list"):
        assert loaded_by(*words.split(), "--database", database) <= ALLOWED[words]
    file = Path(make_url(database).database)
    assert [path.name for path in file.parent.iterdir()] == [file.name]  # each command has closed its connections
