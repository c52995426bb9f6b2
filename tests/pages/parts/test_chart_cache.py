"""Figures are built once for equal inputs and an equal theme."""

from types import SimpleNamespace

import plotly.graph_objects as go
import pytest
import streamlit as st

from core.formats.charts import Mark
from pages.parts import charts

built: list[str] = []


@charts.built_once
def a_figure(mark: Mark, *, title: str) -> go.Figure:
    built.append(title)
    return go.Figure(go.Scatter(x=[mark.value])).update_layout(title=title)


def a_mark(value: float) -> Mark:
    return Mark("a", value, None, None, "s", "3")


@pytest.fixture(autouse=True)
def light_theme(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    st.cache_resource.clear()
    built.clear()
    theme = SimpleNamespace(type="light")
    monkeypatch.setattr(charts.st, "context", SimpleNamespace(theme=theme))
    return theme


def test_equal_inputs_and_an_equal_theme_have_one_figure(light_theme: SimpleNamespace) -> None:
    assert a_figure(a_mark(0.5), title="t") is a_figure(a_mark(0.5), title="t")
    assert built == ["t"]
    figure = a_figure(a_mark(0.5), title="t")
    assert a_figure(a_mark(0.6), title="t") != figure
    assert a_figure(a_mark(0.5), title="other") != figure
    light_theme.type = "dark"
    assert a_figure(a_mark(0.5), title="t") is not figure
    assert built == ["t", "t", "other", "t"]
