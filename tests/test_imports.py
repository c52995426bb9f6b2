"""The large libraries that each command imports: what a command does not use costs it seconds and megabytes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url

from storage.transfer import samples
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
ALLOWED = {
    "--help": set(),
    "import": STORAGE | DEBATES,
    "run": STORAGE | DEBATES | {"aiohttp"},
    "agreement": STORAGE | {"krippendorff", "numpy", "tabulate"},
    "audit": STORAGE | {"tabulate"},
    "members": STORAGE | {"core.trace", "tabulate"},
    "studies": STORAGE | {"core.trace", "tabulate"},
    "summaries": STORAGE | {"core.trace"},
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


@pytest.mark.slow
def test_commands_import_only_the_libraries_that_they_use(database, tmp_path):
    def loaded(command, study, *words):
        return loaded_by(command, *words, "--study", study, "--database", database)

    def settings(address, **fields):
        judges = [{"name": name, "model": f"judge-{number}", "address": address} for number, name in enumerate("abc")]
        file = tmp_path / "settings.yaml"
        file.write_text(yaml.safe_dump({"judges": judges, **fields}))
        return "--settings", str(file), "--limit", "1"

    for protocol in ("scaleeval", "metacritique"):
        assert loaded("import", protocol, str(samples.path(protocol))) <= ALLOWED["import"]
    with run_server() as server:
        debate = settings(server.address, criterion={"name": "helpfulness"})
        assert loaded("run", "scaleeval", "--protocol", "scaleeval", *debate) <= ALLOWED["run"]
        critique = settings(server.address)
        assert loaded("run", "metacritique", "--protocol", "metacritique", *critique) <= ALLOWED["run"]
    assert loaded("agreement", "scaleeval") <= ALLOWED["agreement"]
    assert loaded("members", "scaleeval") <= ALLOWED["members"]
    for words in (("audit",), ("studies", "list"), ("summaries", "--check")):
        assert loaded_by(*words, "--database", database) <= ALLOWED[words[0]]
    file = Path(make_url(database).database)
    assert [path.name for path in file.parent.iterdir()] == [file.name]  # each command has closed its connections
