"""A PostgreSQL server that the tests start and stop, if its binaries are installed."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from tests.waiting import wait_for

SETTINGS = {"listen_addresses": "", "fsync": "off", "full_page_writes": "off", "max_connections": "120"}
TIMEOUT = 30.0


def binaries() -> Path | None:
    """Return the folder of initdb and postgres: that of the newest Debian package, otherwise that on the PATH."""
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name))
    on_path = shutil.which("postgres")
    for folder in [*packaged, *([Path(on_path).resolve().parent] if on_path else [])]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    return None


class Server:
    """A server on a socket in a temporary folder. Root starts it as another user: PostgreSQL refuses to run as root."""

    def __init__(self, folder: Path) -> None:
        self.user = _unprivileged()
        self.folder = Path(tempfile.mkdtemp(prefix="tiebreak-pg-", dir="/tmp"))
        if self.user:
            shutil.chown(self.folder, self.user)
        self._databases = 0
        self._earlier_cpu = 0.0
        data = str(self.folder / "data")
        self._run(
            [folder / "initdb", "-D", data, "-U", "tests", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        )
        self._command = [folder / "postgres", "-D", data, "-k", str(self.folder)]
        self._command += [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        self._start()

    def _start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, **self._as_user())
        self._wait()

    def restart(self, seconds: float) -> None:
        """Stop the server, with the connections that it has, and start it again after some seconds."""
        self._earlier_cpu = self.cpu_seconds()
        self._process.send_signal(signal.SIGINT)
        self._process.wait(TIMEOUT)
        time.sleep(seconds)
        self._start()

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://tests@/{database}?host={self.folder}"

    def create(self, template: str = "template0") -> str:
        """Create a database as a copy of `template`, and return its name."""
        self._databases += 1
        name = f"tiebreak_{self._databases}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, name: str) -> None:
        """Remove a database, with its open connections."""
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        """Execute a statement outside of a transaction."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def cpu_seconds(self) -> float:
        """Return the processor seconds of the server's processes, those that have ended included."""
        ticks, server = 0, str(self._process.pid)
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # the process has ended
                continue
            if folder.name == server or fields[1] == server:
                ticks += sum(map(int, fields[11:15] if folder.name == server else fields[11:13]))
        return self._earlier_cpu + ticks / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Stop the server, and remove its files."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self) -> None:
        wait_for(lambda: self._process.poll() is not None or self._is_ready(), TIMEOUT)
        if not self._is_ready():
            raise RuntimeError((self.folder / "log").read_text())

    def _is_ready(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, command: list) -> None:
        subprocess.run(command, check=True, capture_output=True, **self._as_user())

    def _as_user(self) -> dict:
        return {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []} if self.user else {}


def _unprivileged() -> str | None:
    """Return the user to start the server as; None for the current one."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)
