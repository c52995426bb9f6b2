"""Answers that a page reads once."""

from storage.accounts import registry
from storage.db import guards
from storage.db.connections import reading
from tests.pages.test_queries import statements_of


def read_twice(engine) -> int:
    """Ask twice whether there are accounts; returns the number of statements."""

    def read():
        for _ in range(2):
            with reading(engine) as session:
                assert registry.exist(session) is False

    return len([text for text, _ in statements_of(engine, read) if "account" in text])


def test_a_page_reads_once_whether_there_are_accounts(engine):
    with guards.reading_operation():
        assert read_twice(engine) == 1
    with guards.reading_operation():
        assert read_twice(engine) == 1, "the next page reads it again"


def test_changes_and_commands_read_it_each_time(engine):
    assert read_twice(engine) == 2
    with guards.reading_operation(), guards.operation():
        assert read_twice(engine) == 2
