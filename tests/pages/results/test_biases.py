"""The pages Biases and Discussions: a sentence, tables with n, and the targets behind them."""

from tests.pages.visits import page_text, prepare_copy, prepare_sample, visit
from tests.storage.reports.planted_judges import planted_records

PAGE = "results/biases"
DISCUSSIONS = "results/discussions"


def test_the_sentence_names_the_biases_and_the_table_has_their_n() -> None:
    prepare_copy(planted_records)
    app = visit(PAGE)
    assert "own prefers the response of its own family" in page_text(app)
    rows = app.dataframe[0].value.to_dict("records")
    found = {(row["Judge"], row["Bias"]) for row in rows if row["Found"] == "yes"}
    assert found == {("own", "self-preference"), ("long", "length")}
    assert all(row["n"] == 80 for row in rows)
    assert "also with two labels or more, with or without a majority" in page_text(app)


def test_a_debate_has_changes_adoptions_and_ablations() -> None:
    prepare_sample("scaleeval")
    app = visit(DISCUSSIONS)
    assert "opinions changed" in page_text(app) and "adopts the opinion of" in page_text(app).replace("\\", "")
    changes, ablations = (table.value.to_dict("records") for table in app.dataframe[:2])
    assert [row["Opinions"] for row in app.dataframe[2].value.to_dict("records")] == ["first", "last"]
    assert {row["Judge"] for row in changes} == {"judge A", "judge B", "judge C"}
    assert ablations[0]["Judges"] == "all" and "without judge A" in {row["Judges"] for row in ablations}
    chosen = changes[2]
    app = visit(DISCUSSIONS, change=chosen["Judge"])
    assert f"Selected targets: {chosen['Changed'].split()[0]}" in {header.value for header in app.subheader}
    listed = app.dataframe[3].value.to_dict("records")
    assert listed and all("→" in row[chosen["Judge"]] for row in listed)
