"""A worker in a process of its own, for tests and benchmarks, with the clock of its machine ahead or behind.

python -m tests.storage.worker.worker_process URL [--lease SECONDS] [--skew SECONDS] [--traces N] [--backoff SECONDS]
"""

import argparse
import datetime
import signal
import subprocess
import sys
import threading
import time

from tests.paths import ROOT


def start(
    url: str, *, lease: float = 15.0, skew: float = 0.0, traces: int = 8, backoff: float = 1.0
) -> subprocess.Popen[bytes]:
    """Start a worker whose claims expire after `lease` seconds; it waits `backoff` seconds before the first retry."""
    arguments = [url, "--lease", str(lease), "--skew", str(skew), "--traces", str(traces), "--backoff", str(backoff)]
    return subprocess.Popen([sys.executable, "-m", "tests.storage.worker.worker_process", *arguments], cwd=ROOT)


def shift_clock(seconds: float) -> None:
    """Let this process see another time; call it before other modules import `datetime`."""
    real_time, real = time.time, datetime.datetime

    class Shifted(real):
        @classmethod
        def now(cls, tz=None):
            return real.now(tz) + datetime.timedelta(seconds=seconds)

    datetime.datetime = Shifted
    time.time = lambda: real_time() + seconds


def main() -> None:
    """Execute runs until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--lease", type=float, default=15.0)
    parser.add_argument("--skew", type=float, default=0.0)
    parser.add_argument("--traces", type=int, default=8)
    parser.add_argument("--backoff", type=float, default=1.0)
    options = parser.parse_args()
    if options.skew:
        shift_clock(options.skew)

    from core.llm.limits import Limits
    from core.llm.router import Router
    from storage.db.connections import connect
    from storage.runs import calls
    from storage.worker import RunWorker, _shared_runs
    from storage.worker import _worker as execution

    Limits.__init__.__kwdefaults__["backoff"] = options.backoff
    calls.WORKER_LEASE = datetime.timedelta(seconds=options.lease)
    _shared_runs.CHECK_SECONDS = min(_shared_runs.CHECK_SECONDS, options.lease / 4)
    execution.POLL_SECONDS = min(execution.POLL_SECONDS, options.lease / 10)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    worker = RunWorker(connect(options.url), Router, traces=options.traces, grace=10.0)
    worker.start()
    stopping.wait()
    worker.stop()


if __name__ == "__main__":
    main()
