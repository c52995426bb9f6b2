"""The HTML report."""

import io
from html.parser import HTMLParser

from core.formats.html_report import Section, write_report

HOSTILE = '<script src="https://example.org/x.js">&"'


def parsed_tags(html):
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, attributes))
    parser.feed(html)
    return found


def test_estimates_are_not_broken_into_lines_and_reasons_are_below_their_rows():
    stream = io.StringIO()
    rows = [{"judge": "a", "accuracy": "0.958 [0.798, 0.993]", "reason": "30 targets that annotators share", "n": 3}]
    write_report("r", [Section("s", rows=rows)], stream)
    html = stream.getvalue()
    assert '<td class="short">0.958 [0.798, 0.993]</td><td class="number">3</td></tr>' in html
    assert '<tr><td class="note" colspan="3">30 targets that annotators share</td></tr>' in html


def test_texts_are_escaped_and_nothing_is_loaded():
    stream = io.StringIO()
    section = Section(HOSTILE, [HOSTILE], [{HOSTILE: HOSTILE, "n": 1.5}], HOSTILE)
    write_report(HOSTILE, [section], stream)
    html = stream.getvalue()
    assert "<script" not in html
    loading = [element for element in parsed_tags(html) if {"src", "href"} & dict(element[1]).keys()]
    assert loading == []
    assert html.count("&lt;script") >= 6
    assert "default-src 'none'" in html and '<td class="number">1.500</td>' in html
