"""The language of a visitor, and the catalogues: complete, with equal placeholders, extracted and compiled."""

import gettext
import io
import re
from string import Formatter

import pytest

from commands.output import format_table
from core import texts
from core.formats.latex_tables import latex_table
from core.formats.tables import rows_csv
from core.wording import (
    NO_SCENARIO,
    equate_p,
    format_estimate,
    format_p,
    report_criterion,
    scenario_group,
    scenario_name,
    scenario_of_name,
    stored_criterion,
)
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


# Numbers of a table have the same form on pages, in commands and in files for a paper


ROW = {"judge": "a", "accuracy": 0.0004, "p": 2e-7, "p_corrected": 0.0123}


def test_an_estimate_has_its_interval() -> None:
    assert format_estimate(0.62, 0.514, 0.71) == "0.62 [0.51, 0.71]"
    assert format_estimate(-0.0001, None, 0.2, 3) == "0.000"
    assert format_estimate(0.04, -0.01, 0.09, sign=True) == "+0.04 [-0.01, +0.09]"


def test_the_end_of_a_difference_below_zero_has_its_minus() -> None:
    assert format_estimate(0.04, -0.0016, 0.08, sign=True) == "+0.04 [-0.00, +0.08]"
    assert format_estimate(-1e-17, -0.0, 0.001, sign=True) == "+0.00 [+0.00, +0.00]"


def test_an_undefined_estimate_is_a_dash() -> None:
    assert format_estimate(None, None, None) == "–"


def test_a_p_value_is_never_printed_as_zero() -> None:
    assert [*map(format_p, (None, 0.0009999, 0.001, 0.25))] == ["–", "< 0.001", "0.001", "0.250"]
    assert (equate_p(2e-7), equate_p(0.0123)) == ("p < 0.001", "p = 0.012")


def test_tables_print_p_values_and_csv_has_all_their_digits() -> None:
    assert format_table([ROW], "").splitlines()[-1].split() == ["a", "0.000", "<", "0.001", "0.012"]
    assert r".000 & \textless{} 0.001 & .012" in latex_table([ROW], "", "t")
    assert rows_csv([ROW]).splitlines()[-1] == "a,0.0004,2e-07,0.0123"


@pytest.mark.parametrize("scenario", ["", "math", "(no scenario)", '"(no scenario)"', "all scenarios", "all", '"math"'])
def test_a_display_name_belongs_to_one_scenario(scenario: str) -> None:
    assert scenario_of_name(scenario_name(scenario)) == scenario
    assert (scenario_name(scenario) == NO_SCENARIO) == (scenario == "")
    assert scenario_of_name(scenario_group(scenario)) == scenario and scenario_group(scenario) != "all"


@pytest.mark.parametrize("scenario", ["all", "all scenarios", "math"])
def test_a_scenario_without_quotes_keeps_its_letters(scenario: str) -> None:
    assert scenario_of_name(scenario) == scenario


@pytest.mark.parametrize("criterion", ["", "help", "all", '"all"', "All criteria", "(no criterion)", '"help"'])
def test_a_name_in_reports_belongs_to_one_criterion(criterion: str) -> None:
    assert stored_criterion(report_criterion(criterion)) == criterion
    assert report_criterion(criterion) not in ("all", "All criteria", "(no criterion)")
