"""Traces that Phoenix and MLflow record and export now are imported part for part.

Not in the default run: TIEBREAK_PRODUCERS is the Python of an environment with arize-phoenix and mlflow.
"""

import io
import json
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest

from core.formats.mapping.rows import read_rows
from core.formats.mapping.suggest import build_suggested, suggest_table
from core.formats.records import LabelRecord
from core.formats.registry import read_records, write_records
from core.labels import Label, Target
from tests.browser.conftest import wait_until_served
from tests.core.formats.shared import items_of
from tests.core.formats.transcripts.test_messages import imported

PYTHON = os.environ.get("TIEBREAK_PRODUCERS", "")
FILES = ("phoenix.jsonl", "phoenix_table.jsonl", "phoenix.parquet", "mlflow.jsonl", "mlflow_table.jsonl")
PORTS = {"phoenix": "21106", "phoenix_grpc": "21107", "mlflow": "21108"}
CONTENTS = [
    ("text", "system", "", "Be brief."),
    ("text", "user", "", "Rome? ☀"),
    ("tool_call", "assistant", "weather", '{"city": "Rome"}'),
    ("error", "tool", "weather", "timeout"),
    ("text", "assistant", "", "I cannot tell."),
]


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Start both servers on loopback, record traces with their SDKs, and return the folder of their exports."""
    folder: Path = tmp_path_factory.mktemp("producers")
    own = {"HOME": str(folder), "PATH": f"{Path(PYTHON).parent}:{os.environ['PATH']}"}
    own |= {"PHOENIX_WORKING_DIR": str(folder), "PHOENIX_PORT": PORTS["phoenix"], "PHOENIX_HOST": "127.0.0.1"}
    own |= {"PHOENIX_GRPC_PORT": PORTS["phoenix_grpc"], "PHOENIX_TELEMETRY_ENABLED": "false"}
    store = ["--backend-store-uri", f"sqlite:///{folder}/m.db", "--host", "127.0.0.1", "--port", PORTS["mlflow"]]
    commands = [["-m", "phoenix.server.main", "serve"], ["-m", "mlflow", "server", "--workers", "1", *store]]
    servers = [
        subprocess.Popen([PYTHON, *command], env=own, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]
    try:
        for name, server in zip(("phoenix", "mlflow"), servers, strict=True):
            assert wait_until_served(f"http://127.0.0.1:{PORTS[name]}/", server), name
        script = Path(__file__).with_name("producers.py")
        subprocess.run([PYTHON, script, folder, PORTS["phoenix"], PORTS["mlflow"]], env=own, cwd=folder, check=True)
        yield folder
    finally:
        for server in servers:
            server.terminate()
            server.wait(30)


@pytest.mark.skipif(not PYTHON, reason="TIEBREAK_PRODUCERS names no Python with arize-phoenix and mlflow")
@pytest.mark.parametrize("name", FILES)
def test_a_trace_of_a_real_producer_is_imported_part_for_part(name, exports):
    ((_, row),) = read_rows(exports / name)
    keys = ("kind", "role", "name", "content")
    found = [tuple(part.get(key, "") for key in keys) for part in row["transcript"]]
    assert [(*one[:3], one[3].removeprefix("TimeoutError: ")) for one in found] == CONTENTS
    texts, (item,) = imported(exports / name)
    assert len(texts) == 1 and (item.prompt, item.responses[0].text) == ("Rome? ☀", "I cannot tell.")


@pytest.mark.skipif(not PYTHON, reason="TIEBREAK_PRODUCERS names no Python with arize-phoenix and mlflow")
def test_a_real_phoenix_takes_the_annotations_of_its_trace(exports):
    mapping, _ = build_suggested(suggest_table(exports / "phoenix.jsonl"))
    records = list(read_records(exports / "phoenix.jsonl", None, mapping))
    (trace,) = [record.id for record in items_of(records)]
    values = (("first wrong step", "", 4), ("first wrong step", "", 0), ("error category", "step 3", "wrong tool"))
    for who, (criterion, part, value) in enumerate(values):
        target = Target(item=trace, kind="answer", criterion=criterion, part=part)
        records.append(LabelRecord(label=Label(target=target, annotator=f"annotator {who}", value=value)))
    stream = io.StringIO()
    assert write_records(records, "phoenix", stream) == 0
    for route, annotations in json.loads(stream.getvalue()).items():
        address = f"http://127.0.0.1:{PORTS['phoenix']}/v1/{route}?sync=true"
        body = json.dumps({"data": annotations}).encode()
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            stored = json.load(reply)["data"]
        assert len(stored) == len(annotations) == (2 if route == "span_annotations" else 1)
