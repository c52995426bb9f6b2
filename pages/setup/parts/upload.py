"""A file to import: an upload, or a path on this machine. Uploads are on disk only while they are being read."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import FileFormatError
from core.formats.mapping.joins import find_joins
from core.formats.mapping.mapping import Mapping, dump_mapping
from core.formats.text import temporary_folder
from pages.parts import permissions
from pages.parts.text import escape_markdown

Value = TypeVar("Value")
UPLOAD_OPTION, PATH_OPTION = "Upload a file", "Path on this machine"


@dataclass(frozen=True)
class FileSource:
    """An upload in memory, or a path."""

    name: str
    key: str  # different for every file, for caches and widget keys
    content: UploadedFile | Path
    others: tuple[UploadedFile, ...] = ()  # files that are joined to its rows
    join: tuple[dict[str, Any], ...] = ()  # how: the `join` of a mapping

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Yield the path to read from; an upload is written to a temporary folder for the duration."""
        if isinstance(self.content, Path):
            yield self.content
            return
        with temporary_folder() as folder:
            for upload in (*self.others, self.content):
                path = folder / _file_name(upload)
                path.write_bytes(upload.getbuffer())
            yield path

    def read(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """Return `function(path, *arguments)`, which is computed once for a file and arguments."""
        value: Value = _read(self, function, self.key, function.__qualname__, arguments)
        return value


def _file_name(upload: UploadedFile | Path) -> str:
    return re.sub(r"[/\\\x00]", "_", upload.name).lstrip(".")[-120:] or "file"


# The form reads a file in five ways with every choice: 64 results are those of the last few files and choices.
@st.cache_data(max_entries=64, show_spinner="Reading the file …", hash_funcs={Mapping: dump_mapping})
def _read(_source: FileSource, _function: Callable[..., Any], key: str, name: str, arguments: tuple[Any, ...]) -> Any:
    with _source.on_disk() as path:
        return _function(path, *arguments)


def draw_upload(key: str, *, several: bool = False) -> FileSource | None:
    """Draw the choice of a file or folder, or of several tables that are joined; returns None until there is one.

    Only administrators name a path: the server can read files that concern no study.
    """
    if not permissions.is_administrator():
        return _draw_uploader(key, several)
    selected = st.segmented_control(
        "Source",
        [UPLOAD_OPTION, PATH_OPTION],
        default=UPLOAD_OPTION,
        required=True,
        key=f"{key}_way",
        label_visibility="collapsed",
    )
    return _draw_path(key) if selected == PATH_OPTION else _draw_uploader(key, several)


def _draw_uploader(key: str, several: bool) -> FileSource | None:
    joined = "Several tables are joined by the columns that pair up. " if several else ""
    chosen = st.file_uploader(
        "CSV, TSV, JSON, JSON lines or Parquet; text also as .gz",
        key=f"{key}_file",
        help=f"{joined}Files are held in memory until you leave this page.",
        accept_multiple_files=several,
    )
    uploads = chosen if isinstance(chosen, list) else [chosen] if chosen else []
    if not uploads:
        return None
    if len({_file_name(own) for own in uploads}) < len(uploads):
        raise FileFormatError("two of the files have the same name")
    source = FileSource(uploads[0].name, "-".join(own.file_id for own in uploads), uploads[0], tuple(uploads[1:]))
    return _joined(source) if source.others else source


def _joined(source: FileSource) -> FileSource:
    """Return the table among several files, with how the others are joined to it; the first, if a mapping has to say
    this."""
    try:
        table, join = source.read(_find_joins)
    except FileFormatError as error:
        reason, name = escape_markdown(str(error)), escape_markdown(source.name)
        st.warning(f"{reason}. {name} is read as the table until a mapping joins the others.")
        return source
    uploads = [source.content, *source.others]
    content = next(own for own in uploads if _file_name(own) == table)
    others = tuple(own for own in uploads if isinstance(own, UploadedFile) and own is not content)
    return FileSource(table, source.key, content, others, tuple(join))


def _find_joins(path: Path) -> tuple[str, list[dict[str, Any]]]:
    table, join = find_joins([path, *sorted(own for own in path.parent.iterdir() if own != path)])
    return table.name, join


def _draw_path(key: str) -> FileSource | None:
    text = st.text_input(
        "Path of a file or folder",
        key=f"{key}_path",
        placeholder="/home/me/scaleeval/results/gpt3.5_vs_claude",
        help="Folders are for released results such as ScaleEval's, with the responses next to them.",
    ).strip()
    if not text:
        return None
    path = Path(text).expanduser()
    if not path.exists():
        raise FileFormatError(f"file or folder not found: {text}")
    modified = path.stat().st_mtime_ns
    return FileSource(name=path.name, key=f"{path}:{modified}", content=path)


def read_text(upload: UploadedFile) -> str:
    """Return the text of an upload; raises FileFormatError if it is none."""
    try:
        return upload.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError("expected text in UTF-8") from None
