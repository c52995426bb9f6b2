import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.formats.latex_tables import latex_tabular
from core.formats.tables import escape_latex


def test_no_character_is_a_command():
    assert escape_latex("a\nb~^<|>{") == r"a b\textasciitilde{}\textasciicircum{}\textless{}\textbar{}\textgreater{}\{"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("– ≥ κ ω", r"-- $\geq$ $\kappa$ $\omega$"),
        ("Ω λ Λ ε", r"$\Omega$ $\lambda$ $\Lambda$ $\varepsilon$"),
        ("“GPT” → ‘a’ — b", r"``GPT'' $\to$ `a' --- b"),
        ("Zoë Łódź ế ß", r"Zo\"{e} \L{}\'{o}d\'{z} \'{\^{e}} \ss{}"),
        ("Zoe\u0308 a\u200bb\x07", r"Zo\"{e} ab"),
        ("judge 🙂👍 裁判", r"judge \unicodetext{🙂👍}{U+1F642 U+1F44D} \unicodetext{裁判}{U+88C1 U+5224}"),
    ],
)
def test_characters_are_commands_of_latex(text, expected):
    assert escape_latex(text) == expected


@given(st.text())
def test_pdflatex_prints_ascii_only(text):
    printed = re.sub(r"\\unicodetext\{[^{}\x00-\x7f]+\}", "", escape_latex(text))
    assert printed.isascii() and printed.isprintable()


def test_a_negative_value_keeps_its_sign_beside_its_deviation_and_its_interval():
    table = latex_tabular(["judge", "rho"], [["a", "−0.266 ± 0.010 [-0.471, -0.040]"], ["b", "-0.3"]], "t", "t")
    assert r"$-$.266{\scriptsize$\pm$.010}" in table and r"[$-$.47, $-$.04]" in table and "$-$.3" in table
    assert "−" not in table
