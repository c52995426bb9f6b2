"""Rows of every kind of table with their lines, and the errors of invalid files."""

import gzip
import json
import tracemalloc
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats import text
from core.formats.mapping import mapping, table
from core.formats.mapping import rows as row_readers
from core.formats.mapping.fields import MISSING, get_value, parse_nested
from core.formats.mapping.rows import SUFFIXES, parse_number, read_rows
from tests.core.formats.shared import write_content


def read_content(path: Path, content: str | bytes) -> list[tuple[int, Any]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_rows(path))


def test_a_file_without_a_header_loses_no_row(tmp_path: Path) -> None:
    row = "8004\tCannot wait to join in.\t[0, 0]\tNOT\n"
    found = read_content(tmp_path / "t.tsv", row + row)
    assert [line for line, _ in found] == [1, 2]
    assert found[0][1] == dict(zip([f"column {n}" for n in (1, 2, 3, 4)], row.rstrip().split("\t"), strict=True))
    for header in ("item\t1\t2\n", "item\tHow fluent is it in your opinion?\tyes\n"):
        assert [line for line, _ in read_content(tmp_path / "t.tsv", header + "a\tb\t2\n")] == [2]
    for row in (
        "https://x.org/a\tLog in\t2\n",
        "Log in\t-0.09375\t2\n",
        "A house by the sea\tEin Haus an der See\n",
    ):
        assert [line for line, _ in read_content(tmp_path / "t.tsv", row + row)] == [1, 2]
    (tmp_path / "t.tsv").write_text("7\tgood\n8\tbad\n")
    assert [line for line, _ in read_rows(tmp_path / "t.tsv", header=False)] == [1, 2]


def test_a_text_file_is_json_lines_or_delimited(tmp_path: Path) -> None:
    for content in ('{"a": "1", "b": "x"}\n' * 2, "a\tb\n1\tx\n1\tx\n", "a;b\n1;x\n1;x\n"):
        assert [row for _, row in read_content(tmp_path / "t.txt", content)] == [ONE, ONE]


QUOTES = "; if quotation marks do not enclose cells, add `quotes: false` to the mapping"


ONE = {"a": "1", "b": "x"}
READ: dict[str, tuple[str, str, list[tuple[int, Any]]]] = {
    "commas": ("t.csv", "a,b\n1,x\n", [(2, ONE)]),
    "a byte order mark, and lines of Windows": ("t.csv", "\ufeffa,b\r\n1,x\r\n\r\n", [(2, ONE)]),
    "semicolons": ("t.csv", "a;b\n1;x\n", [(2, ONE)]),
    "tabs": ("t.tsv", "a\tb\n1\tx\n", [(2, ONE)]),
    "a first line that names the separator": ("t.csv", "sep=|\na|b\n1|x\n", [(3, ONE)]),
    "a named separator beside others": ("t.csv", "\ufeffsep=;\r\na;b,c\r\n1;x\r\n", [(3, {"a": "1", "b,c": "x"})]),
    "a separator in quotes": ("t.csv", 'id,"a; b"\n1,"x; y"\n', [(2, {"id": "1", "a; b": "x; y"})]),
    "rows of empty cells": ("t.csv", "a;b\n1;x\n;;;;\n ;\n2;y\n", [(2, ONE), (5, {"a": "2", "b": "y"})]),
    "a row over several lines": (
        "t.csv", 'a,b\n1,"x\r\ny"\n2,z\n', [(2, {"a": "1", "b": "x\r\ny"}), (4, {"a": "2", "b": "z"})],
    ),
    "names divided by blanks, and cells by tabs": (
        "t.csv", '# #id    who    label\n1\tx\t"a" tie\n', [(2, {"#id": "1", "who": "x", "label": '"a" tie'})],
    ),
    "an array": ("t.json", '[{"a": 1},\n {"a": 2}]', [(1, {"a": 1}), (2, {"a": 2})]),
    "an array in lines": ("t.jsonl", '\ufeff[\r\n{"a":\r\n1},{"a": 2}]\r\n', [(2, {"a": 1}), (3, {"a": 2})]),
    "lines": ("t.jsonl", '{"a": 1}\n\n  {"a": 2}\r\n', [(1, {"a": 1}), (3, {"a": 2})]),
    "lines in a file of JSON": ("t.json", '{"a": 1}\n{"a": 2}', [(1, {"a": 1}), (2, {"a": 2})]),
    "one object over many lines": ("t.json", '{\n"data": [\n1]}', [(1, {"data": [1]})]),
    "one object over many lines in a file of lines": ("t.jsonl", '{\n"a": 1\n}', [(1, {"a": 1})]),
    "a cell of pandas without a value": ("t.jsonl", '{"a": NaN}\n', [(1, {"a": None})]),
    "lists": ("t.json", '[["a"], [{"b": 1}]]', [(1, {"value": ["a"]}), (1, {"value": [{"b": 1}]})]),
    "lists in lines": ("t.jsonl", "[3, 4]\n[1]\n", [(1, {"value": [3, 4]}), (2, {"value": [1]})]),
    "plain values": ("t.jsonl", '3.5\n\n"good"\n', [(1, {"value": 3.5}), (3, {"value": "good"})]),
}  # fmt: skip


