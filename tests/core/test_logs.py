import json
import logging
import sys

import pytest

from core import logs


@pytest.fixture
def restored_logging():
    """Restores the handlers and levels of the root logger and of Tiebreak's."""
    root, own = logging.getLogger(), logging.getLogger("tiebreak")
    before = (list(root.handlers), root.level, own.level)
    level = logging.getLogger("uvicorn.error").level
    yield
    logging.getLogger("uvicorn.error").setLevel(level)
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    own.setLevel(before[2])


def log_lines(capsys, monkeypatch, format):
    monkeypatch.setenv(logs.FORMAT_VARIABLE, format)
    monkeypatch.setenv("LAB_API_KEY", "sk-canary-123456")
    logs.configure()
    logger = logging.getLogger("tiebreak")
    logger.info("connected to postgresql://ann:canary-password@host/db with sk-canary-123456")
    try:
        raise ValueError("sk-canary-123456 was refused")
    except ValueError:
        logger.error("failed", exc_info=sys.exc_info())
    logging.getLogger("a.library").info("not logged")
    return capsys.readouterr().err


def test_a_json_log_has_one_object_per_line(capsys, monkeypatch, restored_logging):
    first, second = map(json.loads, log_lines(capsys, monkeypatch, "json").splitlines())
    assert first["message"] == "connected to postgresql://ann:***@host/db with ***"
    assert (first["level"], first["logger"]) == ("INFO", "tiebreak")
    assert "ValueError: *** was refused" in second["exception"]


def test_no_secret_is_in_a_text_log(capsys, monkeypatch, restored_logging):
    text = log_lines(capsys, monkeypatch, "text")
    assert "INFO tiebreak: connected" in text and "Traceback" in text
    assert "canary" not in text and "not logged" not in text


def test_an_unknown_level_is_info(monkeypatch, restored_logging):
    monkeypatch.setenv(logs.LEVEL_VARIABLE, "loud")
    logs.configure()
    assert logging.getLogger("tiebreak").level == logging.INFO
