"""The parts of the URL of a database."""

from pathlib import Path

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from core.errors import TiebreakError


def parse(url: str) -> URL:
    """Return the parts of the URL of a database; raises TiebreakError if it is none."""
    try:
        return make_url(url)
    except ArgumentError:
        raise TiebreakError("The database's address cannot be read: it should look like sqlite:///file.db.") from None


def missing_file(url: str) -> str | None:
    """Return the path of a SQLite file that does not exist; None for any other database."""
    parsed = parse(url)
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:")
    return parsed.database if is_file and not Path(str(parsed.database)).exists() else None
