"""Reads the rows of Parquet files, of which a small one can hold any number of values, and each of any length."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from core.errors import FileFormatError
from core.formats.mapping.fields import Row
from core.formats.text import MAX_UNPACKED, count_unpacked, record_read, refuse_read_errors

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS = 2048
"""Rows that are read at once."""
MAX_READ = 2**27
"""Bytes that the rows read at once need at most, apart from a single row that needs more."""
MAX_GROUP_VALUES = 2**25
"""Values of a column with lists in one row group: a list of equal values needs no space in a file."""
PAGE_HEADER = 64
"""Bytes that the beginning of a page's header needs at most."""


def read_parquet(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (number from 1, row); raises FileFormatError for what needs too much memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    record_read(path)
    number = unpacked = 0
    try:
        with refuse_read_errors(path), pq.ParquetFile(path) as file:
            for batch in map(_decoded, file.iter_batches(batch_size=_rows_at_once(path, file.metadata))):
                unpacked += batch.nbytes
                count_unpacked(path, unpacked)
                for row in _rows(batch):
                    number += 1
                    yield number, row
    except pa.ArrowException as error:
        raise FileFormatError(f"expected a Parquet file: {str(error).splitlines()[0]}") from None


def _decoded(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Return the rows with values in place of their numbers in a dictionary, as which a file can declare a column."""
    import pyarrow as pa

    columns = [own.dictionary_decode() if isinstance(own, pa.DictionaryArray) else own for own in batch.columns]
    if nested := next((own for own in batch.schema if own.type.num_fields and "dictionary<" in str(own.type)), None):
        raise FileFormatError("expected a column without dictionaries in its lists or records", field=nested.name)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _rows(batch: "pa.RecordBatch") -> Iterator[Row]:
    """Yield the rows of a batch, a few at a time if they are long."""
    step = max(1, min(batch.num_rows, MAX_READ * batch.num_rows // max(2 * batch.nbytes, 1)))
    for start in range(0, batch.num_rows, step):
        yield from batch.slice(start, step).to_pylist()


def _rows_at_once(path: Path, metadata: "pq.FileMetaData") -> int:
    """Return how many rows are read at once: a value that is stored once can be in each of them."""
    longest = 1
    with path.open("rb") as file:
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            columns = [(metadata.schema.column(place), group.column(place)) for place in range(metadata.num_columns)]
            longest = max(longest, sum(_longest(file, *own) for own in columns))
    return max(1, min(ROWS, MAX_READ // longest))


def _longest(file: BinaryIO, schema: "pq.ColumnSchema", column: "pq.ColumnChunkMetaData") -> int:
    """Return the most bytes that a value which several rows of a row group share can have."""
    if column.total_uncompressed_size > MAX_UNPACKED:
        raise FileFormatError("expected a Parquet file with smaller row groups", field=column.path_in_schema)
    is_list = schema.max_repetition_level > 0
    if is_list and column.num_values > MAX_GROUP_VALUES:
        message = f"expected lists with at most {MAX_GROUP_VALUES:,} values in a row group"
        raise FileFormatError(message, field=column.path_in_schema)
    if schema.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return int(schema.length)
    if schema.physical_type != "BYTE_ARRAY":
        return 0
    if "DELTA_BYTE_ARRAY" in column.encodings:  # values that begin like the one before
        return int(column.total_uncompressed_size)
    size, values = _dictionary(file, column)
    if is_list and column.num_values * (size // values) > MAX_UNPACKED:
        raise FileFormatError("expected lists that unpack to less", field=column.path_in_schema)
    return size


def _dictionary(file: BinaryIO, column: "pq.ColumnChunkMetaData") -> tuple[int, int]:
    """Return the unpacked bytes of a column's dictionary, and how many values it has; (0, 1) without one.

    They are in the header of its page, in Thrift's compact protocol:
    https://parquet.apache.org/docs/file-format/data-pages/
    """
    if not column.has_dictionary_page:
        return 0, 1
    file.seek(column.dictionary_page_offset or column.file_offset)
    header = iter(file.read(PAGE_HEADER))
    size, number = int(column.total_uncompressed_size), 0
    for byte in header:
        number += byte >> 4
        if number == 7 and byte & 15 == 12:  # the header of the dictionary: its first field has the values
            return size, max(1, _integer(header) if next(header, 0) == 0x15 else 1)
        if byte & 15 != 5:  # no integer, so not what is expected
            break
        value = _integer(header)
        size = value if number == 2 else size
    return size, 1


def _integer(header: Iterator[int]) -> int:
    """Return the next integer: zigzag, 7 bits a byte, the lowest first."""
    parts = []
    for byte in header:
        parts.append(byte & 127)
        if byte < 128:
            break
    value = sum(part << 7 * place for place, part in enumerate(parts))
    return (value >> 1) ^ -(value & 1)
