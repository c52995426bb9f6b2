"""Who visits a page: read once in each run of it."""

from pages.parts import visitor
from storage import operations
from storage.accounts.identity import Identity


def test_a_page_reads_once_who_visits_it_and_a_change_reads_it_again(engine, monkeypatch):
    read = []
    monkeypatch.setattr(visitor.resources, "engine", lambda: engine)
    monkeypatch.setattr(visitor.logins, "identify", lambda session, cookie: read.append(cookie) or Identity(True))
    with operations.reading_operation():
        assert visitor.current_identity() == visitor.current_identity() == Identity(True)
        assert len(read) == 1
        with operations.operation():
            visitor.current_identity()
        assert len(read) == 2
    with operations.reading_operation():
        visitor.current_identity()
    assert len(read) == 3, "the next run reads it again"
