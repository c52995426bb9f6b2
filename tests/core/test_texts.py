"""The language of a visitor, and the catalogues: complete, with equal placeholders, extracted and compiled."""

import gettext
import io
import re
from string import Formatter

import pytest

from core import texts
from tests.paths import ROOT

TRANSLATED = [code for code in texts.LANGUAGES if code != texts.SOURCE]


def test_texts_plurals_and_numbers_are_in_the_language_of_the_context_and_english_without_one():
    assert (texts._("Password"), texts.number(1000)) == ("Password", "1,000")
    many, minutes = "Too many failed sign-ins; try again in {minutes} minutes.", {"minutes": 3}
    with texts.speaking("de"):
        assert (texts._("Password"), texts.number(1000)) == ("Passwort", "1.000")
        one, two = (texts.ngettext(many.replace("minutes.", "minute."), many, count, **minutes) for count in (1, 2))
        assert one.endswith("3 Minute noch einmal.") and two.endswith("3 Minuten noch einmal.")
    assert texts.language() == "en"


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_catalogue_has_every_text_of_the_source_translated_with_its_placeholders_and_is_compiled(language):
    extract = pytest.importorskip("babel.messages.extract")
    from babel.messages.mofile import read_mo
    from babel.messages.pofile import read_po

    keywords = extract.DEFAULT_KEYWORDS | {"mark": None, "t": None, "nt": (1, 2)}
    folders = [*(ROOT / name for name in ("core", "storage", "pages"))]
    files = [ROOT / "app.py", *(path for folder in folders for path in folder.rglob("*.py"))]
    scripts = (ROOT / "pages" / "label" / "workbench").rglob("*.js")
    source = {
        found[1] if isinstance(found[1], tuple) else (found[1],)
        for path in [*files, *scripts]
        if re.search(r"from core(\.texts)? import |/texts\.js\";", path.read_text(encoding="utf-8"))
        for found in extract.extract(
            "javascript" if path.suffix == ".js" else "python",
            io.BytesIO(path.read_bytes()),
            keywords,
            options={"parse_template_string": True},
        )
    }
    folder = texts.FOLDER / language / "LC_MESSAGES"
    catalogue = read_po(io.BytesIO((folder / "messages.po").read_bytes()))
    messages = {_forms(entry.id): _forms(entry.string) for entry in catalogue if entry.id}
    assert messages.keys() == {forms[:2] for forms in source}
    assert [entry.id for entry in catalogue if entry.id and entry.fuzzy] == []
    for source_forms, forms in messages.items():
        assert all(forms) and {_placeholders(form) for form in forms} == {_placeholders(source_forms[-1])}
    compiled = read_mo(io.BytesIO((folder / "messages.mo").read_bytes()))
    assert {_forms(entry.id): _forms(entry.string) for entry in compiled if entry.id} == messages
    assert isinstance(texts.catalogue(language), gettext.GNUTranslations)


def _forms(text: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


def _placeholders(text: str) -> frozenset[tuple[str | None, str | None]]:
    return frozenset((name, conversion) for _, name, _, conversion in Formatter().parse(text) if name is not None)
