"""Databases of benchmarks, and the report of times and memory."""

import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from storage.db import connections
from tests.storage.postgres import Server, binaries

POSTGRESQL_HELP = "on a server that is started for it, else on SQLite"


@dataclass(frozen=True)
class Database:
    """A database of a benchmark."""

    engine: Engine
    url: str
    server: Server | None
    """None on SQLite."""
    folder: Path = Path()
    """A folder for further files, which is removed with the database."""

    def server_cpu(self) -> float:
        """Return the processor seconds that the server has used; 0 on SQLite."""
        return 0.0 if self.server is None else self.server.cpu_seconds()


@contextmanager
def temporary_database(*, postgresql: bool = False, url: str = "") -> Iterator[Database]:
    """Yield the database at a URL, or an empty one, with tables; raises SystemExit without PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = url or f"sqlite:///{Path(folder) / 'bench.db'}"
        server = None
        if postgresql:
            programs = binaries()
            if programs is None:
                raise SystemExit("PostgreSQL is not installed.")
            server = Server(programs)
            stack.callback(server.stop)
            url = server.url(server.create())
        engine = connections.connect(url)
        connections.upgrade(engine)
        yield Database(engine, url, server, Path(folder))
        engine.dispose()


def summarize(milliseconds: Sequence[float], *, largest: bool = False) -> str:
    """Return median, 95th percentile, the largest if it is wanted, and n of some times."""
    if not milliseconds:
        return "–"
    end = f" / {max(milliseconds):.0f}" if largest else ""
    return f"{statistics.median(milliseconds):.0f} / {percentile_95(milliseconds):.0f}{end} ({len(milliseconds)})"


def percentile_95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


def print_times(name: str, seconds: Sequence[float]) -> None:
    """Print the median and the 95th percentile of some times."""
    median, p95 = 1e3 * statistics.median(seconds), 1e3 * percentile_95(seconds)
    print(f"  {name}: median {median:.1f} ms, p95 {p95:.1f} ms, n = {len(seconds)}")


def resident_megabytes(process: int) -> tuple[float, float]:
    """Return the resident memory of a process, and the most that it had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    values = {name: float(value.split()[0]) / 1e3 for name, _, value in (line.partition(":") for line in lines)
              if name in ("VmRSS", "VmHWM")}  # fmt: skip
    return values["VmRSS"], values["VmHWM"]


def print_load() -> None:
    """Print how busy the machine is."""
    print(f"  load average of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
