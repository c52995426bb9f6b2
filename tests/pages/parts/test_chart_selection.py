"""A chart stays the same while its selected point is the one that was clicked last."""

import re
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from pages.parts import charts
from pages.results import renderer
from tests.pages.visits import file_client, prepare_study

KEY = "chart"


def a_figure(title: str = "t") -> go.Figure:
    cells = renderer.clickable_cells([(0, 0), (1, 0)], ["a", ("b", "c")], ["", ""])
    return go.Figure([go.Scatter(x=[0], y=[0], mode="text", customdata=["a"]), cells]).update_layout(title=title)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    values: dict[str, Any] = {}
    monkeypatch.setattr(charts.st, "session_state", values)
    return values


def drawn(state: dict[str, Any], selected: Any) -> tuple[int, Any]:
    """Return the number of the chart, None for the first without a selection, and its selected points, as drawn."""
    given = a_figure()
    figure = charts.mark_selected(given, KEY, selected)
    assert given == a_figure(), "a shared figure is not modified"
    assert figure.data[0].selectedpoints is None
    return figure.layout.meta, figure.data[1].selectedpoints


def click(state: dict[str, Any], *names: Any) -> None:
    state[KEY] = SimpleNamespace(selection=SimpleNamespace(points=[{"customdata": name} for name in names]))


def test_a_clicked_point_does_not_change_the_figure(state: dict[str, Any]) -> None:
    assert drawn(state, None) == (None, None)
    click(state, ["b", "c"])
    assert drawn(state, ("b", "c")) == (None, None)
    click(state, "a")
    assert drawn(state, "a") == (None, None)
    click(state)
    assert drawn(state, None) == (None, None)


def test_a_selection_that_was_not_clicked_is_a_new_chart(state: dict[str, Any]) -> None:
    assert drawn(state, ("b", "c")) == drawn(state, ("b", "c")) == (1, (1,)), "opened by an address"
    click(state, "a")
    assert drawn(state, "a") == (1, (1,)), "the browser marks it"
    assert drawn(state, None) == (2, None), "closed"
    del state[KEY]  # a new chart has no selection yet
    assert drawn(state, None) == (2, None)
    click(state, "a", ["b", "c"])
    assert drawn(state, "a") == (3, (0,)), "two points are marked and one is selected"


def test_files_have_no_selection() -> None:
    figure = a_figure()
    charts.select_points(figure, "a")
    charts.clear_selection(figure)
    assert figure.data[1].selectedpoints is None


# The files of a chart: its points as rows, images, and the menu with the route that serves them


@pytest.mark.skipif(not charts.has_browser(), reason="no Chrome or Chromium to draw images with")
def test_an_image_is_drawn_on_white_without_a_network() -> None:
    figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4])).update_layout(title="Two points", height=300)
    image = charts.draw_image(figure, "svg").decode()
    assert image.startswith("<svg") and "Two points" in image and 'width="800"' in image
    assert "background: white" in image or "fill: rgb(255, 255, 255)" in image


@pytest.mark.skipif(not charts.has_browser(), reason="no Chrome or Chromium to draw images with")
def test_a_name_in_an_image_does_not_touch_its_bar() -> None:
    figure = go.Figure(go.Bar(x=[1], y=[0], orientation="h")).update_layout(height=200, width=800)
    figure.update_xaxes(range=[0, 1]).update_yaxes(tickvals=[0], ticktext=["careful"])
    image = charts.draw_image(figure, "svg").decode()
    name = re.search(r'class="ytick"><text[^>]* x="([\d.]+)"', image)
    plot = re.search(r'class="axesclip" id="clip\w+x"><rect x="([\d.]+)"', image)
    assert name is not None and plot is not None
    assert float(plot[1]) - float(name[1]) >= charts.NAME_GAP


def test_the_menu_offers_an_image_only_with_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def page() -> None:
        import plotly.graph_objects as go

        from pages.parts import charts

        rows = [{"judge": "A", "value": 0.5, "low": 0.4, "high": 0.6, "items": 40}]
        charts.draw(go.Figure().update_layout(title="Accuracy"), "accuracy", "Accuracy", data=charts.ChartData(rows))

    prepare_study()
    client = file_client()
    for found, labels in ((True, ["SVG", "PDF", "PNG", "CSV", "LaTeX"]), (False, ["CSV", "LaTeX"])):
        monkeypatch.setattr(charts, "has_browser", lambda found=found: found)
        app = AppTest.from_function(page).run()
        links = re.findall(r'href="(/files/[^"]+)" download>(\w+)<', app.get("html")[0].proto.body)
        assert [label for _, label in links] == labels
        assert app.code[0].value.startswith("Accuracy. n = 40 items. 95 % intervals: ")
        answers = [client.get(link) for link, label in links if label in ("CSV", "LaTeX")]
        assert answers[0].text == "judge,value,low,high,items\nA,0.5,0.4,0.6,40\n"
        assert r"A & \stack[c]{{.500} \\ {\scriptsize [.40, .60]}} & 40 \\" in answers[1].text
        assert "accuracy.csv" in answers[0].headers["content-disposition"]
    assert client.get("/files/unknown").status_code == 404
