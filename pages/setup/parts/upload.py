"""A file that somebody gives: uploaded, or named by its path on this machine. It is kept no longer than it is read."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.formats.mapping.fields import Row
from core.formats.plain_yaml import fields_of
from core.problems import FileRefused

UPLOAD, PATH = "Upload a file", "A path on this machine"


@dataclass(frozen=True)
class Given:
    """What was given, wherever it is."""

    name: str
    key: str
    """Another one for another file."""
    held: UploadedFile | Path

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Where a reader finds it; an upload lies there only so long."""
        if isinstance(self.held, Path):
            yield self.held
            return
        with TemporaryDirectory(prefix="tiebreak-") as folder:
            path = Path(folder) / (re.sub(r"[/\\\x00]", "_", self.name).lstrip(".")[-120:] or "file")
            path.write_bytes(self.held.getbuffer())
            yield path


def ask(key: str) -> Given | None:
    """A file, or a folder by its path; None while nothing is given."""
    way = st.segmented_control(
        "Where it is", [UPLOAD, PATH], default=UPLOAD, required=True, key=f"{key}_way", label_visibility="collapsed"
    )
    return _path(key) if way == PATH else _uploaded(key)


def _uploaded(key: str) -> Given | None:
    found = st.file_uploader(
        "CSV, TSV, JSON, JSON lines or Parquet", key=f"{key}_file", help="Kept in memory until this page is left."
    )
    if found is None or isinstance(found, list):
        return None
    return Given(name=found.name, key=found.file_id, held=found)


def _path(key: str) -> Given | None:
    """The server can only be reached from this machine, so whoever asks could open the file anyway."""
    text = st.text_input(
        "Path of a file or folder",
        key=f"{key}_path",
        placeholder="/home/me/scaleeval/results/gpt3.5_vs_claude",
        help="A folder is for released results such as ScaleEval's, with its responses beside it.",
    ).strip()
    if not text:
        return None
    path = Path(text).expanduser()
    if not path.exists():
        raise FileRefused(f"there is no file or folder {text}")
    changed = path.stat().st_mtime_ns
    return Given(name=path.name, key=f"{path}:{changed}", held=path)


def yaml(label: str, key: str) -> Row | None:
    """The named fields of a YAML file that was just uploaded; each upload is handed out once."""
    found = st.file_uploader(label, type=["yaml", "yml", "json"], key=f"{key}_yaml")
    if found is None or isinstance(found, list) or st.session_state.get(f"{key}_read") == found.file_id:
        return None
    st.session_state[f"{key}_read"] = found.file_id
    try:
        text = found.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileRefused("expected text in UTF-8") from None
    return fields_of(text)
