"""The unit tests of the workbench's JavaScript, run by node."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent / "workbench"


def test_the_javascript_of_the_workbench_passes_its_unit_tests() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    files = sorted(str(file) for file in HERE.glob("*.test.mjs"))
    assert files
    done = subprocess.run([node, "--test", *files], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
