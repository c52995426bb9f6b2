"""Evidence in a text: nested and overlapping passages, markup in the text, positions outside of it."""

from pages.label.parts.adjudication_panel import highlight


def plain(html):
    import re

    return re.sub(r"<sup>.*?</sup>|<[^>]+>", "", html)


def test_overlapping_passages_name_both_letters():
    html = highlight("abcdef", [(0, 4, "A"), (2, 6, "B")])
    assert [part.split("</sup>")[0] for part in html.split("<sup>")[1:]] == ["A", "A B", "B"]
    assert plain(html) == "abcdef"


def test_markup_in_a_text_and_positions_outside_of_it_are_inert():
    html = highlight("<b>&x", [(0, 99, "A"), (-5, 0, "B"), (7, 3, "C")])
    assert "<b>" not in html
    assert html.count("<mark") == 1


def test_positions_count_code_points():
    assert ">é𝒳</" not in highlight("a𝒳b", [(1, 2, "A")])
    assert ">𝒳<sup>" in highlight("a𝒳b", [(1, 2, "A")])
