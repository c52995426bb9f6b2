"""Tiebreak's own format: a lossless round trip, and errors with line and field."""

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import FileFormatError
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord
from core.items import Item
from core.labels import Label, Target
from tests.core.formats.shared import write_content
from tests.core.formats.strategies import records

ITEM = '{"type":"item","item":{"id":"a","prompt":"p"}}'


def write_text(records: list) -> str:
    stream = io.StringIO()
    tiebreak.write(records, stream)
    return stream.getvalue()


def read_error(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileFormatError) as caught:
        list(tiebreak.read(path))
    return str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(study=st.lists(records, min_size=1, max_size=4))
def test_records_are_read_back_equal_and_written_again_with_the_same_bytes(tmp_path: Path, study: list) -> None:
    path = tmp_path / "study.jsonl"
    text = write_text(study)
    path.write_text(text, encoding="utf-8", newline="")
    reread = list(tiebreak.read(path))
    assert reread == study
    assert write_text(reread) == text


def test_a_byte_order_mark_blank_lines_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + ITEM.encode() + b"\r\n\r\n")
    assert list(tiebreak.read(path)) == [ItemRecord(item=Item(id="a", prompt="p"))]


def test_a_number_that_is_not_finite_is_written_as_null(tmp_path: Path) -> None:
    label = Label(target=Target(item="a", kind="score"), annotator="x", value=1, seconds=float("inf"))
    path = write_content(tmp_path / "study.jsonl", write_text([LabelRecord(label=label)]))
    (record,) = tiebreak.read(path)
    assert record == LabelRecord(label=label.model_copy(update={"seconds": None}))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"type":"item"}', "line 2, field 'item': this field is missing"),
        ('{"type":"item","item":{"id":"b"}}', "line 2, field 'item.prompt': this field is missing"),
        ('{"type":"item","item":{"id":5,"prompt":"p"}}', "line 2, field 'item.id': expected text"),
        (
            '{"type":"item","item":{"id":"b","prompt":"p","promt":"x"}}',
            "line 2, field 'item.promt': there is no such field",
        ),
        ("{}", "line 2: expected a field 'type' with the type of the value"),
        ("[1]", "line 2: expected named fields"),
        ('{"type":', "line 2: expected JSON: EOF while parsing a value at line 1 column 8"),
        (
            '{"type":"label","label":{"target":{"item":"a","kind":"score"},"annotator":"x","value":[1]}}',
            "line 2, field 'label.value': expected true or false, a number, text or weights",
        ),
        (
            '{"type":"label","label":{"target":{"item":"a","kind":"score"},"annotator":"x","value":NaN}}',
            "line 2, field 'label.value': expected a finite number",
        ),
        (
            '{"type":"label","label":{"target":{"item":"a","kind":"score"},"annotator":"x","value":1e999}}',
            "line 2, field 'label.value': expected a finite number",
        ),
        (
            '{"type":"item","item":{"id":"b","prompt":"a\\u0000b"}}',
            "line 2, field 'item.prompt': expected text without NUL characters",
        ),
    ],
)
def test_an_error_has_the_line_and_the_field(tmp_path: Path, line: str, message: str) -> None:
    assert read_error(tmp_path / "study.jsonl", f"{ITEM}\n{line}\n") == message


def test_an_empty_file_and_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    assert read_error(path, "\n \n") == "the file is empty: expected one record per line"
    assert read_error(path, ITEM.encode() + b"\n\xe9") == "line 2: expected text in UTF-8; byte 0xE9 is not"
    assert (
        read_error(path, ITEM.encode("utf-16"))
        == "line 1: expected text in UTF-8; this file is UTF-16: save it as UTF-8"
    )
