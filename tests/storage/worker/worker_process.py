"""A worker in a process of its own.

python -m tests.storage.worker.worker_process URL [--lease SECONDS] [--backoff SECONDS]
"""

import argparse
import signal
import subprocess
import sys
import threading
from datetime import timedelta

from core.llm.limits import Limits
from core.llm.router import Router
from storage.db.connections import connect
from storage.runs import claims
from storage.worker import RunWorker
from tests.paths import ROOT


def start(url: str, *, lease: float = 15.0, backoff: float = 1.0) -> subprocess.Popen[bytes]:
    """Start a worker whose claims expire after `lease` seconds; it waits `backoff` seconds before the first retry."""
    arguments = [url, "--lease", str(lease), "--backoff", str(backoff)]
    return subprocess.Popen([sys.executable, "-m", "tests.storage.worker.worker_process", *arguments], cwd=ROOT)


def main() -> None:
    """Execute runs until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--lease", type=float, default=15.0)
    parser.add_argument("--backoff", type=float, default=1.0)
    options = parser.parse_args()
    Limits.__init__.__kwdefaults__["backoff"] = options.backoff
    claims.LEASE = timedelta(seconds=options.lease)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    worker = RunWorker(connect(options.url), Router, grace=10.0)
    worker.start()
    stopping.wait()
    worker.stop()


if __name__ == "__main__":
    main()