@pytest.mark.parametrize("layout", READ)
def test_the_rows_of_a_file_have_their_lines(tmp_path: Path, layout: str) -> None:
    name, content, rows = READ[layout]
    assert read_content(tmp_path / name, content) == rows


def test_tables_in_the_encodings_of_excel_are_read_and_a_guess_is_stated(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    content = "a,b\n" + f"1,{'x' * 50_000}\n" * 30 + "2,“café”\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        rows = read_content(path, content.encode(encoding))
        assert (len(rows), list(rows[0][1]), rows[-1][1]) == (31, ["a", "b"], {"a": "2", "b": "“café”"})
        mapped = mapping.Mapping.model_validate({"id": "{row}", "responses": [{"text": "b"}]})
        notes = table.statements(path, mapped)[1]
        stated = ["the file is not UTF-8 and was read as Windows-1252, such as '“café”'"]
        assert notes == (stated if encoding == "cp1252" else [])


def test_the_separator_is_detected_from_header_and_rows(tmp_path: Path) -> None:
    rows = read_content(tmp_path / "t.csv", 'id;"text, short";vote\n1;"yes, no";A\n2;so, so;B\n')
    assert rows == [(n, {"id": i, "text, short": t, "vote": v}) for n, i, t, v in (
        (2, "1", "yes, no", "A"), (3, "2", "so, so", "B"))]  # fmt: skip
    path = write_content(tmp_path / "t.csv", "a|b,c\n1|x,y\n")
    assert list(read_rows(path, "|")) == [(2, {"a": "1", "b,c": "x,y"})]
    long = "id;q\n" + "".join(f'{n};"a, b\nc"\n' for n in range(150))
    assert len(read_content(tmp_path / "t.csv", long)) == 150


@pytest.mark.parametrize(
    ("name", "content", "number"),
    [
        ("t.csv", "a;b\n3,5;x\n", 3.5),
        ("t.csv", "a;b\n1,234;x\n", 1.234),
        ("t.tsv", "a\tb\n3,5\tx\n", 3.5),
        ("t.tsv", "a\tb\n1,234\tx\n", None),
        ("t.csv", 'a,b\n"3,5",x\n', None),
    ],
)
def test_a_decimal_comma_is_read_if_the_separator_is_no_comma(
    tmp_path: Path, name: str, content: str, number: float | None
) -> None:
    ((line, row),) = read_content(tmp_path / name, content)
    assert parse_number(row["a"], line, "a") == number


def test_parquet_is_read_with_nested_fields(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"a": 1, "b": {"c": ["x"]}}, {"a": None, "b": {"c": []}}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    assert list(read_rows(tmp_path / "t.parquet")) == [(1, rows[0]), (2, rows[1])]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.xlsx", "", f"t.xlsx is not a table; readable files end in {', '.join(SUFFIXES)}"),
        ("t.csv", "", "t.csv has no rows"),
        ("t.csv", "a,b\n", "t.csv has no rows"),
        ("t.csv", "a,b\n1,2\n1\n", "line 3: expected 2 cells, as in the header, not 1"),
        ("t.csv", "a,b\n1,2,3\n", "line 2: expected 2 cells, as in the header, not 3"),
        ("t.csv", "a,a,a (2)\n1,2,3\n", "line 1, field 'a (2)': two columns have this name"),
        ("t.csv", 'a,b\n1,2\n1,"2\n', "line 3: expected CSV: unexpected end of data" + QUOTES),
        ("t.csv", 'a,b\n1,"2"3\n', "line 2: expected CSV: ',' expected after '\"'" + QUOTES),
        ("t.csv", b"a,b\n1,caf\xe9 \x81\n", "line 2: expected text in UTF-8; byte 0xE9 is not"),
        ("t.json", "", "t.json has no rows"),
        ("t.json", " [ ] ", "t.json has no rows"),
        ("t.json", '[{"a": 1},\n{"a": }]', "line 2: expected JSON: Expecting value"),
        ("t.json", '[{"a": 1}\n{"a": 2}]', "line 2: expected JSON: a comma and another record, or ]"),
        ("t.json", '[{"a": 1},\n]', "line 1: expected JSON: a comma and another record, or ]"),
        ("t.json", '[{"a": 1}', "line 1: expected JSON: a comma and another record, or ]"),
        ("t.json", '[{"a": 1}]\n x', "line 2: expected nothing after the list of records"),
        ("t.json", '{"a":\n 1} 2', "line 2: expected nothing after the first JSON value"),
        ("t.json", "[1]", "line 1: expected a record with named fields, not 1"),
        ("t.json", '"text"', "line 1: expected a record with named fields, not text"),
        ("t.json", '[{"a": Infinity}]', "line 1: expected JSON: Infinity is not a number in JSON"),
        ("t.json", '[{"a": ' + "9" * 5000 + "}]", "line 1: expected a number of at most 15 digits"),
        ("t.json", "[" * 100_000, "line 1: expected JSON that is not nested so deep"),
        ("t.jsonl", '{"a": 1}\n{"a"', "line 2: expected JSON: Expecting ':' delimiter"),
        ("t.jsonl", '{"a": 1}\n{"a": 2} {"a": 3}\n', "line 2: expected one JSON value on this line"),
        ("t.jsonl", '{"a": 1}\n2\n', "line 2: expected a record with named fields, not 2"),
        ("t.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "line 2: expected text in UTF-8; byte 0xFF is not"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_content(tmp_path / name, content)
    assert str(caught.value) == message


def test_an_invalid_parquet_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"^expected a Parquet file: "):
        read_content(tmp_path / "t.parquet", "a,b\n1,2\n")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"^t\.csv cannot be read: No such file or directory$"):
        list(read_rows(tmp_path / "t.csv"))


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.json.GZ"])
def test_a_compressed_table_is_read_as_it_is_unpacked(tmp_path: Path, name: str) -> None:
    contents = {"t.csv.gz": "a,b\n1,é\n", "t.jsonl.gz": '{"a": "1", "b": "é"}\n', "t.json.GZ": '[{"a": "1", "b": "é"}]'}
    (tmp_path / name).write_bytes(gzip.compress(contents[name].encode()))
    assert [dict(row) for _, row in read_rows(tmp_path / name)] == [{"a": "1", "b": "é"}]


