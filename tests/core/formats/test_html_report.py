"""The HTML report and its charts."""

import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from core.formats.charts import Mark, interval_svg
from core.formats.html_report import Section, write_report

HOSTILE = '<script src="https://example.org/x.js">&"'


def numbers(svg, tag, name):
    return [float(element.attrib[name]) for element in ElementTree.fromstring(svg).iter(tag)]


def parsed_tags(html):
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, attributes))
    parser.feed(html)
    return found


def test_points_are_placed_by_their_values_within_the_axis():
    points = [Mark("a", 0.25, 0.0, 0.5, "", "10"), Mark("b", 0.75, None, None, "", "12")]
    svg = interval_svg(points, "Accuracy", [("ceiling", 0.5)])
    first, second = numbers(svg, "circle", "cx")
    ticks = dict(re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d.]+)<', svg))
    places = {float(value): float(x) for x, value in ticks.items()}
    assert second - first == pytest.approx(0.5 / 0.2 * (places[0.2] - places[0.0]), abs=0.2)
    assert svg.count('class="interval"') == 3  # one interval with its two ends
    assert "n 12" in svg and "ceiling 0.50" in svg


def test_long_names_are_wrapped_and_not_clipped():
    name = "a judge with a very long name that needs several lines to be written in full"
    svg = interval_svg([Mark(name, 0.5, None, None, "", "3")], "")
    texts = [element.text or "" for element in ElementTree.fromstring(svg).iter("text")]
    assert name in " ".join(texts)


def test_names_have_the_width_of_their_longest_line():
    name = "evaluator 01 · a model · chain of thought, temperature 0.1, strict rubric version 2, seed 17"
    few, many = (float(ElementTree.fromstring(interval_svg([Mark(text, 0.5, None, None, "", "3")], "")).attrib["width"])
                 for text in ("a", name))  # fmt: skip
    assert many - few > 250 and interval_svg([Mark(name, 0.5, None, None, "", "3")], "").count('text-anchor="end"') == 3


def test_estimates_are_not_broken_into_lines_and_reasons_are_below_their_rows():
    stream = io.StringIO()
    rows = [{"judge": "a", "accuracy": "0.958 [0.798, 0.993]", "reason": "30 targets that annotators share", "n": 3}]
    write_report("r", [Section("s", rows=rows)], stream)
    html = stream.getvalue()
    assert '<td class="short">0.958 [0.798, 0.993]</td><td class="number">3</td></tr>' in html
    assert '<tr><td class="note" colspan="3">30 targets that annotators share</td></tr>' in html


def test_texts_are_escaped_and_nothing_is_loaded():
    stream = io.StringIO()
    chart = interval_svg([Mark(HOSTILE, 1.0, None, None, "", "1")], HOSTILE)
    section = Section(HOSTILE, [HOSTILE], chart, HOSTILE, [{HOSTILE: HOSTILE, "n": 1.5}], HOSTILE)
    write_report(HOSTILE, [section], stream)
    html = stream.getvalue()
    assert "<script" not in html
    loading = [element for element in parsed_tags(html) if {"src", "href"} & dict(element[1]).keys()]
    assert loading == []
    assert html.count("&lt;script") >= 9
    assert "default-src 'none'" in html and '<td class="number">1.500</td>' in html
