from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from core.labels import Label
from storage.db.fingerprints import FileFingerprints, encoded_columns, fingerprint, label_columns, label_row
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


def test_equal_content_has_the_same_fingerprint_in_all_versions():
    assert label_fingerprint(at=AT) == "ac576b7f4628d537fe73699c4d31d6e4"
    assert label_fingerprint(at=AT) == label_fingerprint(at=AT.astimezone(timezone(timedelta(hours=-5))))
    assert label_fingerprint({"a": 1.0, "b": 2.0}) == label_fingerprint({"b": 2.0, "a": 1.0})


def test_identical_lines_have_different_fingerprints():
    add_fingerprint = FileFingerprints().add_to
    row = label_row(Label(target=make_target(), annotator="ann", value=1), 1, 1, 1)
    first, second, third = (add_fingerprint(row)["fingerprint"] for _ in range(3))
    assert len({first, second, third}) == 3
    second_file = FileFingerprints().add_to
    assert [second_file(row)["fingerprint"] for _ in range(3)] == [first, second, third]


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5),
    st.dictionaries(st.text("ab", min_size=1, max_size=2), st.floats(0, 1), min_size=1, max_size=2),
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.integers(1, 2), st.integers(1, 2), VALUES, st.sampled_from(["", "so", "%d \u00e9"])), max_size=8
    )
)
def test_labels_of_a_file_have_the_fingerprints_of_their_rows(given_labels):
    by_row, by_parts = FileFingerprints(), FileFingerprints()
    for target, annotator, value, reason in given_labels:
        label = Label(target=make_target(), annotator="ann", value=value, reason=reason, seconds=1.5, at=AT)
        own = by_parts.of_label(1, target, annotator, encoded_columns(label_columns(label)))
        assert own == by_row.add_to(label_row(label, 1, target, annotator))["fingerprint"]
