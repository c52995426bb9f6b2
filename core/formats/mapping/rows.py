"""Reads the rows of a CSV, TSV, JSON, JSON lines or Parquet file, each with the line on which it begins."""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.annotator_names import normalize_name
from core.errors import FileFormatError, TiebreakError
from core.formats.gold import COLUMNS as GOLD_COLUMNS
from core.formats.mapping.fields import MISSING, Missing, Row, parse_nested
from core.formats.tables import unescape_formula
from core.formats.text import (
    count_unpacked,
    data_suffix,
    limited_lines,
    open_text,
    read_head,
    read_lines,
    read_text,
    record_read,
    refuse_read_errors,
)
from core.formats.transcripts import traces
from core.formats.validation_errors import join_names, quote_value
from core.labels import Scale, Value

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# Parses the cells of a table: text, numbers, lists, and values on a declared scale.

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SURROGATE = re.compile("[\ud800-\udfff]")
# Characters of a beginning of texts without a value, and its "*".
MIN_BEGIN = 2
MAX_DIGITS = 15
# Larger whole numbers are rounded by spreadsheets, by JSON in browsers, and by Python's floats.
MAX_NUMBER = 10**MAX_DIGITS


class DecimalComma(str):
    """The text of a cell that is a number with a decimal comma, such as `3,5`."""

    __slots__ = ()


def parse_text(cell: Any, line: int, field: str) -> str | None:
    """Return the cell as text, with numbers and dates formatted; None for an empty or missing one."""
    if type(cell) is str and not find_unstorable(cell):  # most cells
        return cell
    if cell is None or isinstance(cell, Missing) or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool | int | float | Decimal | datetime | date | time):
        return format_value(cell)
    if not isinstance(cell, str):
        raise FileFormatError(f"expected text or a number, not {_describe_cell(cell)}", line=line, field=field)
    if content := find_unstorable(cell):
        raise FileFormatError(f"expected text without {content}", line=line, field=field)
    return str(cell)


def find_unstorable(text: str) -> str:
    """Return the part of a text that JSON can represent and a database cannot store; empty if there is none."""
    if "\x00" in text:
        return "NUL characters"
    if not text.isascii() and SURROGATE.search(text):
        return "half of a surrogate pair"
    return ""


def parse_name(cell: Any, line: int, field: str) -> str:
    """Return text without surrounding blanks; raises FileFormatError for an empty cell."""
    text = (parse_text(cell, line, field) or "").strip()
    if not text:
        raise FileFormatError("expected a name or a number, and it is empty", line=line, field=field)
    return text


def check_annotator(name: str, line: int, field: str) -> None:
    """Raise FileFormatError for a name that cannot be stored as an annotator's."""
    try:
        normalize_name(name)
    except TiebreakError as error:
        raise FileFormatError(f"{str(error).rstrip('.')}: {quote_value(name)}", line=line, field=field) from None


def format_value(value: Any) -> str:
    """Return a value as it is written in a file: true, 3 (also for 3.0), 2.5, text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_NUMBER:
        return str(int(value))
    return str(value).strip()


def is_empty(cell: Any) -> bool:
    """Return whether a label's cell contains no label."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or isinstance(cell, Missing) or (isinstance(cell, str) and not cell.strip())


