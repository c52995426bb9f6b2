"""The page Biases: its sentence, its table, and a study without judges."""

from tests.pages.visits import page_text, prepare_study, visit
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_format_effects import format_records

PAGE = "results/biases"


def test_the_sentence_names_the_biases_and_the_table_has_their_n() -> None:
    prepare_study(list(planted_records()))
    app = visit(PAGE)
    assert not app.exception
    assert "own prefers the response of its own family" in page_text(app)
    rows = app.dataframe[0].value.to_dict("records")
    found = {(row["Judge"], row["Bias"]) for row in rows if row["Found"] == "yes"}
    assert found == {("own", "self-preference"), ("long", "length")}
    assert all(row["n"] == 80 for row in rows)
    assert "also with two labels or more, with or without a majority" in page_text(app)


def test_formats_of_the_criterion_have_a_section_of_their_own() -> None:
    prepare_study(list(format_records()))
    app = visit("results/biases")
    assert not app.exception
    assert "j with the format masked: -0." in page_text(app).replace("\\", "")
    rows = next(table.value for table in app.dataframe if "Format" in table.value)
    assert rows["Format"].tolist() == ["shortened, compared with general", "masked, compared with general"]
