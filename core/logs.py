"""The log of the server and of workers: a line of text or of JSON for each message, without keys and passwords."""

import json
import logging
import os
import re
from datetime import UTC, datetime

FORMAT_VARIABLE = "TIEBREAK_LOG_FORMAT"
"""text (the default) or json."""
LEVEL_VARIABLE = "TIEBREAK_LOG_LEVEL"
"""The lowest level that is logged; the default is INFO."""
LOGGERS = ("streamlit", "uvicorn", "uvicorn.error")
"""Loggers of the server, whose own handlers are replaced."""
SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
"""Environment variables with such names have secret values."""
SHORTEST_SECRET = 6
"""Characters; a shorter value, such as "1", is not hidden."""
URL_PASSWORD = re.compile(r"(\w+://[^\s:/@]*):[^\s/@]+@")
HIDDEN = "***"


def configure() -> None:
    """Write the log to standard error in the configured format. Called once by each process that runs for long."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonFormatter() if os.environ.get(FORMAT_VARIABLE) == "json" else _TextFormatter())
    level = logging.getLevelName(os.environ.get(LEVEL_VARIABLE, "INFO").upper())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.getLogger("tiebreak").setLevel(level if isinstance(level, int) else logging.INFO)


def hide_secrets(text: str) -> str:
    """Return a text without the secret values of the environment and without passwords in URLs."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST_SECRET and SECRET_NAME.search(name):
            text = text.replace(value, HIDDEN)
    return URL_PASSWORD.sub(rf"\1:{HIDDEN}@", text)


class _TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

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
