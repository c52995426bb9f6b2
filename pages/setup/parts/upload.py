"""A file to import: an upload, or a path on this machine. Uploads are on disk only while they are being read."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import FileFormatError
from core.formats.mapping.fields import Row
from core.formats.plain_yaml import parse_fields
from core.formats.text import temporary_folder
from pages.parts import permissions

UPLOAD_OPTION, PATH_OPTION = "Upload a file", "Path on this machine"


@dataclass(frozen=True)
class FileSource:
    """An upload in memory, or a path."""

    name: str
    key: str
    """Different for every file, for caches and widget keys."""
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


def draw_yaml_upload(label: str, key: str) -> Row | None:
    """Draw the upload of a YAML file; returns its fields once for each upload, then None."""
    upload = st.file_uploader(label, type=["yaml", "yml", "json"], key=f"{key}_yaml")
    if upload is None or isinstance(upload, list) or st.session_state.get(f"{key}_read") == upload.file_id:
        return None
    st.session_state[f"{key}_read"] = upload.file_id
    try:
        text = upload.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError("expected text in UTF-8") from None
    return parse_fields(text)
