from datetime import UTC, datetime, timedelta, timezone

from core.labels import Label
from storage.fingerprints import file_fingerprinter, fingerprint, label_row
from tests.conftest import make_target

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def label_fingerprint(value=1, target=1, annotator=1, **fields):
    label = Label(target=make_target(), annotator="ann", value=value, **fields)
    return fingerprint(label_row(label, 1, target, annotator))


def test_every_column_changes_the_fingerprint():
    fingerprints = [
        *(label_fingerprint(value) for value in (1, 1.0, True, "1", "true", None, {"a": 1.0})),
        label_fingerprint(target=2),
        label_fingerprint(annotator=2),
        label_fingerprint(blind=False),
        label_fingerprint(reason="so"),
        label_fingerprint(seconds=1.0),
        label_fingerprint(at=AT),
    ]
    assert len(set(fingerprints)) == len(fingerprints)


def test_equal_content_has_the_same_fingerprint():
    assert label_fingerprint(at=AT) == label_fingerprint(at=AT.astimezone(timezone(timedelta(hours=-5))))
    assert label_fingerprint({"a": 1.0, "b": 2.0}) == label_fingerprint({"b": 2.0, "a": 1.0})


def test_a_fingerprint_never_changes_between_versions():
    assert label_fingerprint(at=AT) == "ac576b7f4628d537fe73699c4d31d6e4"


def test_identical_lines_have_different_fingerprints():
    add_fingerprint = file_fingerprinter()
    row = label_row(Label(target=make_target(), annotator="ann", value=1), 1, 1, 1)
    first, second, third = (add_fingerprint(row)["fingerprint"] for _ in range(3))
    assert len({first, second, third}) == 3
    second_file = file_fingerprinter()
    assert [second_file(row)["fingerprint"] for _ in range(3)] == [first, second, third]