def parse_number(cell: Any, line: int, field: str) -> int | float | None:
    """Return the cell's number, also from text, or None if it is not a number.

    Raises FileFormatError beyond MAX_NUMBER.
    """
    if isinstance(cell, DecimalComma):
        cell = cell.replace(",", ".")
    if isinstance(cell, str) and NUMBER.fullmatch(cell.strip()):
        digits = cell.strip()
        # Long texts become floats first: converting thousands of digits to int takes quadratic time.
        is_whole = len(digits) <= MAX_DIGITS and digits.lstrip("+-").isdecimal()
        cell = int(digits) if is_whole else float(digits)
    if isinstance(cell, Decimal):
        cell = float(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    if not abs(cell) <= MAX_NUMBER:
        message = f"expected a number of at most {MAX_DIGITS} digits, not {quote_value(cell)}"
        raise FileFormatError(message, line=line, field=field)
    return cell


def expect_number(cell: Any, line: int, field: str, noun: str, smallest: float = -math.inf) -> float | None:
    """Return the cell's number, None for an empty cell; raises FileFormatError for a cell that is no `noun`."""
    if is_empty(cell):
        return None
    number = parse_number(cell, line, field)
    if number is None or number < smallest:
        raise FileFormatError(f"expected {noun}, not {quote_value(cell)}", line=line, field=field)
    return float(number)


def parse_list(cell: Any, line: int, field: str, separator: str | None = None) -> list[Any]:
    """Return the list in a cell: a list, a JSON list written as text, or text split at `separator`."""
    if is_empty(cell):
        return []
    if isinstance(cell, str) and separator is not None:
        return [part.strip() for part in cell.split(separator)]
    if isinstance(cell, str) and (nested := parse_nested(cell)) is not None:
        cell = nested
    if not isinstance(cell, list):
        raise FileFormatError(f"expected a list, not {_describe_cell(cell)}", line=line, field=field)
    return cell


WHOLE = re.compile(r"(-?\d+)\.0+")


def canonical(text: str) -> str:
    """Return a text in the spelling that is compared: `True` is `true`, and `1.0` is `1`."""
    lower = text.lower()
    if lower in ("true", "false"):
        return lower
    return WHOLE.sub(r"\1", text) if WHOLE.fullmatch(text) else text


def translated(text: str, translations: Mapping[str, Value | None]) -> str | None:
    """Return the key of the translation of a text; None without one.

    It is the text, or its beginning with "*", which is no value: `N/A*` of `N/A (no errors)`.
    """
    for own in (text, canonical(text)):
        if own in translations:
            return own
    begins = (key for key, value in translations.items() if value is None and len(key) > MIN_BEGIN and key[-1] == "*")
    return next((key for key in begins if text.startswith(key[:-1])), None)


def parse_label(
    cell: Any, scale: Scale, translations: Mapping[str, Value | None], line: int, field: str
) -> Value | None:
    """Return a label's value, translated or on the scale as written; None if the cell contains no label.

    The translation of "" is that of an empty cell, and that of "N/A*" of all other texts that begin so.
    """
    if is_empty(cell):
        return None if cell is MISSING else translations.get("")
    text = format_value(cell) if isinstance(cell, str | bool | int | float) else ""
    known = translated(text, translations)
    if known in (text, canonical(text)):
        return translations[known]
    value = _find_category(cell, text, scale, line, field) if scale.categories else parse_number(cell, line, field)
    if value is None or not scale.contains(value):
        if known is not None:
            return None
        message = f"expected {_describe_scale(scale, translations)}, not {quote_value(cell)}"
        raise FileFormatError(message, line=line, field=field)
    return value


def negated(cell: Any, translations: Mapping[str, Value | None], line: int, field: str) -> Any:
    """Return a number that has no translation with the other sign; other cells as they are."""
    is_translated = isinstance(cell, str | bool | int | float) and format_value(cell) in translations
    number = None if is_translated else parse_number(cell, line, field)
    return cell if number is None else -number


def _find_category(cell: Any, text: str, scale: Scale, line: int, field: str) -> Value | None:
    """Return the category with the cell's spelling: 3, 3.0 and "3" are the category 3, but True is not 1."""
    categories: dict[str, Value] = {format_value(category): category for category in scale.categories}
    if text in categories:
        return categories[text]
    if text.lower() in ("true", "false") and isinstance(categories.get(text.lower()), bool):
        return categories[text.lower()]
    number = parse_number(cell, line, field)
    return None if number is None else categories.get(format_value(number))


def _describe_scale(scale: Scale, translations: Mapping[str, Value | None]) -> str:
    if scale.categories:
        return f"one of {join_names([*map(format_value, scale.categories), *translations])}"
    low = "" if scale.low is None else f" from {format_value(scale.low)}"
    return f"a number{low}{'' if scale.high is None else f' to {format_value(scale.high)}'}"


def _describe_cell(cell: Any) -> str:
    if isinstance(cell, list):
        return "a list"
    return "named fields" if isinstance(cell, dict) else "bytes" if isinstance(cell, bytes) else quote_value(cell)


# Reads the rows of delimited text: commas, semicolons, tabs, or the separator that the file or the mapping names.

SEPARATORS = (",", ";", "\t")
# The first line by which Excel is informed of the separator.
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)
SAMPLE_LINES = 200
# A table with more columns is a matrix, or was read with the wrong separator.
MAX_COLUMNS = 10_000
# Characters of one CSV cell: the csv module's default of 131,072 is too small for long documents.
MAX_CELL_LENGTH = 2**26
# The last columns of a batch of Amazon Mechanical Turk, which its rows lack before the requester's decision.
UNDECIDED = ("Approve", "Reject")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
# The columns of a file without a header, with their numbers from 1.
NUMBERED = "column {}"
# The blanks of a sentence at least; a name of a column can be a whole question, but then no other is a number.
SENTENCE_BLANKS = 4


