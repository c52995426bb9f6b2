"""Figures are built once for equal inputs and an equal theme."""

from types import SimpleNamespace

import plotly.graph_objects as go
import pytest
import streamlit as st

from core.statistics.reports.agreement import AgreementRow
from pages.parts import chart_files
from pages.parts.charts import Series

built: list[str] = []


@chart_files.built_once
def a_figure(series: Series, *, title: str) -> go.Figure:
    built.append(title)
    return go.Figure(go.Scatter(x=[row.value for row in series.rows.values()])).update_layout(title=title)


def a_series(value: float) -> Series:
    row = AgreementRow("score", "c", "all", "alpha", value, None, None, items=3, raters=2, pairs=3, reason="")
    return Series("s", {"a": row})


@pytest.fixture(autouse=True)
def light_theme(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    st.cache_resource.clear()
    built.clear()
    theme = SimpleNamespace(type="light")
    monkeypatch.setattr(chart_files.st, "context", SimpleNamespace(theme=theme))
    return theme


def test_equal_inputs_have_one_figure() -> None:
    assert a_figure(a_series(0.5), title="t") is a_figure(a_series(0.5), title="t")
    assert built == ["t"]


def test_other_inputs_and_another_theme_have_another_figure(light_theme: SimpleNamespace) -> None:
    figure = a_figure(a_series(0.5), title="t")
    assert a_figure(a_series(0.6), title="t") != figure
    assert a_figure(a_series(0.5), title="other") != figure
    light_theme.type = "dark"
    assert a_figure(a_series(0.5), title="t") is not figure
    assert built == ["t", "t", "other", "t"]
