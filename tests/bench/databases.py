"""Databases of benchmarks, and the report of times."""

import os
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

    def server_cpu(self) -> float:
        """Return the processor seconds that the server has used; 0 on SQLite."""
        return 0.0 if self.server is None else self.server.cpu_seconds()


@contextmanager
def temporary_database(*, postgresql: bool) -> Iterator[Database]:
    """Yield an empty database with tables; raises SystemExit without PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
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
        yield Database(engine, url, server)
        engine.dispose()


def print_times(name: str, seconds: Sequence[float]) -> None:
    """Print the median and the 95th percentile of some times."""
    ordered = sorted(seconds)
    median, p95 = ordered[len(ordered) // 2], ordered[int(0.95 * len(ordered))]
    print(f"  {name}: median {1e3 * median:.1f} ms, p95 {1e3 * p95:.1f} ms, n = {len(ordered)}")


def print_load() -> None:
    """Print how busy the machine is."""
    print(f"  load average of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