def test_a_damaged_or_enormous_compressed_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b'{"a": 1}\n' * 10_000)
    for name, content in (("cut.jsonl.gz", packed[:-9]), ("plain.jsonl.gz", b'{"a": 1}\n')):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileFormatError, match=f"^{name} is not a complete gzip file$"):
            list(read_rows(tmp_path / name))
    monkeypatch.setattr(text, "MAX_UNPACKED", 2**12)
    for name in ("t.jsonl.gz", "t.json.gz"):
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(FileFormatError, match="unpacks to more than"):
            list(read_rows(tmp_path / name))


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.jsonl.gz"])
def test_a_line_that_needs_too_much_memory_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(text, "MAX_LINE", 2**20)
    content = {"t.csv": b"a,b\n1," + b"x" * 2**21}.get(name, b'{"a": 1}\n{"a": "' + b"x" * 2**21 + b'"}\n')
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(FileFormatError, match=r"^line 2: expected a line of at most 1 MB$"):
        list(read_rows(tmp_path / name))


def test_a_file_that_is_read_as_a_whole_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_WHOLE", 2**21)
    (tmp_path / "t.json").write_text('{\n"a": [' + "{}," * 2**20 + "{}]}")
    with pytest.raises(FileFormatError, match="the file has more than 2 MB and is read as a whole; convert it"):
        list(read_rows(tmp_path / "t.json"))


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "object.json"])
def test_json_of_many_empty_values_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`[],` is 3 characters and 72 bytes of memory: 6 MB became 150 MB."""
    monkeypatch.setattr(text, "MAX_PARSED", 2**27)
    values = "[" + "[]," * 2_000_000 + "[]]"
    contents = {"t.json": f'[{{"a": {values}}}]', "object.json": f'{{\n"a": {values}}}'}
    (tmp_path / name).write_text(contents.get(name, f'{{"a": {values}}}\n'))
    assert get_value({"a": values}, "a.0") is MISSING  # a cell with JSON
    with pytest.raises(FileFormatError, match="expected JSON with fewer values"):
        list(read_rows(tmp_path / name))


def test_an_array_over_several_lines_is_read_with_the_line_of_each_element(tmp_path: Path) -> None:
    rows = [{"a": 'é\n\u2028"x'}, {"b": [1.5e3, True, None]}, {"c": {}}, {"d": -12}]
    found = read_content(tmp_path / "t.json", json.dumps(rows, indent=1))
    assert found == list(zip((2, 5, 12, 15), rows, strict=True))


def write_parquet(path: Path, column: Any, **options: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": column}), path, compression="zstd", **options)
    return path


def test_a_long_value_of_a_parquet_file_is_not_unpacked_for_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.5 MB are in each of 200 rows, although they are stored once."""
    monkeypatch.setattr(row_readers, "MAX_READ", 2**22)
    path = write_parquet(tmp_path / "t.parquet", ["y" * 2**19] * 200)
    tracemalloc.start()
    deque(read_rows(path), maxlen=0)
    assert tracemalloc.get_traced_memory()[1] < 12 * 2**20
    tracemalloc.stop()


