"""The files of a chart: its points as rows, images, and the menu with the route that serves them."""

import re

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from pages.parts import chart_files
from tests.pages.visits import file_client, prepare_study


@pytest.mark.skipif(not chart_files.has_browser(), reason="no Chrome or Chromium to draw images with")
def test_an_image_is_drawn_on_white_without_a_network() -> None:
    figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4])).update_layout(title="Two points", height=300)
    image = chart_files.draw_image(figure, "svg").decode()
    assert image.startswith("<svg") and "Two points" in image and 'width="800"' in image
    assert "background: white" in image or "fill: rgb(255, 255, 255)" in image


@pytest.mark.skipif(not chart_files.has_browser(), reason="no Chrome or Chromium to draw images with")
def test_a_name_in_an_image_does_not_touch_its_bar() -> None:
    figure = go.Figure(go.Bar(x=[1], y=[0], orientation="h")).update_layout(height=200, width=800)
    figure.update_xaxes(range=[0, 1]).update_yaxes(tickvals=[0], ticktext=["careful"])
    image = chart_files.draw_image(figure, "svg").decode()
    name = re.search(r'class="ytick"><text[^>]* x="([\d.]+)"', image)
    plot = re.search(r'class="axesclip" id="clip\w+x"><rect x="([\d.]+)"', image)
    assert name is not None and plot is not None
    assert float(plot[1]) - float(name[1]) >= chart_files.NAME_GAP


def test_the_menu_offers_an_image_only_with_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def page() -> None:
        import plotly.graph_objects as go

        from pages.parts import charts
        from pages.parts.chart_files import ChartData

        rows = [{"judge": "A", "value": 0.5, "low": 0.4, "high": 0.6, "items": 40}]
        charts.draw(go.Figure().update_layout(title="Accuracy"), "accuracy", "Accuracy", data=ChartData(rows))

    prepare_study()
    client = file_client()
    for found, labels in ((True, ["SVG", "PDF", "PNG", "CSV", "LaTeX"]), (False, ["CSV", "LaTeX"])):
        monkeypatch.setattr(chart_files, "has_browser", lambda found=found: found)
        app = AppTest.from_function(page).run()
        links = re.findall(r'href="(/files/[^"]+)" download>(\w+)<', app.get("html")[0].proto.body)
        assert [label for _, label in links] == labels
        assert app.code[0].value.startswith("Accuracy. n = 40 items. 95 % intervals: ")
        answers = [client.get(link) for link, label in links if label in ("CSV", "LaTeX")]
        assert answers[0].text == "judge,value,low,high,items\nA,0.5,0.4,0.6,40\n"
        assert r"A & \stack[c]{{.500} \\ {\scriptsize [.40, .60]}} & 40 \\" in answers[1].text
        assert "accuracy.csv" in answers[0].headers["content-disposition"]
    assert client.get("/files/unknown").status_code == 404
