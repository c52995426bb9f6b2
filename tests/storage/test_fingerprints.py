from datetime import UTC, datetime, timedelta, timezone

from core.labels import Label
from storage.fingerprints import counting, label_row, origin
from tests.conftest import a_target

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def known_by(value=1, target=1, person=1, **fields):
    label = Label(target=a_target(), annotator="ann", value=value, **fields)
    return origin(label_row(label, 1, target, person))


def test_every_part_of_what_is_said_counts():
    origins = [
        *(known_by(value) for value in (1, 1.0, True, "1", "true", None, {"a": 1.0})),
        known_by(target=2),
        known_by(person=2),
        known_by(blind=False),
        known_by(reason="so"),
        known_by(seconds=1.0),
        known_by(at=AT),
    ]
    assert len(set(origins)) == len(origins)


def test_the_same_said_otherwise_is_known_again():
    assert known_by(at=AT) == known_by(at=AT.astimezone(timezone(timedelta(hours=-5))))
    assert known_by({"a": 1.0, "b": 2.0}) == known_by({"b": 2.0, "a": 1.0})


def test_origins_are_the_same_on_every_machine():
    assert known_by(at=AT) == "ac576b7f4628d537fe73699c4d31d6e4"


def test_identical_lines_are_counted():
    ready = counting()
    row = label_row(Label(target=a_target(), annotator="ann", value=1), 1, 1, 1)
    first, second, third = (ready(row)["origin"] for _ in range(3))
    assert len({first, second, third}) == 3
    again = counting()
    assert [again(row)["origin"] for _ in range(3)] == [first, second, third]
