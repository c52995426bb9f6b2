"""Fails when less than FLOOR percent of a module of `core` or `storage` is covered by tests."""

import json
import sys
import tempfile
from pathlib import Path

import coverage

FLOOR = 85


def below_floor(report: dict[str, dict[str, dict[str, float]]]) -> dict[str, float]:
    """Module path -> percent covered, for the modules of `core` and `storage` that are below FLOOR."""
    covered = {name: file["summary"]["percent_covered"] for name, file in report["files"].items()}
    return {
        name: percent
        for name, percent in covered.items()
        if percent < FLOOR and Path(name).parts[0] in ("core", "storage") and "migrations" not in Path(name).parts
    }


def main() -> int:
    data = coverage.Coverage()
    data.load()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        data.json_report(outfile=file.name)
        report = json.loads(Path(file.name).read_text(encoding="utf-8"))
    low = below_floor(report)
    for name, percent in sorted(low.items()):
        sys.stdout.write(f"{name}: {percent:.0f} % of its lines are covered; {FLOOR} % are required\n")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
