"""The log of the server and of workers: a line of text or of JSON for each message, without keys and passwords."""

import errno
import json
import logging
import os
import re
import time
from datetime import UTC, datetime

# text (the default) or json.
FORMAT_VARIABLE = "TIEBREAK_LOG_FORMAT"
# The lowest level that is logged; the default is INFO.
LEVEL_VARIABLE = "TIEBREAK_LOG_LEVEL"
# Loggers of the server, whose own handlers are replaced.
LOGGERS = ("streamlit", "uvicorn", "uvicorn.error")
# Environment variables with such names have secret values.
SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
# Characters; a shorter value, such as "1", is not hidden.
SHORTEST_SECRET = 6
URL_PASSWORD = re.compile(r"(\w+://[^\s:/@]*):[^\s/@]+@")
HIDDEN = "***"
# Errors without a free file descriptor: asyncio reports one for each connection that waits, thousands a second.
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
# Between two lines about them.
REPEAT_SECONDS = 60.0


def configure() -> None:
    """Write the log to standard error in the configured format. Called once by each process that runs for long."""
    handler = logging.StreamHandler()
    handler.addFilter(_RareDescriptorErrors())
    text = _TextFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(_JsonFormatter() if os.environ.get(FORMAT_VARIABLE) == "json" else text)
    level = logging.getLevelName(os.environ.get(LEVEL_VARIABLE, "INFO").upper())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # it notes each socket with the browser's address
    logging.getLogger("tiebreak").setLevel(level if isinstance(level, int) else logging.INFO)


def hide_secrets(text: str) -> str:
    """Return a text without the secret values of the environment and without passwords in URLs."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST_SECRET and SECRET_NAME.search(name):
            text = text.replace(value, HIDDEN)
    return URL_PASSWORD.sub(rf"\1:{HIDDEN}@", text)


class _RareDescriptorErrors(logging.Filter):
    """Passes one error without a free file descriptor a minute."""

    _next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, OSError) or error.errno not in NO_DESCRIPTOR:
            return True
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + REPEAT_SECONDS
        return True


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return hide_secrets(super().format(record))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": hide_secrets(record.getMessage()),
            "process": record.process,
        }
        if record.exc_info:
            fields["exception"] = hide_secrets(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False)
