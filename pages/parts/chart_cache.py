"""Figures of charts that are built once for all visitors: Plotly validates every property, which takes 10 to 50 ms."""

import pickle
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import TYPE_CHECKING, ParamSpec

import streamlit as st

if TYPE_CHECKING:
    import plotly.graph_objects as go

Inputs = ParamSpec("Inputs")
MAX_FIGURES = 64


def built_once(build: "Callable[Inputs, go.Figure]") -> "Callable[Inputs, go.Figure]":
    """Return a function that builds the figure of equal inputs and an equal theme only once.

    The inputs can be pickled. The figure is shared by all visitors, so do not modify it.
    """
    name = f"{build.__module__}.{build.__qualname__}"

    @wraps(build)
    def load(*args: Inputs.args, **kwargs: Inputs.kwargs) -> "go.Figure":
        content = pickle.dumps((name, st.context.theme.type, args, kwargs), pickle.HIGHEST_PROTOCOL)
        return _load(blake2b(content).digest(), lambda: build(*args, **kwargs))

    return load


@st.cache_resource(max_entries=MAX_FIGURES, show_spinner=False)
def _load(digest: bytes, _build: "Callable[[], go.Figure]") -> "go.Figure":
    return _build()
