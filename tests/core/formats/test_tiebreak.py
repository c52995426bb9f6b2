"""Our own file gives back exactly what went in, and a wrong line is named."""

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import formats
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord
from core.items import Item
from core.labels import Label, Target
from core.problems import FileRefused, Problem
from tests.core.formats.strategies import records

ITEM = '{"type":"item","item":{"id":"a","prompt":"p"}}'


def written(them: list) -> str:
    stream = io.StringIO()
    tiebreak.write(them, stream)
    return stream.getvalue()


def refusal(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileRefused) as caught:
        list(tiebreak.read(path))
    return str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(them=st.lists(records, min_size=1, max_size=4))
def test_what_is_written_is_read_back_equal_and_written_again_the_same(tmp_path: Path, them: list) -> None:
    path = tmp_path / "study.jsonl"
    text = written(them)
    path.write_text(text, encoding="utf-8", newline="")
    again = list(tiebreak.read(path))
    assert again == them
    assert written(again) == text


def test_one_true_and_one_point_nought_stay_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    target = Target(item="a", kind="answer")
    them = [LabelRecord(label=Label(target=target, annotator="x", value=value)) for value in (1, True, 1.0, "1")]
    path.write_text(written(them))
    assert [type(record.label.value) for record in tiebreak.read(path)] == [int, bool, float, str]


def test_a_byte_order_mark_blank_lines_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + ITEM.encode() + b"\r\n\r\n")
    assert list(tiebreak.read(path)) == [ItemRecord(item=Item(id="a", prompt="p"))]


def test_a_number_that_is_not_finite_is_never_written_as_a_label_taken_back() -> None:
    label = Label(target=Target(item="a", kind="score"), annotator="x", value=float("inf"))
    with pytest.raises(ValueError, match="JSON compliant"):
        written([LabelRecord(label=label)])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"type":"item"}', "line 2, field 'item': this field is missing"),
        ('{"type":"item","item":{"id":"b"}}', "line 2, field 'item.prompt': this field is missing"),
        ('{"type":"item","item":{"id":5,"prompt":"p"}}', "line 2, field 'item.id': expected text"),
        (
            '{"type":"item","item":{"id":"b","prompt":"p","promt":"x"}}',
            "line 2, field 'item.promt': there is no such field",
        ),
        (
            '{"type":"thing"}',
            "line 2: expected one of 'study', 'criterion', 'scale', 'item', 'run', 'trace', 'label', 'mark', "
            "'ruling', 'aiu_edit', not 'thing'",
        ),
        ("{}", "line 2: expected a field 'type' that says what this is"),
        ("[1]", "line 2: expected named fields"),
        ('{"type":', "line 2: expected JSON: EOF while parsing a value at line 1 column 8"),
        (
            '{"type":"scale","kind":"scor","scale":{"level":"ordinal"}}',
            "line 2, field 'kind': expected 'preference', 'score', 'aiu_precision', 'aiu_recall', 'aspect_weights', "
            "'aspect_quality', 'likert' or 'answer', not 'scor'",
        ),
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
def test_a_wrong_line_is_named_with_its_field(tmp_path: Path, line: str, sentence: str) -> None:
    assert refusal(tmp_path / "study.jsonl", f"{ITEM}\n{line}\n") == sentence


def test_a_file_that_is_empty_or_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    assert refusal(path, "\n \n") == "the file is empty: expected one record a line"
    assert refusal(path, ITEM.encode() + b"\n\xe9") == "line 2: expected text in UTF-8; byte 0xE9 is not"
    assert (
        refusal(path, ITEM.encode("utf-16")) == "line 1: expected text in UTF-8; this file is UTF-16: save it as UTF-8"
    )


def test_a_file_is_recognised_by_its_first_record(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text(ITEM)
    assert formats.detect(path) == "tiebreak"
    assert len(list(formats.read(path))) == 1


def test_what_cannot_be_read_is_said_before_the_first_record(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text(ITEM)
    with pytest.raises(Problem, match=r"there is no format 'xml'; known formats: tiebreak, scaleeval, .*table"):
        formats.read(path, format="xml")
    with pytest.raises(FileRefused, match="there is no file or folder"):
        formats.read(tmp_path / "absent.csv")
    with pytest.raises(Problem, match="it needs a mapping that says what its fields are"):
        formats.read(path, format="table")