def test_a_text_that_a_parquet_file_has_once_counts_for_each_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    monkeypatch.setattr(text, "MAX_UNPACKED", 2**14)
    path = write_parquet(tmp_path / "t.parquet", pa.array(["x" * 1000] * 50).dictionary_encode())
    with pytest.raises(FileFormatError, match="unpacks to more than"):
        list(read_rows(path))


def test_an_endless_list_of_a_parquet_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_readers, "MAX_GROUP_VALUES", 1000)
    path = write_parquet(tmp_path / "t.parquet", [[1] * 1001])
    with pytest.raises(FileFormatError, match="expected lists with at most 1,000 values in a row group"):
        list(read_rows(path))


def test_texts_of_a_parquet_file_are_read_alike_with_and_without_a_dictionary(tmp_path: Path) -> None:
    rows = ["é", None, "x" * 9, ""] * 1000
    for name, options in {
        "a": {},
        "b": {"use_dictionary": False},
        "c": {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}},
    }.items():
        path = write_parquet(tmp_path / f"{name}.parquet", rows, **options)
        assert [row["a"] for _, row in read_rows(path)] == rows


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"ann": 1}\n{"id": 2, "meta": {"ann": 1, "b": 2, "ann": 5}}\n',
            "line 2: .*and 'ann' is in it twice$",
        ),
        ("{" + ", ".join(f'"{key}": 1' for key in [*range(50_000), 49_999]) + "}\n", "and '49999' is in it twice"),
    ],
    ids=["inner object", "many keys"],
)
def test_a_key_that_an_object_has_twice_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read_content(tmp_path / "t.jsonl", content)


def test_a_folder_with_a_file_for_each_record_is_a_table(tmp_path):
    for number in (10, 2):
        (tmp_path / f"{number}.json").write_text(json.dumps({"id": number}))
    assert list(read_rows(tmp_path)) == [(1, {"id": 2}), (2, {"id": 10})]
    (tmp_path / "3.json").write_text("{")
    with pytest.raises(FileFormatError, match=r"3\.json: "):
        list(read_rows(tmp_path))


def test_a_list_as_python_prints_it_is_a_list_and_numpys_is_text() -> None:
    assert parse_nested("['a', \"b's\", None, 1.5]") == ["a", "b's", None, 1.5]
    assert parse_nested("{'a': ['b', True]}") == {"a": ["b", True]}
    for other in ("['a' 'b']", "('a',)", "[('a', 1)]", "{'a'}", "['a', b]", "['a']" + " " * 200_000 + "]"):
        assert parse_nested(other) is None


def test_lists_as_python_prints_them_are_stated(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,texts,array\nQ,\"['a', None]\",\"['a' 'b']\"\n")
    found = mapping.build_mapping({"id": "q", "prompt": "texts.0", "context": "array"})
    assert table.statements(tmp_path / "t.csv", found)[1] == ["read as Python prints lists and objects: texts"]
