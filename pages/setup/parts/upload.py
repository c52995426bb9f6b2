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
from core.formats.text import temporary_folder
from pages.parts import permissions

Value = TypeVar("Value")
UPLOAD_OPTION, PATH_OPTION = "Upload a file", "Path on this machine"


@dataclass(frozen=True)
class FileSource:
    """An upload in memory, or a path."""

    name: str
    key: str  # different for every file, for caches and widget keys
    content: UploadedFile | Path

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Yield the path to read from; an upload is written to a temporary folder for the duration."""
        if isinstance(self.content, Path):
            yield self.content
            return
        with temporary_folder() as folder:
            path = folder / (re.sub(r"[/\\\x00]", "_", self.name).lstrip(".")[-120:] or "file")
            path.write_bytes(self.content.getbuffer())
            yield path

    def read(self, function: Callable[..., Value], *arguments: Any) -> Value:
        """Return `function(path, *arguments)`, which is computed once for a file and arguments."""
        value: Value = _read(self, function, self.key, function.__qualname__, arguments)
        return value


# The form reads a file in five ways with every choice: 64 results are those of the last few files and choices.
@st.cache_data(max_entries=64, show_spinner="Reading the file …")
def _read(_source: FileSource, _function: Callable[..., Any], key: str, name: str, arguments: tuple[Any, ...]) -> Any:
    with _source.on_disk() as path:
        return _function(path, *arguments)


def draw_upload(key: str) -> FileSource | None:
    """Draw the choice of a file or folder; returns None until there is one.

    Only administrators name a path: the server can read files that concern no study.
    """
    if not permissions.is_administrator():
        return _draw_uploader(key)
    selected = st.segmented_control(
        "Source",
        [UPLOAD_OPTION, PATH_OPTION],
        default=UPLOAD_OPTION,
        required=True,
        key=f"{key}_way",
        label_visibility="collapsed",
    )
    return _draw_path(key) if selected == PATH_OPTION else _draw_uploader(key)


def _draw_uploader(key: str) -> FileSource | None:
    upload = st.file_uploader(
        "CSV, TSV, JSON, JSON lines or Parquet; text also as .gz",
        key=f"{key}_file",
        help="The file is held in memory until you leave this page.",
    )
    if upload is None or isinstance(upload, list):
        return None
    return FileSource(name=upload.name, key=upload.file_id, content=upload)


def _draw_path(key: str) -> FileSource | None:
    """Draw the field for a path."""
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