# A link, or a fraction as it is measured: if the next row has one in the same column, both are values.
MEASURED = re.compile(r"https?://|[+-]?\d*\.\d{3}")
# Whether first lines name the columns, if a person has stated it for files without a mapping.
stated_header: ContextVar[bool | None] = ContextVar("stated_header", default=None)


@dataclass(frozen=True)
class Dialect:
    """How delimited text is written."""

    separator: str
    quotes: bool
    """Whether quotation marks enclose cells."""
    skipped: int = 0
    """Lines before the first row."""
    has_names: bool = True
    """Whether the first row names the columns."""

    def reader(self, lines: Iterable[str]) -> Any:
        """Return a reader of the csv module."""
        quoting: Any = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        return csv.reader(lines, delimiter=self.separator, strict=True, quoting=quoting)


def read_delimited(
    path: Path, separator: str | None = None, quotes: bool | None = None, header: bool | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield (line, row); every row has as many cells as the header. Rows without any text are skipped.

    What the mapping leaves open is detected, see `_dialect`.
    """
    csv.field_size_limit(MAX_CELL_LENGTH)
    dialect = _dialect(path, separator, quotes, stated_header.get() if header is None else header)
    line = dialect.skipped + 1
    names: list[str] = []
    is_own = False
    with open_text(path) as file:
        reader = dialect.reader(islice(limited_lines(file), dialect.skipped, None))
        try:
            for cells in reader:
                if any(map(str.strip, cells)):
                    if not names and dialect.has_names:
                        is_own = tuple(cells[: len(GOLD_COLUMNS)]) == GOLD_COLUMNS  # texts of others stay as they are
                        names = _header([*map(unescape_formula, cells)] if is_own else cells, line)
                    else:
                        numbered = [NUMBERED.format(number) for number in range(1, len(cells) + 1)]
                        names = _divided(names, len(cells)) or names if dialect.has_names else names or numbered
                        row = [*map(unescape_formula, cells)] if is_own else cells
                        yield line, _row(names, row, line, dialect.separator)
                line = dialect.skipped + reader.line_num + 1
        except csv.Error as error:
            hint = "if quotation marks do not enclose cells, add `quotes: false` to the mapping"
            raise FileFormatError(f"expected CSV: {error}; {hint}", line=line) from None


def _dialect(path: Path, separator: str | None, quotes: bool | None, header: bool | None) -> Dialect:
    """Return how a file is written: as stated, or as its first rows say.

    The separator is that of a first line `sep=;`, a tab in .tsv and .tab files, or the one with which the first rows
    have the same number of cells, the most columns first. In a file with tabs, quotation marks can be text. The first
    row names the columns, unless its cells look like values.
    """
    with open_text(path) as file:
        lines = list(islice(limited_lines(file), SAMPLE_LINES))
    named = SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    sample, known = lines[1:] if named else lines, separator or (named and named[1])
    separators = (known,) if known else SEPARATORS if table_suffix(path) == ".csv" else ("\t",)
    quoting = {own: (True, False) if own == "\t" else (True,) for own in separators}
    choices = [Dialect(own, on) for own in separators for on in (quoting[own] if quotes is None else (quotes,))]
    best = max(choices, key=lambda own: _fit(sample, own))
    return replace(best, skipped=len(lines) - len(sample), has_names=_has_names(sample, best, header))


def _has_names(lines: list[str], dialect: Dialect, header: bool | None) -> bool:
    """Return whether a first row names the columns, as stated, or else by its cells: sentences beside numbers or lists
    are values, and so are sentences, links or fractions like those below them."""
    if header is not None:
        return header
    rows: list[list[str]] = []
    with suppress(csv.Error):  # which the import reports
        stripped = ([cell.strip() for cell in cells] for cells in dialect.reader(lines))
        rows.extend(islice((cells for cells in stripped if any(cells)), 2))
    texts, below = [*rows, [], []][:2]
    has_values = any(NUMBER.fullmatch(text) or text.startswith("[") for text in texts)
    sentences, sentences_below = ([text.count(" ") >= SENTENCE_BLANKS for text in row] for row in (texts, below))
    are_alike = any(MEASURED.match(one) and MEASURED.match(two) for one, two in zip(texts, below, strict=False))
    are_texts = len(texts) > 1 and below != [] and all(sentences) and all(sentences_below)
    return not ((has_values and any(sentences)) or are_alike or are_texts)


def _divided(names: list[str], count: int) -> list[str]:
    """Return the names in the only cell of a first line that blanks divide, after a mark of a comment; none if they are
    not as many as the cells of a row."""
    words = names[0].removeprefix("# ").split() if len(names) == 1 else []
    return words if len(words) == count > 1 else []


def _header(cells: list[str], line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(names) > MAX_COLUMNS:
        raise FileFormatError(f"expected at most {MAX_COLUMNS:,} columns, not {len(names):,}", line=line)
    seen = Counter[str]()
    for at, name in enumerate(names):
        seen[name] += 1
        names[at] = f"{name} ({seen[name]})" if name and seen[name] > 1 else name
    if doubled := [name for name, count in Counter(names).items() if name and count > 1]:
        raise FileFormatError("two columns have this name", line=line, field=doubled[0])
    return names


def _row(header: list[str], cells: list[str], line: int, separator: str) -> Row:
    if cells and set(header[len(cells) :]) <= {*UNDECIDED}:
        cells += [""] * (len(header) - len(cells))
    if len(cells) != len(header):
        raise FileFormatError(f"expected {len(header)} cells, as in the header, not {len(cells)}", line=line)
    for place, cell in enumerate(cells if separator != "," else ()):
        # With tabs, `1,234` can be a whole number.
        is_number = "," in cell and DECIMAL_COMMA.fullmatch(cell.strip())
        if is_number and (separator == ";" or not THOUSANDS.fullmatch(cell.strip())):
            cells[place] = DecimalComma(cell)
    return dict(zip(header, cells, strict=True))


def _fit(lines: list[str], dialect: Dialect) -> tuple[bool, int]:
    """Return whether the rows are consistent in at least two columns, and the number of columns of the header."""
    rows: list[list[str]] = []
    is_valid = True
    try:
        rows.extend(cells for cells in dialect.reader(lines) if any(map(str.strip, cells)))
    except csv.Error as error:  # in an incomplete sample it can be that the last row is not complete
        is_cut_off = "unexpected end" in str(error) and len(lines) == SAMPLE_LINES
        is_valid = is_cut_off and len(rows) > 1
    lengths = [len(cells) for cells in rows]
    if len(rows) > 1 and _divided(rows[0], lengths[1]):
        lengths[0] = lengths[1]
    columns = lengths[0] if lengths else 0
    return is_valid and columns > 1 and len(set(lengths)) == 1, columns


SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".jl", ".parquet", ".txt")
WHITESPACE = re.compile(r"[ \t\r\n]*")


def read_rows(
    path: Path, separator: str | None = None, quotes: bool | None = None, header: bool | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) for every record; in a Parquet file the line is the number of the row.

    `separator`, `quotes` and `header` are those of delimited text; None detects them.

    A record that is a list, such as a dialogue, is the field `value`; of recorded traces a row is a trace. Of a folder
    with a JSON file for each record, the line is the number of the file. Raises FileFormatError, possibly after some
    rows: callers must not store any of them before the last.
    """
    if path.is_dir():
        yield from _of_folder(path)
        return
    suffix = table_suffix(path)
    if suffix not in SUFFIXES:
        raise FileFormatError(f"{path.name} is not a table; readable files end in {', '.join(SUFFIXES)}")
    is_empty = True
    for pair in traces.grouped(_records(path, suffix, separator, quotes, header)):
        is_empty = False
        yield pair
    if is_empty:
        raise FileFormatError(f"{path.name} has no rows")


def read_beside(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file beside a table: of a text that is no table, such as `answers.en`, the field `value` of
    each line."""
    if table_suffix(path) in SUFFIXES:
        yield from read_rows(path)
        return
    for number, text in enumerate(read_text(path).removesuffix("\n").split("\n"), 1):
        yield number, {"value": text}


def files_of_records(folder: Path) -> list[Path]:
    """Return the JSON files of a folder, `2.json` before `10.json`; none if it has other data too."""
    files = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    data = [suffix for suffix in map(data_suffix, files) if suffix in SUFFIXES and suffix != ".txt"]
    only = all(suffix == ".json" for suffix in data)
    return sorted((p for p in files if data_suffix(p) == ".json"), key=lambda p: (len(p.name), p.name)) if only else []


def _of_folder(folder: Path) -> Iterator[tuple[int, Row]]:
    for number, path in enumerate(files_of_records(folder), 1):
        try:
            yield from ((number, row) for _, row in read_rows(path))
        except FileFormatError as error:
            raise FileFormatError(f"{path.name}: {error}") from None


def has_header(path: Path) -> bool:
    """Return whether the file's first line names its columns."""
    return table_suffix(path) in (".csv", ".tsv", ".tab")


def table_suffix(path: Path) -> str:
    """Return the suffix that names how a table is written: a .txt file is JSON lines or delimited text."""
    suffix = data_suffix(path)
    if suffix != ".txt":
        return suffix
    return ".jsonl" if read_head(path)[:1] in ("{", "[") else ".csv"


def _records(
    path: Path, suffix: str, separator: str | None, quotes: bool | None, header: bool | None
) -> Iterator[tuple[int, Row]]:
    if suffix == ".parquet":
        yield from read_parquet(path)
    elif has_header(path):
        yield from read_delimited(path, separator, quotes, header)
    elif read_head(path).startswith("[") and not _are_lists(path):
        yield from _elements(read_text(path))
    elif _is_lines(path):
        are_plain = None  # such as one score on each line
        for number, text in read_lines(path):
            value, end = _value(text, _skip(text, 0), number)
            if text[end:].strip():
                raise FileFormatError("expected one JSON value on this line", line=number)
            is_plain = suffix != ".json" and not isinstance(value, dict)
            are_plain = is_plain if are_plain is None else are_plain
            yield number, {"value": value} if is_plain and are_plain else _fields(value, number)
    else:
        text = read_text(path)
        start = _skip(text, 0)
        value, end = _value(text, start, 1 + text.count("\n", 0, start))
        if _skip(text, end) != len(text):
            raise FileFormatError("expected nothing after the first JSON value", line=1 + text.count("\n", 0, end))
        yield 1, _fields(value, 1)


def _are_lists(path: Path) -> bool:
    """Return whether the first two lines are a list each, and not the beginning of one list of records."""
    try:
        values = [json.loads(text) for _, text in islice(read_lines(path), 2)]
    except (ValueError, RecursionError):
        return False
    return len(values) == 2 and all(isinstance(value, list) for value in values)


def _is_lines(path: Path) -> bool:
    """Return whether the first line is a complete JSON value; otherwise the file is one object over several lines, as
    is one that begins with a line of a brace alone."""
    first = next((text for _, text in read_lines(path)), "null")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return data_suffix(path) != ".json" and first.strip() != "{"
    return True


def _elements(text: str) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) of an array; raises FileFormatError for what is no array of records."""
    line, counted, at = 1, 0, _skip(text, text.index("[") + 1)
    while text[at : at + 1] != "]":
        line, counted = line + text.count("\n", counted, at), at
        value, end = _value(text, at, line)
        yield line, {} if value is None else _fields(value, line)  # null keeps the place of a record
        at = _skip(text, end)
        if text[at : at + 1] == "]":
            break
        following = _skip(text, at + 1)
        if text[at : at + 1] != "," or text[following : following + 1] in ("]", ""):
            line += text.count("\n", counted, at)
            raise FileFormatError("expected JSON: a comma and another record, or ]", line=line)
        at = following
    if (rest := _skip(text, at + 1)) < len(text):
        line += text.count("\n", counted, rest)
        raise FileFormatError("expected nothing after the list of records", line=line)


def _skip(text: str, at: int) -> int:
    match = WHITESPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, line: int) -> tuple[Any, int]:
    """Return the JSON value at position `at`, on `line` of the file, and the position after it."""
    try:
        return DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"expected JSON: {error.msg}", line=line + text.count("\n", at, error.pos)) from None
    except RecursionError:
        raise FileFormatError("expected JSON that is not nested so deep", line=line) from None
    except DuplicateKey as error:
        raise FileFormatError(
            f"expected each key of an object once, and {quote_value(str(error))} is in it twice", line=line
        ) from None
    except NotANumber as error:
        raise FileFormatError(f"expected JSON: {error} is not a number in JSON", line=line) from None
    except ValueError:
        raise FileFormatError("expected a number of at most 15 digits", line=line) from None


def _read_constant(name: str) -> None:
    """Return None for NaN, an empty cell of pandas; raises NotANumber for an infinite number."""
    if name != "NaN":
        raise NotANumber(name)


class NotANumber(ValueError):
    """Infinity, which Python's json module accepts and JSON does not."""


class DuplicateKey(ValueError):
    """A key that an object has twice: Python's json module would drop all values but the last."""


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKey(key)
            seen.add(key)
    return fields


DECODER = json.JSONDecoder(parse_constant=_read_constant, object_pairs_hook=_object_of)


def _fields(value: Any, line: int) -> Row:
    if isinstance(value, list):
        return {"value": value}
    if not isinstance(value, dict):
        raise FileFormatError(f"expected a record with named fields, not {_describe(value)}", line=line)
    return value


def _describe(value: Any) -> str:
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else json.dumps(value)[:40]


# Reads the rows of Parquet files, of which a small one can hold any number of values, and each of any length.

# Rows that are read at once.
PARQUET_ROWS = 2048
# Bytes that the rows read at once need at most, apart from a single row that needs more.
MAX_READ = 2**29
# Values of a column with lists in one row group: a list of equal values needs no space in a file.
MAX_GROUP_VALUES = 2**25


def read_parquet(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (number from 1, row); raises FileFormatError for what needs too much memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    record_read(path)
    try:
        with refuse_read_errors(path), pq.ParquetFile(path) as file:
            batches = file.iter_batches(batch_size=_rows_at_once(path, file.metadata))
            yield from enumerate(_rows_of(path, batches), 1)
    except pa.ArrowException as error:
        raise FileFormatError(f"expected a Parquet file: {str(error).splitlines()[0]}") from None


def _rows_of(path: Path, batches: "Iterable[pa.RecordBatch]") -> Iterator[Row]:
    unpacked = 0
    for batch in batches:
        unpacked += sum(map(_size, batch.columns))
        count_unpacked(path, unpacked)
        yield from batch.to_pylist()


def _size(column: "pa.Array") -> int:
    """Return the bytes of a column's values; one that is stored once counts in each row that has it."""
    import pyarrow as pa

    return int((column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).nbytes)


def _rows_at_once(path: Path, metadata: "pq.FileMetaData") -> int:
    """Return how many rows are read at once: a value that is stored once can be in each of them."""
    longest = 1
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        count_unpacked(path, group.total_byte_size)
        columns = [(metadata.schema.column(place), group.column(place)) for place in range(metadata.num_columns)]
        for schema, column in columns:
            if schema.max_repetition_level > 0 and column.num_values > MAX_GROUP_VALUES:
                message = f"expected lists with at most {MAX_GROUP_VALUES:,} values in a row group"
                raise FileFormatError(message, field=column.path_in_schema)
        texts = [column for schema, column in columns if schema.physical_type == "BYTE_ARRAY"]
        longest = max(longest, *(column.total_uncompressed_size for column in texts), 1)
    return max(1, min(PARQUET_ROWS, MAX_READ // longest))
